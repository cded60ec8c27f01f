"""What the tests of async I/O share: functions, an operator by itself, and waiting for a condition."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Any

import pytest

from firesteel.common import Time
from firesteel.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, DataStream
from firesteel.program import operators as specs
from firesteel.program.functions.retry_strategies import NO_RETRY_STRATEGY
from firesteel.runtime.batch import Batch
from firesteel.runtime.operators.async_wait import AsyncWaitOperator
from firesteel.runtime.operators.base import Consumer, SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.user_code import UserCode
from tests.waiting import until

from .support import NO_TIMESTAMP, notes


def loop_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "async wait operator"]


def so_far(topic: str) -> int:
    """For functions of classes inside a test: those travel by value, with a copy of ``notes``."""
    return len(notes[topic])


LONG = Time.seconds(60)  # a test that comes to this timeout has failed
BOTH = pytest.mark.parametrize("ordered", [False, True], ids=["unordered", "ordered"])


def async_wait(
    stream: DataStream,
    function: AsyncFunction[Any, Any],
    *,
    ordered: bool = False,
    timeout: Time = LONG,
    retry: AsyncRetryStrategy[Any] = NO_RETRY_STRATEGY,
    capacity: int = 100,
    output_type: Any = None,
) -> DataStream:
    wait = AsyncDataStream.ordered_wait_with_retry if ordered else AsyncDataStream.unordered_wait_with_retry
    return wait(stream, function, timeout, retry, capacity, output_type)


class Echo(AsyncFunction):
    """The value itself, after ``sleep_ms`` milliseconds or so many at random."""

    def __init__(self, sleep_ms: float = 0, spread_ms: float = 0) -> None:
        self.sleep_ms = sleep_ms
        self.spread_ms = spread_ms

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep((self.sleep_ms + random.random() * self.spread_ms) / 1000)
        return [value]


class ByHand(AsyncFunction):
    """Answered when the test says so."""

    def __init__(self) -> None:
        self.answers: dict[Any, asyncio.Future[list[Any]]] = {}

    async def async_invoke(self, value: Any) -> list[Any]:
        self.answers[value] = asyncio.get_running_loop().create_future()
        return await self.answers[value]


def operator_of(
    function: AsyncFunction[Any, Any], ordered: bool, capacity: int = 10
) -> tuple[AsyncWaitOperator, list[Any]]:
    """An operator by itself, and what it emits: (value, timestamp) and marks, in their order."""
    spec = specs.AsyncWait(function, 0, capacity, NO_RETRY_STRATEGY, ordered)
    operator = AsyncWaitOperator(OperatorProgram("uid", "name", spec), spec)
    seen: list[Any] = []

    def see(batch: Batch) -> None:
        stamps = batch.timestamps or [NO_TIMESTAMP] * len(batch.values)
        for start, stop, mark in batch.segments():
            seen.extend(zip(batch.values[start:stop], stamps[start:stop], strict=True))
            if mark is not None:
                seen.append(mark)

    operator.outputs.main.consumers.append(Consumer(see, UserCode("see", "see")))
    operator.open(SubtaskContext("job", "job", "vertex", 0, 1, 128, 0, False, "", {}), None)
    operator.begin_epoch()
    return operator, seen


def answer(operator: AsyncWaitOperator, function: ByHand, value: Any) -> None:
    until(lambda: value in function.answers)
    operator._loop.post(function.answers[value].set_result, [value])
    until(function.answers[value].done)
