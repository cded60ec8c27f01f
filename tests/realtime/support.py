"""What the tests of jobs in real time share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    """(key, how many records it has had so far)."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[Any, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def generated(env: StreamExecutionEnvironment, count: int | None, rate: float | None = None) -> DataStream:
    """The numbers from 0 on. ``count`` None: without end. ``rate``: how many a second; None: no limit."""
    source = DataGeneratorSource(lambda n: n, count, RateLimiterStrategy(rate), Types.LONG())
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
