"""Async I/O in the program: what becomes of the arguments, and what is refused before anything runs."""

from __future__ import annotations

import datetime
import random
import threading
from typing import Any

import pytest

from firesteel.common import Duration, Row, Time, Types
from firesteel.common.errors import ProgramError, UnpicklableFunctionError
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    MapFunction,
    StreamExecutionEnvironment,
    async_retry_predicates,
)
from firesteel.program import operators as specs
from firesteel.program.functions.retry_strategies import NO_RETRY_STRATEGY, NoRetryStrategy, RetryPredicate
from firesteel.program.transformations import OneInputTransformation


class Echo(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


SECOND = Time.seconds(1)


@pytest.fixture
def stream(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([1, 2, 3])


@pytest.mark.parametrize("ordered", [False, True])
def test_the_operator(stream: Any, ordered: bool) -> None:
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    function = Echo()
    result = wait(stream, function, SECOND)
    assert result.get_name() == "async wait operator"
    assert result.get_type() == Types.PICKLED_BYTE_ARRAY()
    assert isinstance(result._transformation, OneInputTransformation)
    assert result._transformation.operator == specs.AsyncWait(function, 1000, 100, NO_RETRY_STRATEGY, ordered)


@pytest.mark.parametrize("ordered", [False, True])
def test_with_retry(stream: Any, ordered: bool) -> None:
    retry = AsyncRetryStrategy.fixed_delay(3, 10, None, async_retry_predicates.has_exception_predicate)
    wait = AsyncDataStream.ordered_wait_with_retry if ordered else AsyncDataStream.unordered_wait_with_retry
    function = Echo()
    result = wait(stream, function, SECOND, retry, 7, Types.LONG())
    assert result._transformation.operator == specs.AsyncWait(function, 1000, 7, retry, ordered)
    assert result.get_type() == Types.LONG()


def test_a_list_of_types_is_a_row(stream: Any) -> None:
    result = AsyncDataStream.unordered_wait(stream, Echo(), SECOND, 1, [Types.LONG(), Types.STRING()])
    assert result.get_type() == Types.ROW([Types.LONG(), Types.STRING()])


@pytest.mark.parametrize(
    "timeout", [Time.seconds(2), Duration.of_seconds(2), datetime.timedelta(seconds=2), 2000]
)
def test_lengths_of_time(stream: Any, timeout: Any) -> None:
    result = AsyncDataStream.unordered_wait(stream, Echo(), timeout)
    assert result._transformation.operator.timeout_ms == 2000


class Blocking(AsyncFunction):
    def async_invoke(self, value: Any) -> Any:
        return [value]


class Yields(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        yield value


class AsyncTimeout(Echo):
    async def timeout(self, value: Any) -> Any:
        return [value]


class Plain(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Blocking(), r"Blocking\.async_invoke must be declared with 'async def'"),
        (Yields(), "async generator"),
        (AsyncTimeout(), r"AsyncTimeout\.timeout must be declared with plain 'def'"),
        (Echo, r"pass an instance: Echo\(\)"),
        (Plain(), "must be a AsyncFunction"),
        (lambda value: [value], "must be a AsyncFunction"),
    ],
)
def test_functions_that_cannot_work(stream: Any, function: Any, text: str) -> None:
    with pytest.raises(ProgramError, match=text) as refusal:
        AsyncDataStream.unordered_wait(stream, function, SECOND)
    assert refusal.value.operator == "async wait operator"


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, None])
def test_a_capacity_is_a_positive_int(stream: Any, capacity: Any) -> None:
    """PyFlink takes 0 and waits for ever."""
    with pytest.raises(ProgramError, match="capacity"):
        AsyncDataStream.ordered_wait(stream, Echo(), SECOND, capacity)


@pytest.mark.parametrize("timeout", ["1 s", None, 1.5])
def test_a_timeout_is_a_length_of_time(stream: Any, timeout: Any) -> None:
    with pytest.raises(ProgramError, match="timeout"):
        AsyncDataStream.ordered_wait(stream, Echo(), timeout)


def test_the_input_is_a_stream() -> None:
    with pytest.raises(ProgramError, match="must be a DataStream"):
        AsyncDataStream.ordered_wait([1, 2], Echo(), SECOND)  # type: ignore[arg-type]


class NoPredicate(NoRetryStrategy[Any]):
    def get_retry_predicate(self) -> Any:
        return None


@pytest.mark.parametrize(
    ("retry", "timeout", "text"),
    [
        (None, SECOND, "must be an AsyncRetryStrategy"),
        (NoPredicate(), SECOND, "has no predicate"),
        (NoRetryStrategy(), Time.milliseconds(0), "need a timeout"),
        (AsyncRetryStrategy.fixed_delay(1, 1, None, None), Time.milliseconds(-1), "need a timeout"),
    ],
)
def test_strategies_that_cannot_work(stream: Any, retry: Any, timeout: Time, text: str) -> None:
    with pytest.raises(ProgramError, match=text):
        AsyncDataStream.unordered_wait_with_retry(stream, Echo(), timeout, retry)


def test_without_retries_there_need_not_be_a_timeout(stream: Any) -> None:
    for retry in (NO_RETRY_STRATEGY, AsyncRetryStrategy.no_restart()):
        AsyncDataStream.unordered_wait_with_retry(stream, Echo(), Time.milliseconds(0), retry)


def test_what_cannot_be_sent_to_the_workers_is_named(stream: Any) -> None:
    lock = threading.Lock()

    class Locked(Echo):
        def __init__(self) -> None:
            self.lock = lock

    with pytest.raises(UnpicklableFunctionError, match="lock"):
        AsyncDataStream.unordered_wait(stream, Locked(), SECOND)
    retry = AsyncRetryStrategy.fixed_delay(1, 1, lambda results: lock.locked(), None)
    with pytest.raises(UnpicklableFunctionError, match="lock"):
        AsyncDataStream.unordered_wait_with_retry(stream, Echo(), SECOND, retry)


def test_the_default_timeout_names_the_input() -> None:
    with pytest.raises(TimeoutError, match="Row"):
        Echo().timeout(Row(1, "x"))


def test_fixed_delays() -> None:
    fixed = AsyncRetryStrategy.fixed_delay(2, 100, None, None)
    assert [fixed.can_retry(n) for n in (1, 2, 3)] == [True, True, False]
    assert [fixed.get_backoff_time_millis(n) for n in (1, 2)] == [100, 100]
    assert not AsyncRetryStrategy.no_restart().can_retry(1)


def test_growing_delays_do_not_depend_on_who_else_asks() -> None:
    growing = AsyncRetryStrategy.exponential_backoff(5, 10, 35, 2.0, None, None)
    asked = [1, 2, 3, 4] * 5
    random.Random(3).shuffle(asked)
    assert {n: growing.get_backoff_time_millis(n) for n in asked} == {1: 10, 2: 20, 3: 35, 4: 35}
    assert [growing.can_retry(n) for n in (5, 6)] == [True, False]
    whole = AsyncRetryStrategy.exponential_backoff(5, 3, 1000, 1.5, None, None)
    assert [whole.get_backoff_time_millis(n) for n in range(1, 6)] == [3, 4, 6, 9, 13]  # as PyFlink cuts


def test_predicates() -> None:
    p = async_retry_predicates
    assert p.empty_result_predicate([])
    assert not p.empty_result_predicate([None])
    assert p.has_exception_predicate(ValueError())
    assert not p.has_exception_predicate(None)
    assert p.exception_type_predicate(KeyError(), LookupError)
    assert not p.exception_type_predicate(KeyError(), OSError)
    assert RetryPredicate(None, None).result_predicate() is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: AsyncRetryStrategy.fixed_delay(0, 1, None, None),
        lambda: AsyncRetryStrategy.fixed_delay(1, 0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(0, 1, 1, 2.0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(1, 0, 1, 2.0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 0, 2.0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 1, 0, None, None),
    ],
)
def test_numbers_of_strategies_are_positive(make: Any) -> None:
    with pytest.raises(ProgramError):
        make()
