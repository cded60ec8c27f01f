"""An engine that does to the epochs of a job what Spark may do to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from firesteel.common.errors import EngineError
from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.shipped_level import pack_level, unpack_level
from firesteel.runtime.task import run_level
from firesteel.runtime.wire import WireRow
from firesteel.testing.local_platform import LocalEngine

Answers: TypeAlias = list[Answer]


class _Killed(BaseException):
    """Not an Exception: nothing in the task may take it for an error of the user's code."""


class FaultyEngine(LocalEngine):
    """Runs epochs twice, discards them after they ran, kills tasks in the middle, loses processes, and runs
    tasks in any order; so it does with the tasks of committers."""

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

    def do(self, parts: int, work: Callable[[int], bytes], what: str) -> list[bytes]:
        answers = super().do(parts, work, what)
        if self.chance.random() < 0.25 and self._failed_in_a_row < 2:
            self.discarded += 1
            self._failed_in_a_row += 1
            raise EngineError("an executor was lost")
        self._failed_in_a_row = 0
        if self.chance.random() < 0.25:
            self.doubled += 1
            answers = super().do(parts, work, what)
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
            for _ in run_level(unpack_level(pack_level(descriptor), subtask), subtask, until_killed()):
                pass
        except _Killed:
            pass
