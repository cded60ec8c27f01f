"""What the places share: the slip, and streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    StreamExecutionEnvironment,
)

Place = Callable[[StreamExecutionEnvironment], DataStream]

PLACES: dict[str, Place] = {}
RECORDS = 12
ANY = Types.PICKLED_BYTE_ARRAY()


class _Slip:
    def __init__(self) -> None:
        self.calls = 0
        self.at = 0
        self.error: BaseException = ValueError()
        self.once = False

    def arm(self, at: int, error: BaseException, *, once: bool = False) -> None:
        """Raise *error* at the call number *at*, from 1, and unless *once* at all that follow; 0: never."""
        self.calls, self.at, self.error, self.once = 0, at, error, once


armed = _Slip()


def slip(value: Any = None) -> Any:
    armed.calls += 1
    if armed.calls == armed.at or (0 < armed.at < armed.calls and not armed.once):
        raise armed.error
    return value


def place(build: Place) -> Place:
    PLACES[build.__name__] = build
    return build


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(range(RECORDS))


def timed(env: StreamExecutionEnvironment) -> DataStream:
    """The number is its own event time, in ms."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: v)
    return numbers(env).assign_timestamps_and_watermarks(strategy)


def parity(value: int) -> int:
    return value % 2


def here(stream: DataStream) -> DataStream:
    return stream.name("here")


class Written:
    """A record that is pickled by its own code."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return Written, (slip(self.value),)


class Mean(AggregateFunction):
    """(sum, count); slips where it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def _at(self, where: str) -> None:
        if self.where == where:
            slip()

    def create_accumulator(self) -> Any:
        self._at("create_accumulator")
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        self._at("add")
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        self._at("get_result")
        return accumulator

    def merge(self, a: Any, b: Any) -> Any:
        self._at("merge")
        return a[0] + b[0], a[1] + b[1]
