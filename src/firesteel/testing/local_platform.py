"""The engine without Spark: the same tasks and rows, in this process.

For tests of operators, state and the job manager. Rows go from level to level as they would through Spark:
to the partition of their target, sorted by (ord, channel).
"""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle

from firesteel.common.configuration import Configuration
from firesteel.common.errors import EngineError, EngineLostError, FiresteelError
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.program.distributed_cache import cached_files
from firesteel.runtime import worker
from firesteel.runtime.chain import Chain
from firesteel.runtime.error_report import summary_of
from firesteel.runtime.program import Answer, LevelDescriptor, WorkerFiles
from firesteel.runtime.shipped_level import pack_level, unpack_level
from firesteel.runtime.stretch import RunningLevel
from firesteel.runtime.task import run_level
from firesteel.runtime.task_name import rows_in_task
from firesteel.runtime.task_report import TaskReport
from firesteel.runtime.wire import RowKind, WireRow
from firesteel.testing.local_stretch import LocalStretch


class LocalEngine:
    """Implements the engine protocol of the job manager.

    :param seed: None: tasks run in order; else in an order drawn from it.
    :param fresh_process: called before each task; True: the task finds nothing kept, as in a new process.
    """

    def __init__(self, seed: int | None = None, fresh_process: Callable[[], bool] | None = None) -> None:
        self._random = None if seed is None else random.Random(seed)
        self._fresh_process = fresh_process
        self.now_ms: Callable[[], float] = lambda: time.time_ns() / 1e6  # of tasks in real time
        self.epochs = 0
        self.parts_done = 0  # beside epochs
        self._reports: list[TaskReport] = []

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        self.epochs += 1
        rows: list[WireRow] = []
        for descriptor, width in zip(levels, parallelism, strict=True):
            rows = self._run_level(descriptor, width, rows)
        reports, self._reports = self._reports, []
        return [*(pickle.loads(row.body) for row in rows if row.kind != RowKind.DATA), *reports]

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        partitions: list[list[WireRow]] = [[] for _ in range(width)]
        for row in rows:
            partitions[row.target % width].append(row)
        order = list(range(width))
        if self._random is not None:
            self._random.shuffle(order)
        out: list[WireRow] = []
        payload = pack_level(descriptor)
        for i in order:
            if self._fresh_process is not None and self._fresh_process():
                worker.forget_everything()
            ordered = sorted(partitions[i], key=lambda row: (row.ord, row.channel, row.kind))
            made = run_level(unpack_level(payload, i), i, ordered, self._reports.append)
            out.extend(rows_in_task(descriptor.job_id, descriptor.level, made))
        return out

    def start(self, levels: list[RunningLevel], on_end: Callable[[], None]) -> LocalStretch:
        return LocalStretch(levels, on_end, self.now_ms)

    def cancel(self) -> None: ...

    def close(self) -> None: ...

    def do(self, parts: int, work: Callable[[int], bytes], what: str) -> list[bytes]:
        self.parts_done += parts
        shipped = cloudpickle.dumps(work, 5)  # a task has a copy of its own
        try:
            return [pickle.loads(shipped)(part) for part in range(parts)]
        except FiresteelError:
            raise
        except BaseException as e:  # Spark would give up after some attempts
            raise EngineError(f"A task of {what} failed: {summary_of(e)}") from e


class AlternatingEngine(LocalEngine):
    """Epochs run in turn in several worker processes, which all keep what they have, as those of an executor
    do: what a function keeps in ``self`` is missing, or old, in the next epoch."""

    def __init__(self, processes: int) -> None:
        super().__init__()
        self._processes = [worker.ProcessMemory() for _ in range(processes)]

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        with worker.as_process(self._processes[self.epochs % len(self._processes)]):
            return super().run(levels, parallelism)

    def close(self) -> None:
        """The processes end: what they have open is closed."""
        for process in self._processes:
            with worker.as_process(process):
                worker.close_everything()

    def chains(self) -> Iterator[Chain]:
        """The chains that are open in the processes."""
        for process in self._processes:
            for level in process.levels.values():
                yield from level.chains


class LocalPlatform:
    """Deploys jobs on ``LocalEngine``."""

    shares_files = True
    log = None  # there is no other process

    def __init__(self, make_engine: Callable[[], LocalEngine] = LocalEngine) -> None:
        self._make_engine = make_engine
        self.engines: list[LocalEngine] = []

    def prepare(self, configuration: Any, handed_in: Any = None, slots: int = 0) -> None:
        return None

    def why_not_real_time(self, slots: int, taken: int, *, must: bool) -> list[str]:
        """A test is to find the same each time, so it has real time only where that is what it tests."""
        return [] if must else ["no Spark runs it, and the processes of a test take epochs in turn"]

    def distribute(self, configuration: Configuration) -> WorkerFiles:
        return WorkerFiles(cached=tuple((file.name, file.path) for file in cached_files(configuration)))

    def loss(self) -> EngineLostError | None:
        return None

    def machines(self) -> Machines:
        """This process, as a worker with four slots."""
        return Machines((WorkerInfo("in-process", "localhost:0", 4, 4, 0, time.time_ns() // 1_000_000),))

    def engine(self, job_id: str, job_name: str, script_dir: str) -> LocalEngine:
        self.engines.append(self._make_engine())
        return self.engines[-1]
