"""In-process engines that do to an epoch what Spark may do to it."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Sequence

from firesteel.common.errors import EngineError
from firesteel.runtime.program import Ack, LevelDescriptor, UserError
from firesteel.runtime.task import run_level
from firesteel.runtime.wire import RowKind, WireRow
from firesteel.runtime.worker import ProcessMemory, as_process
from firesteel.testing.local_platform import LocalEngine

Answers = list[Ack | UserError]


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


class _Killed(BaseException):
    """Not an Exception: nothing in the task may take it for an error of the user's code."""


class FaultyEngine(LocalEngine):
    """Runs epochs twice, discards them after they ran, kills tasks in the middle, loses processes, and runs
    tasks in any order."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        super().__init__(seed, lambda: self.chance.random() < 0.3)
        self.discarded = 0
        self.doubled = 0
        self.killed = 0
        self._failed_in_a_row = 0

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> Answers:
        answers = super().run(levels, parallelism)
        if self.chance.random() < 0.25 and self._failed_in_a_row < 2:
            self.discarded += 1
            self._failed_in_a_row += 1
            raise EngineError("an executor was lost")
        self._failed_in_a_row = 0
        if self.chance.random() < 0.25:  # as speculation does: the second answer is the one that counts
            self.doubled += 1
            answers = super().run(levels, parallelism)
        return answers

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        if rows and self.chance.random() < 0.2:  # Spark tries a task again that was killed
            self._kill_one(descriptor, self.chance.randrange(width), width, rows)
        return super()._run_level(descriptor, width, rows)

    def _kill_one(self, descriptor: LevelDescriptor, subtask: int, width: int, rows: list[WireRow]) -> None:
        mine = sorted((r for r in rows if r.target % width == subtask), key=lambda r: (r.ord, r.channel))
        self.killed += 1

        def until_killed() -> Iterator[WireRow]:
            yield from mine
            raise _Killed

        try:
            for _ in run_level(pickle.loads(pickle.dumps(descriptor, 5)), subtask, until_killed()):
                pass
        except _Killed:
            pass


class CapturingEngine(LocalEngine):
    """Keeps the DATA rows that each epoch sends from level to level."""

    def __init__(self) -> None:
        super().__init__()
        self.captured: list[WireRow] = []

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        out = super()._run_level(descriptor, width, rows)
        self.captured += [row for row in out if row.kind == RowKind.DATA]
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
