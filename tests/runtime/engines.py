"""In-process engines that do to an epoch what Spark may do to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.wire import RowKind, WireRow
from firesteel.runtime.worker import ProcessMemory, as_process
from firesteel.testing.faulty_engine import FaultyEngine
from firesteel.testing.local_platform import LocalEngine

__all__ = ["CapturingEngine", "FaultyEngine", "TurnsEngine", "TwinEngine"]

Answers = list[Answer]


class TurnsEngine(LocalEngine):
    """Each epoch runs in the next of ``processes`` worker processes, which all keep what they have."""

    def __init__(self, processes: int, choose: Callable[[int], int] | None = None) -> None:
        super().__init__()
        self._processes = [ProcessMemory() for _ in range(processes)]
        self._choose = choose or (lambda task: self.epochs % processes)
        self._task = 0

    def lose_processes(self) -> None:
        """New processes take the place of all."""
        self._processes = [ProcessMemory() for _ in self._processes]

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        process = self._processes[self._choose(self._task)]
        self._task += 1
        with as_process(process):
            return super()._run_level(descriptor, width, rows)


class CapturingEngine(LocalEngine):
    """Keeps the rows of channels that each epoch sends from level to level."""

    def __init__(self) -> None:
        super().__init__()
        self.captured: list[WireRow] = []

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        out = super()._run_level(descriptor, width, rows)
        self.captured += [row for row in out if row.kind in (RowKind.DATA, RowKind.LATENCY)]
        return out


class TwinEngine(CapturingEngine):
    """Runs each epoch in a process that has run all epochs before it, and again in one that has seen
    nothing; what crossed the exchange must be the same to the byte."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.differences: list[tuple[int, WireRow, WireRow]] = []

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> Answers:
        self.captured = []
        answers = super().run(levels, parallelism)
        warm, self.captured = self.captured, []
        with as_process(ProcessMemory()):
            super().run(levels, parallelism)
        assert len(warm) == len(self.captured)
        self.rows += len(warm)
        self.differences += [(self.epochs, a, b) for a, b in zip(warm, self.captured, strict=True) if a != b]
        return answers
