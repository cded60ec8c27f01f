"""A job with keyed state, timers and windows, whose parallelism changes while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from firesteel.common.time import Duration
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.jobmanager.executor import Executor
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.rescale_view import Bounds, RescaleReport
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.program.execution import get_executor, set_executor
from firesteel.runtime import worker
from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.testing.local_platform import LocalEngine, LocalPlatform
from tests.runtime.support import feeds, notes

KEYS = 13


class Sums(KeyedProcessFunction):
    """Every 100 ms of event time, by a timer: what has come so far up to then."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        self.new = runtime_context.get_list_state(ListStateDescriptor("new", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.new.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() // 100 * 100 + 99)
        yield "record", value[0], value[1], ctx.timestamp()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        new = list(self.new.get())
        total = (self.sum.value() or 0) + sum(n for n in new if n <= timestamp)
        self.sum.update(total)
        self.new.update([n for n in new if n > timestamp])
        yield "timer", ctx.get_current_key(), timestamp, total


def program(env: StreamExecutionEnvironment, records: int) -> DataStream:
    """The sum of all outputs does not depend on the parallelism, nor on how epochs are cut: nothing is late,
    and of a key all is in order."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20))
    stamped = env.from_source(
        NumberSequenceSource(0, records - 1),
        strategy.with_timestamp_assigner(lambda value, _: int(value)),
        "numbers",
    )
    pairs = stamped.map(lambda n: (int(n) % KEYS, int(n))).name("pair")
    sums = pairs.key_by(lambda v: v[0]).process(Sums()).name("sums").uid("sums")
    windows = (
        pairs.key_by(lambda v: v[0])
        .window(TumblingEventTimeWindows.of(Duration.of_millis(250)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .name("windows")
        .uid("windows")
    )
    return sums.union(windows.map(lambda v: ("window", v[0], 0, v[1])))


def expected(records: int) -> list[Any]:
    """By arithmetic."""
    found: list[Any] = [("record", n % KEYS, n, n) for n in range(records)]
    windows: dict[tuple[int, int], int] = {}
    for n in range(records):
        windows[n % KEYS, n // 250] = windows.get((n % KEYS, n // 250), 0) + n
    found += [("window", key, 0, total) for (key, _), total in windows.items()]
    for key in range(KEYS):
        mine = range(key, records, KEYS)
        for timestamp in sorted({n // 100 * 100 + 99 for n in mine}):
            found.append(("timer", key, timestamp, sum(n for n in mine if n <= timestamp)))
    return sorted(found)


Order = int | Callable[[JobGateway], Mapping[str, Bounds]]


class RescalingEngine(LocalEngine):
    """Asks for another parallelism while an epoch runs.

    :param orders: the number of an epoch -> what is asked for.
    """

    def __init__(self, orders: Mapping[int, Order], seed: int | None = None) -> None:
        super().__init__(seed)
        self.orders = orders
        self.answers: list[Future[RescaleReport]] = []
        self.widths: list[tuple[int, ...]] = []  # of each epoch

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        self.widths.append(tuple(parallelism))
        order = self.orders.get(self.epochs + 1)
        if order is not None:
            job = running()
            self.answers.append(job.rescale(order if isinstance(order, int) else order(job)))
        return super().run(levels, parallelism)


def running() -> JobGateway:
    (job,) = running_executor().running_jobs
    return job


class WidePlatform(LocalPlatform):
    """Has slots for jobs in real time; a test may change how many."""

    slots = 64

    def machines(self) -> Machines:
        return Machines((WorkerInfo("in-process", "localhost:0", self.slots, 4, 0, 0),))


@contextmanager
def wide_platform() -> Iterator[WidePlatform]:
    platform = WidePlatform()
    before = set_executor(Executor(lambda: platform))
    notes.clear()
    feeds.clear()
    try:
        yield platform
    finally:
        running_executor().cancel_all()
        set_executor(before)
        worker.close_everything()


def running_executor() -> Executor:
    executor = get_executor()
    assert isinstance(executor, Executor)
    return executor
