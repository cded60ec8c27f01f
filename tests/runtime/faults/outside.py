"""Async functions, and sources."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from firesteel.common.time import Time
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.base import Chunk, ReadRange, SourceReader
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.async_retry_strategies import FixedDelayRetryStrategy
from tests.runtime.support import SplitsSource

from .core import PLACES, RECORDS, here, numbers, place, slip


class Asks(AsyncFunction):
    def __init__(self, where: str) -> None:
        self.where = where

    async def open(self, runtime_context: RuntimeContext) -> None:
        if self.where == "open":
            slip()

    async def close(self) -> None:
        if self.where == "close":
            slip()

    async def async_invoke(self, value: Any) -> Any:
        await asyncio.sleep(0)
        if self.where == "invoke":
            slip()
        if self.where == "timeout":
            await asyncio.sleep(60)
        if self.where == "results":
            return (slip(v) for v in [value])
        if self.where == "inner task":
            return [await asyncio.create_task(self._later(value))]
        return [value]

    async def _later(self, value: Any) -> Any:
        return slip(value)

    def timeout(self, value: Any) -> list[Any]:
        return [slip(value)]


class AsksAThread(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [await asyncio.to_thread(slip, value)]


def asked(env: StreamExecutionEnvironment, function: AsyncFunction[Any, Any], timeout_ms: int) -> DataStream:
    length = Time.milliseconds(timeout_ms)
    return here(AsyncDataStream.ordered_wait(numbers(env), function, length, 100))


for _where in ("open", "close", "invoke", "timeout", "results", "inner task"):
    PLACES[f"async_{_where}"] = lambda env, w=_where: asked(  # type: ignore[misc]
        env, Asks(w), 10 if w == "timeout" else 60_000
    )
PLACES["async_in_a_thread"] = lambda env: asked(env, AsksAThread(), 60_000)


@place
def predicate_of_a_retry(env: StreamExecutionEnvironment) -> DataStream:
    retry = FixedDelayRetryStrategy(2, 1, lambda results: slip(False), None)
    wait = AsyncDataStream.ordered_wait_with_retry
    return here(wait(numbers(env), Asks("nowhere"), Time.seconds(60), retry, 100))


class SlippingReader(SourceReader):
    def __init__(self, where: str) -> None:
        self.where = where

    def open(self) -> None:
        if self.where == "open":
            slip()

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        records = range_.split.payload
        for at, (value, stamp) in enumerate(records[range_.position or 0 :], (range_.position or 0) + 1):
            if self.where == "read":
                slip()
            yield Chunk([value], [stamp], at, at == len(records))

    def close(self) -> None:
        if self.where == "close":
            slip()


class SlippingSource(SplitsSource):
    def __init__(self, where: str) -> None:
        super().__init__([(v, v) for v in range(RECORDS)])
        self.where = where

    def create_reader(self) -> SourceReader:
        return SlippingReader(self.where)


for _where in ("open", "read", "close"):
    PLACES[f"reader_{_where}"] = lambda env, w=_where: env.from_source(  # type: ignore[misc]
        SlippingSource(w), WatermarkStrategy.no_watermarks(), "here"
    )
