"""Nothing dear happens for each record: no socket, clock, log line, lock, file or cloudpickle."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common.time import Duration
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.runtime.program import LevelDescriptor
from firesteel.runtime.wire import WireRow
from firesteel.testing.local_platform import LocalEngine

from .support import collect, environment, local_platform

DEAR_MODULES = (
    "logging",
    "cloudpickle",
    "py4j",
    "socket",
    "threading",
    "selectors",
    "ssl",
    "subprocess",
    "tempfile",
)
DEAR_CALLS = frozenset(
    [
        "time",
        "time_ns",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "sleep",
        "open",
        "acquire",
        "release",
        "getpid",
        "getenv",
        "stat",
        "urandom",
        "send",
        "recv",
        "sendall",
        "connect",
        "select",
        "poll",
        "write_bytes",
        "print",
    ]
)


class ProfilingEngine(LocalEngine):
    """Counts the calls of the record loop, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.python: Counter[str] = Counter()
        self.dear: Counter[str] = Counter()

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        sys.setprofile(self._see)
        try:
            return super()._run_level(descriptor, width, rows)
        finally:
            sys.setprofile(None)

    def _see(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            self.python[f"{module}.{frame.f_code.co_qualname}"] += 1
            if module.split(".")[0] in DEAR_MODULES:
                self.dear[f"{module}.{frame.f_code.co_name}"] += 1
        elif event == "c_call":
            name = argument.__name__
            if name in DEAR_CALLS or (argument.__module__ or "").startswith(("_socket", "_ssl", "lmdb")):
                self.dear[f"{argument.__module__}.{name}"] += 1


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        n = (self.count.value() or 0) + 1
        self.count.update(n)
        yield value[0], n


def keyed_count(stream: DataStream) -> DataStream:
    return stream.map(lambda v: (v % 100, v)).key_by(lambda v: v[0]).process(Count())


def stateless(stream: DataStream) -> DataStream:
    return (
        stream.map(lambda v: v + 1)
        .filter(lambda v: v % 2 == 0)
        .flat_map(lambda v: [v, v])
        .rebalance()
        .map(str)
    )


def rolling(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    strategy = strategy.with_timestamp_assigner(lambda v, t: v)
    stamped = stream.assign_timestamps_and_watermarks(strategy)
    return stamped.key_by(lambda v: v % 10).reduce(lambda a, b: a + b).broadcast().map(lambda v: v)


def counted(program: Callable[[DataStream], DataStream], records: int) -> ProfilingEngine:
    engines: list[ProfilingEngine] = []

    def engine() -> LocalEngine:
        engines.append(ProfilingEngine())
        return engines[-1]

    with local_platform(engine):
        # The pieces in which an epoch looks at the clock depend on how busy the machine is.
        env = environment(2, **{"firesteel.epoch.time-limit": "false"})
        assert collect(program(env.from_collection(range(records))))
        assert engines[0].epochs == 1
    return engines[0]


FEW, MANY = 6_000, 14_000


@pytest.mark.parametrize(
    ("program", "calls_each"),
    # User code: selector, map, a generator (a call and a resumption); the rest is the engine and the state.
    [(keyed_count, 6), (stateless, 2.5), (rolling, 9)],
)
@pytest.mark.row("S-STATE-16")
def test_what_a_record_costs(program: Callable[[DataStream], DataStream], calls_each: float) -> None:
    """Broken by hand: ``time.time()`` in ``MapOperator`` for each record; a helper function called for each
    record in ``Router._route``; ``logging.debug`` in ``ValueColumn.update``."""
    few, many = counted(program, FEW), counted(program, MANY)
    more = MANY - FEW
    grown = {name: n - few.dear[name] for name, n in many.dear.items() if n - few.dear[name] > more / 100}
    assert grown == {}, "called for each record, or for each few"
    calls = sum(many.python.values()) - sum(few.python.values())
    dearest = {n: (c - few.python[n]) / more for n, c in many.python.most_common(12)}
    # What is measured for each piece of an epoch is a call or two for many records.
    assert calls <= more * (calls_each + 0.2), dearest
