"""Async functions on streams (PyFlink: ``pyflink.datastream.async_data_stream``)."""

from __future__ import annotations

import datetime
import inspect
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.time import Duration, Time, as_millis
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.program import operators as ops
from firesteel.program.checks import WrongArgumentError, check_picklable, require_function, require_int
from firesteel.program.functions.asynchronous import AsyncFunction, AsyncRetryStrategy
from firesteel.program.functions.retry_strategies import NO_RETRY_STRATEGY

__all__ = ["AsyncDataStream"]

_NAME = "async wait operator"

Timeout = Time | Duration | datetime.timedelta | int


class AsyncDataStream:
    """Sends a request for each record without waiting for the answer to the one before
    (Flink: ``AsyncDataStream``, "Asynchronous I/O for External Data Access").

    ``timeout`` is for one record, all its attempts and the time between them included; then the request is
    cancelled and ``AsyncFunction.timeout`` says what comes out. A plain number is in milliseconds; 0 or less
    is no timeout. ``capacity`` is how many requests each subtask has open at most. Results carry the
    timestamp of their record. All requests of an epoch are answered before it ends, so that none is open when
    a checkpoint is taken. What is processed again after a failure is requested again, and each record still
    has its results exactly once.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Timeout,
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """Results come as they are there; between two watermarks they may overtake each other."""
        return AsyncDataStream.unordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Timeout,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """``unordered_wait`` that asks again as ``async_retry_strategy`` says; it needs a timeout."""
        return _async_wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, ordered=False
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Timeout,
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """Results come in the order of the records; those that wait for their turn count as open."""
        return AsyncDataStream.ordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Timeout,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """``ordered_wait`` that asks again as ``async_retry_strategy`` says; it needs a timeout."""
        return _async_wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, ordered=True
        )


def _async_wait(
    stream: DataStream,
    function: AsyncFunction[Any, Any],
    timeout: Timeout,
    retry: AsyncRetryStrategy[Any],
    capacity: int,
    output_type: OutputType,
    *,
    ordered: bool,
) -> DataStream:
    if not isinstance(stream, DataStream):
        raise WrongArgumentError("The input must be a DataStream.", operator=_NAME, detail=f"got {stream!r}")
    _check_function(function)
    require_int(capacity, "capacity", 1, operator=_NAME)
    timeout_ms = as_millis(timeout, "timeout")
    _check_retry(retry, timeout_ms)
    spec = ops.AsyncWait(function, timeout_ms, capacity, retry, ordered)
    if isinstance(stream, KeyedStream):
        stream = stream._with_keys()
    return stream._transform(_NAME, spec, output_type)


def _check_function(function: AsyncFunction[Any, Any]) -> None:
    require_function(function, AsyncFunction, _NAME, "derive the class from AsyncFunction")
    name = type(function).__name__
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise WrongArgumentError(
            f"{name}.async_invoke must be declared with 'async def'.",
            operator=_NAME,
            detail="it is an async generator" if inspect.isasyncgenfunction(function.async_invoke) else None,
            hint="'async def async_invoke(self, value)' that returns a list; a blocking client belongs in "
            "a MapFunction",
        )
    if inspect.iscoroutinefunction(function.timeout):
        raise WrongArgumentError(
            f"{name}.timeout must be declared with plain 'def'.",
            operator=_NAME,
            hint="it says what to emit and must not wait for anything",
        )


def _check_retry(retry: AsyncRetryStrategy[Any], timeout_ms: int) -> None:
    if not isinstance(retry, AsyncRetryStrategy):
        raise WrongArgumentError(
            "The retry strategy must be an AsyncRetryStrategy.",
            operator=_NAME,
            detail=f"got {retry!r}",
            hint="AsyncRetryStrategy.fixed_delay(...), .exponential_backoff(...) or .no_restart()",
        )
    if retry is not NO_RETRY_STRATEGY and timeout_ms <= 0:
        raise ProgramError(
            "Retries need a timeout.",
            operator=_NAME,
            detail=f"the timeout is {timeout_ms} ms",
            hint="the timeout covers all attempts, for example Time.seconds(10)",
        )
    if retry.get_retry_predicate() is None:
        raise ProgramError(
            "The retry strategy has no predicate.",
            operator=_NAME,
            detail=f"{type(retry).__name__}.get_retry_predicate() gives None",
            hint="RetryPredicate(None, None) never retries",
        )
    check_picklable(retry, _NAME)
