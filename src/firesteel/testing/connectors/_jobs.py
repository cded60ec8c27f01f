"""Jobs in this process whose tasks and drivers fail, for the contracts of sources and sinks."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firesteel.common.clock import SystemClock
from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import EngineError
from firesteel.common.job_client import JobClient
from firesteel.common.job_status import JobStatus
from firesteel.common.options import checkpointing, recovery, restart
from firesteel.common.options.firesteel import EPOCH_MAX_RECORDS
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.base import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import set_executor
from firesteel.program.functions.legacy_connectors import SinkFunction
from firesteel.runtime import worker
from firesteel.runtime.program import LevelDescriptor
from firesteel.testing.connectors._reading import PATIENCE_S
from firesteel.testing.faulty_engine import Answers, FaultyEngine
from firesteel.testing.local_platform import LocalEngine, LocalPlatform


@contextmanager
def running_on(make_engine: Callable[[], LocalEngine]) -> Iterator[None]:
    """Programs of this block run in this process, on such engines."""
    platform = LocalPlatform(make_engine)
    executor = Executor(lambda: platform)
    before = set_executor(executor)
    try:
        yield
    finally:
        executor.cancel_all()
        set_executor(before)
        worker.close_everything()


class EagerClock(SystemClock):
    """Goes 20 ms on whenever somebody looks, and does not wait for long: nothing is due late."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def now_ms(self) -> int:
        self._ahead_ms += 20
        return super().now_ms() + self._ahead_ms

    def wait_until(self, instant_ms: int, interrupt: threading.Event | None = None) -> bool:
        waits = time.time_ns() // 1_000_000 + min(5, instant_ms - self.now_ms())
        if not super().wait_until(waits, interrupt):
            return False
        self._ahead_ms += max(0, instant_ms - self.now_ms())
        return True


def small_epochs(checkpoints: Path, parallelism: int, records: int) -> StreamExecutionEnvironment:
    """An environment with epochs of so many records of a split, a checkpoint after each, and no restart: the
    next job of the same name goes on from the newest checkpoint."""
    configuration = Configuration()
    settings: dict[ConfigOption[Any], str] = {
        checkpointing.INTERVAL: "10 ms",
        checkpointing.DIRECTORY: str(checkpoints),
        checkpointing.RETENTION: "RETAIN_ON_CANCELLATION",
        recovery.PATH: "latest",
        restart.STRATEGY: "none",
        EPOCH_MAX_RECORDS: str(records),
    }
    for option, value in settings.items():
        configuration.set_string(option.key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, clock=EagerClock())
    env.set_parallelism(parallelism)
    return env


def write(
    env: StreamExecutionEnvironment, records: Sequence[Any], type_info: TypeInformation | None, sink: Any
) -> None:
    """The program that a contract writes with: ``sink`` is what ``sink_to`` or ``add_sink`` takes."""
    stream = env.from_collection(records, type_info).uid("source").rebalance()
    end = stream.add_sink(sink) if isinstance(sink, SinkFunction) else stream.sink_to(sink)
    end.uid("sink")


class RoughEngine(FaultyEngine):
    """Loses processes too, as the system does it: what they had open is closed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._fresh_process = self._loses_process

    def _loses_process(self) -> bool:
        lost = self.chance.random() < 0.3
        if lost:
            worker.close_everything()
        return lost


class DriverLostError(EngineError):
    """What the driver of a ``DyingEngine`` ends with."""


class DyingEngine(RoughEngine):
    """Loses every epoch after ``life`` of them."""

    def __init__(self, seed: int, life: int) -> None:
        super().__init__(seed)
        self._life = life

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> Answers:
        if self.epochs >= self._life:
            raise DriverLostError("the executors of this driver do not come back")
        return super().run(levels, parallelism)


_pages: dict[str, dict[str, list[Any]]] = {}  # of this process: by ledger, what was committed by transaction


@dataclass(frozen=True, slots=True)
class Ledger(Sink):
    """Keeps each committed transaction once, over all jobs of this process that write to it."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def values(self) -> list[Any]:
        return [value for page in list(_pages.get(self.id, {}).values()) for value in page]

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _LedgerWriter(context.transaction_id)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _LedgerCommitter(_pages.setdefault(self.id, {}))


class _LedgerWriter(SinkWriter):
    def __init__(self, transaction: str) -> None:
        self._transaction = transaction
        self._values: list[Any] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._values += values

    def prepare_commit(self) -> list[Any]:
        return [(self._transaction, self._values)]


class _LedgerCommitter(Committer):
    def __init__(self, pages: dict[str, list[Any]]) -> None:
        self._pages = pages

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            transaction, values = request.get_committable()
            self._pages[transaction] = values


def wait_for(client: JobClient, enough: Callable[[], bool]) -> JobStatus:
    """Wait until ``enough``, or the end of the job; gives up after a while."""
    patient_until = time.monotonic() + PATIENCE_S
    while True:
        status: JobStatus = client.get_job_status().result()
        if status.is_globally_terminal_state() or enough():
            return status
        if time.monotonic() > patient_until:
            raise AssertionError(f"the job has not done what it should after {PATIENCE_S:.0f} s")
        time.sleep(0.005)
