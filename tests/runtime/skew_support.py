"""What the tests of pre-aggregation and of salted streams share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from firesteel.common.time import Time
from firesteel.common.types import Row
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from firesteel.runtime.program import Ack, Answer, LevelDescriptor
from firesteel.testing.local_platform import LocalEngine, LocalPlatform

from .support import At, environment, punctuated


def make_env(combined: bool, parallelism: int = 2, **options: Any) -> StreamExecutionEnvironment:
    option = {"firesteel.window.pre-aggregation": str(combined).lower()}
    return environment(parallelism, **option, **options)


def stamped(env: StreamExecutionEnvironment, records: Sequence[At]) -> DataStream:
    """The values of ``records`` with their timestamps and watermarks, from one subtask."""
    stream = env.from_collection(records).assign_timestamps_and_watermarks(punctuated()).set_parallelism(1)
    return stream.map(lambda record: record.value).set_parallelism(1)


def first_field(value: Any) -> Any:
    return value[0]


def tumbling(size: int) -> Any:
    return TumblingEventTimeWindows.of(Time.milliseconds(size))


def sliding(size: int, slide: int) -> Any:
    return SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))


class AckEngine(LocalEngine):
    """Keeps what was acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self._levels: dict[str, int] = {}
        self._acks: list[Ack] = []

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        self._levels.update((vertex, level.level) for level in levels for vertex, _ in level.subtasks)
        answers = super().run(levels, parallelism)
        self._acks += [answer for answer in answers if isinstance(answer, Ack)]
        return answers

    def received(self, level: int) -> list[int]:
        """How many values each subtask of a level got."""
        counts: dict[int, int] = {}
        for ack in self._acks:
            if self._levels[ack.vertex] == level:
                counts[ack.subtask] = counts.get(ack.subtask, 0) + ack.records_in
        return [counts[subtask] for subtask in sorted(counts)]


def ack_engine(platform: LocalPlatform) -> AckEngine:
    (engine,) = platform.engines
    assert isinstance(engine, AckEngine)
    return engine


# ---- functions: those that change an accumulator or an element in place are the hard ones


class Gather(AggregateFunction):
    """A list, changed in place."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        a.extend(b)
        return a


class Histogram(AggregateFunction):
    """A dict, changed in place."""

    def create_accumulator(self) -> dict[Any, int]:
        return {}

    def add(self, value: Any, accumulator: dict[Any, int]) -> dict[Any, int]:
        accumulator[value[1]] = accumulator.get(value[1], 0) + 1
        return accumulator

    def get_result(self, accumulator: dict[Any, int]) -> list[Any]:
        return sorted(accumulator.items())

    def merge(self, a: dict[Any, int], b: dict[Any, int]) -> dict[Any, int]:
        for name, count in b.items():
            a[name] = a.get(name, 0) + count
        return a


class Mean(AggregateFunction):
    """Plain numbers; None before the first element."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return (value[1], 1) if accumulator is None else (accumulator[0] + value[1], accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, a: Any, b: Any) -> Any:
        return b if a is None else a if b is None else (a[0] + b[0], a[1] + b[1])


class Digits(AggregateFunction):
    """Bytes, which mean "encoded" where state is kept."""

    def create_accumulator(self) -> bytes:
        return b""

    def add(self, value: Any, accumulator: bytes) -> bytes:
        return accumulator + bytes([value[1]])

    def get_result(self, accumulator: bytes) -> list[int]:
        return list(accumulator)

    def merge(self, a: bytes, b: bytes) -> bytes:
        return a + b


class NotMerging(Mean):
    def merge(self, a: Any, b: Any) -> Any:
        raise NotImplementedError


class MergingNothing(Gather):
    def merge(self, a: Any, b: Any) -> Any:
        pass


def add_up(a: Any, b: Any) -> Any:
    return a[0], a[1] + b[1]


def join_lists(a: Any, b: Any) -> Any:
    """Of (key, list); the list of the first is changed in place."""
    a[1].extend(b[1])
    return a


class Named(ProcessWindowFunction):
    """(key, start, end, element)"""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        (element,) = elements
        yield key, context.window().start, context.window().end, ordered(element)


def ordered(value: Any) -> Any:
    """A value that two lists of the same elements have in common."""
    if isinstance(value, (list, tuple, Row)):
        return tuple(sorted(map(ordered, value), key=repr))
    return value
