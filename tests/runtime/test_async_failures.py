"""Async I/O: timeouts, retries, and what fails a job."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from firesteel.common import Time
from firesteel.common.errors import JobExecutionError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import (
    AsyncFunction,
    AsyncRetryStrategy,
)
from firesteel.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from firesteel.program.functions.retry_strategies import NO_RETRY_STRATEGY

from .async_support import (
    BOTH,
    Echo,
    async_wait,
)
from .support import (
    SplitsSource,
    collect,
    environment,
    note,
    notes,
)

# ---- timeouts


class Hangs(AsyncFunction):
    """Never answers odd numbers."""

    async def async_invoke(self, value: int) -> list[Any]:
        if value % 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                note("cancelled", value)
                raise
        return [value]


class HangsAndSays(Hangs):
    def timeout(self, value: int) -> list[Any]:
        note("timeout", value)
        return [f"no answer for {value}"]


@pytest.mark.row("S-PROC-07")
def test_a_timeout_fails_the_job_and_names_the_input() -> None:
    stream = environment(1).from_collection([0, 3])
    with pytest.raises(JobExecutionError) as failure:
        collect(async_wait(stream, Hangs(), timeout=Time.milliseconds(30)))
    assert isinstance(failure.value.__cause__, TimeoutError)
    assert "input 3" in str(failure.value.__cause__)
    assert notes["cancelled"] == [3]


@BOTH
@pytest.mark.row("S-PROC-07")
def test_timeout_may_emit_something_else(ordered: bool) -> None:
    """The request is cancelled, and has ended, before timeout() is asked."""
    stream = environment(1).from_collection(range(6))
    out = collect(async_wait(stream, HangsAndSays(), ordered=ordered, timeout=Time.milliseconds(30)))
    expected = [0, "no answer for 1", 2, "no answer for 3", 4, "no answer for 5"]
    assert (out if ordered else sorted(out, key=str)) == (expected if ordered else sorted(expected, key=str))
    assert sorted(notes["timeout"]) == sorted(notes["cancelled"]) == [1, 3, 5]


def test_an_exception_in_timeout_fails_the_job() -> None:
    class Worse(Hangs):
        def timeout(self, value: int) -> list[Any]:
            raise KeyError("worse")

    with pytest.raises(JobExecutionError) as failure:
        collect(async_wait(environment(1).from_collection([1]), Worse(), timeout=Time.milliseconds(10)))
    assert isinstance(failure.value.__cause__, KeyError)
    assert "in timeout" in str(failure.value)


def test_what_timeout_gives_must_be_a_list_too() -> None:
    class Nothing(Hangs):
        def timeout(self, value: int) -> Any:
            return None

    with pytest.raises(
        JobExecutionError, match=r"cannot be none\.\n +detail: Nothing\.timeout\(\) returned None"
    ):
        collect(async_wait(environment(1).from_collection([1]), Nothing(), timeout=Time.milliseconds(10)))


@pytest.mark.parametrize("after", ["a result", "an exception"])
def test_what_a_cancelled_request_still_says_is_ignored(after: str) -> None:
    class Stubborn(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if after == "an exception":
                    raise RuntimeError("connection lost") from None
            return ["late"]

        def timeout(self, value: Any) -> list[Any]:
            return ["timed out"]

    retry = AsyncRetryStrategy.fixed_delay(1000, 1, lambda r: True, has_exception_predicate)
    for strategy in (NO_RETRY_STRATEGY, retry):
        stream = environment(1).from_collection([1])
        out = collect(async_wait(stream, Stubborn(), timeout=Time.milliseconds(20), retry=strategy))
        assert out == ["timed out"]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_without_a_timeout_one_waits(timeout_ms: int) -> None:
    out = collect(
        async_wait(environment(1).from_collection([1]), Echo(40), timeout=Time.milliseconds(timeout_ms))
    )
    assert out == [1]


# ---- retries


class Flaky(AsyncFunction):
    """Fails so many times for each value; says how many attempts it took."""

    def __init__(self, failures: int, fail: Callable[[int], list[Any]]) -> None:
        self.failures = failures
        self.fail = fail
        self.attempts: Counter[Any] = Counter()

    async def async_invoke(self, value: Any) -> list[Any]:
        note(f"at-{value}", asyncio.get_running_loop().time())
        self.attempts[value] += 1
        await asyncio.sleep(0)
        if self.attempts[value] <= self.failures:
            return self.fail(self.attempts[value])
        return [(value, self.attempts[value])]

    def timeout(self, value: Any) -> list[Any]:
        return [f"no answer for {value}"]


def raises(attempt: int) -> list[Any]:
    raise ValueError(f"attempt {attempt}")


def is_empty(attempt: int) -> list[Any]:
    return []


def fixed(times: int, delay_ms: int = 1, result: Any = None, error: Any = None) -> AsyncRetryStrategy[Any]:
    return AsyncRetryStrategy.fixed_delay(times, delay_ms, result, error)


@BOTH
@pytest.mark.parametrize(
    ("fail", "retry"),
    [
        (raises, fixed(3, error=has_exception_predicate)),
        (is_empty, fixed(3, result=empty_result_predicate)),
        (raises, AsyncRetryStrategy.exponential_backoff(3, 1, 4, 2.0, None, has_exception_predicate)),
    ],
)
@pytest.mark.row("S-PROC-08")
def test_it_fails_twice_and_then_there_is_one_result(
    ordered: bool, fail: Callable[[int], list[Any]], retry: AsyncRetryStrategy[Any]
) -> None:
    stream = environment(1).from_collection(range(20))
    out = collect(async_wait(stream, Flaky(2, fail), ordered=ordered, retry=retry))
    assert sorted(out) == [(v, 3) for v in range(20)]


def test_the_last_exception_counts_when_the_attempts_are_used_up() -> None:
    """``max_attempts`` retries, so one attempt more; then the exception fails the job, not timeout()."""
    retry = fixed(2, error=has_exception_predicate)
    with pytest.raises(JobExecutionError) as failure:
        collect(async_wait(environment(1).from_collection(["x"]), Flaky(99, raises), retry=retry))
    assert isinstance(failure.value.__cause__, ValueError)
    assert "attempt 3" in str(failure.value)
    assert len(notes["at-x"]) == 3


def test_the_last_result_is_emitted_when_the_attempts_are_used_up() -> None:
    retry = fixed(2, result=lambda results: True)
    assert collect(async_wait(environment(1).from_collection(["x"]), Flaky(0, raises), retry=retry)) == [
        ("x", 3)
    ]


def test_an_exception_that_is_not_asked_for_is_not_retried() -> None:
    only_keys = partial(exception_type_predicate, expected_error_type=KeyError)
    retry = fixed(5, error=only_keys)
    with pytest.raises(JobExecutionError, match="attempt 1"):
        collect(async_wait(environment(1).from_collection(["x"]), Flaky(2, raises), retry=retry))
    assert len(notes["at-x"]) == 1


@pytest.mark.row("S-PROC-08")
def test_the_timeout_covers_all_attempts() -> None:
    retry = fixed(10_000, 5, error=has_exception_predicate)
    stream = environment(1).from_collection(["x"])
    out = collect(async_wait(stream, Flaky(99_999, raises), timeout=Time.seconds(1), retry=retry))
    assert out == ["no answer for x"]
    assert 2 <= len(notes["at-x"]) <= 201


def test_delays_between_attempts() -> None:
    retry = AsyncRetryStrategy.exponential_backoff(4, 10, 35, 2.0, None, has_exception_predicate)
    stream = environment(1).from_collection(["x", "y", "z"])
    collect(async_wait(stream, Flaky(4, raises), retry=retry))
    for value in "xyz":  # each has its own row of delays, although they share the strategy
        times = notes[f"at-{value}"]
        gaps = [b - a for a, b in pairwise(times)]
        least = [0.010, 0.020, 0.035, 0.035]
        assert len(gaps) == 4
        assert all(gap > lower * 0.9 for gap, lower in zip(gaps, least, strict=True)), gaps


def test_a_request_between_two_attempts_keeps_its_place() -> None:
    retry = fixed(5, 10, error=has_exception_predicate)
    stream = environment(1).from_collection(range(3))
    out = collect(async_wait(stream, Flaky(2, raises), capacity=1, retry=retry))
    assert out == [(0, 3), (1, 3), (2, 3)]
    assert notes["at-0"][-1] <= notes["at-1"][0] <= notes["at-1"][-1] <= notes["at-2"][0]


def test_an_exception_of_a_predicate_fails_the_job() -> None:
    """(PyFlink waits for the timeout then, as if there had been no answer.)"""

    def wrong(results: list[Any]) -> bool:
        raise LookupError("in the predicate")

    retry = fixed(5, result=wrong, error=has_exception_predicate)
    with pytest.raises(JobExecutionError) as failure:
        collect(async_wait(environment(1).from_collection([1]), Flaky(0, raises), retry=retry))
    assert isinstance(failure.value.__cause__, LookupError)


def test_no_result_at_all_is_no_matter_for_a_predicate() -> None:
    class Nothing(AsyncFunction):
        async def async_invoke(self, value: Any) -> Any:
            note("attempt")

    retry = fixed(5, result=lambda results: True)
    with pytest.raises(JobExecutionError, match="The result of AsyncFunction"):
        collect(async_wait(environment(1).from_collection([1]), Nothing(), retry=retry))
    assert len(notes["attempt"]) == 1


# ---- failures


class Fails(AsyncFunction):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        if value == "bad":
            raise self.error
        return [value]


@pytest.mark.parametrize(
    "error", [ValueError("no such customer"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()]
)
def test_an_exception_fails_the_job_with_operator_traceback_and_input(error: BaseException) -> None:
    """SystemExit and the like must not end the loop, or the task would wait for ever."""
    stream = environment(1).from_collection(["good", "bad"])
    with pytest.raises(JobExecutionError) as failure:
        collect(async_wait(stream, Fails(error)).name("lookup"))
    assert isinstance(failure.value.__cause__, type(error))
    assert failure.value.operator == "lookup"
    assert failure.value.subtask == 0
    text = str(failure.value)
    assert text.splitlines()[0].endswith(
        f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    )
    assert "raise self.error" in text
    assert "Fails, for the input 'bad'" in text


def test_an_exception_while_later_batches_are_read_is_seen() -> None:
    source = SplitsSource([("bad" if v == 0 else v, None) for v in range(3000)])
    stream = environment(1).from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    with pytest.raises(JobExecutionError, match="gone"):
        collect(async_wait(stream.map(lambda v: note("read", v)), Fails(OSError("gone"))))


def test_what_ends_a_task_of_the_user_does_not_end_the_loop() -> None:
    class Starts(AsyncFunction):
        async def exits(self) -> None:
            raise SystemExit(1)

        async def async_invoke(self, value: Any) -> list[Any]:
            task = asyncio.create_task(self.exits())
            while not task.done():
                await asyncio.sleep(0)
            assert isinstance(task.exception(), SystemExit)
            return [value]

    assert collect(async_wait(environment(1).from_collection([1, 2]), Starts(), ordered=True)) == [1, 2]
