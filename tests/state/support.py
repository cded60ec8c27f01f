"""A small driver for state tests: it commits epochs to a line, as the job master does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.files import MemoryStateFiles, StateFiles
from firesteel.state.keys import canonical
from firesteel.state.line import EMPTY, EpochDelta, RunRef, StateLine, advance

GROUPS = range(128)


class Driver:
    """Commits epochs; ``process()`` is a worker process's view of the subtask."""

    def __init__(
        self,
        files: StateFiles | None = None,
        limits: StateLimits | None = None,
        local_dir: str | None = None,
        key_groups: range = GROUPS,
    ) -> None:
        self.files = files or MemoryStateFiles()
        self.limits = limits or StateLimits()
        self.local_dir = local_dir
        self.key_groups = key_groups
        self.line: StateLine = EMPTY
        self.epoch = 0
        self.gone: list[str] = []

    def process(self) -> SubtaskState:
        return SubtaskState(
            job_id="job",
            attempt=1,
            vertex_id="v",
            subtask=0,
            max_parallelism=128,
            key_groups=self.key_groups,
            files=self.files,
            local_dir=self.local_dir,
            limits=self.limits,
        )

    def commit(self, delta: EpochDelta) -> None:
        self.epoch += 1
        manifest_id = f"m{self.epoch}"
        run: RunRef | None = delta.run
        if delta.payload is not None:
            path = self.files.write_once(f"job/epochs/{manifest_id}", b"head" + delta.payload)
            run = delta.ref(path, 4)
        self.line, gone = advance(self.line, manifest_id, run, delta.compaction)
        for path in gone:
            self.files.delete(path)
        self.gone += gone

    def run(self, state: SubtaskState, work: Callable[[OperatorState], Any], now_ms: int = 0) -> Any:
        """One epoch in a process, committed."""
        state.begin(self.line, now_ms)
        result = work(state.operator("op"))
        self.commit(state.finish())
        return result


def use(operator: OperatorState, key: Any) -> OperatorState:
    operator.key = canonical(key)
    operator.raw_key = key
    return operator
