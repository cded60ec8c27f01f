"""Async functions: requests to outside systems that overlap, and when to ask again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

from firesteel.program.functions.base import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")

ResultPredicate = Callable[[list[Any]], bool]
ExceptionPredicate = Callable[[Exception], bool]


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Says of a result and of an exception whether to try again; None: never."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None: ...

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None: ...


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """When a request is sent again, and how long to wait before (Flink: ``AsyncRetryStrategy``)."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool: ...

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before the next attempt, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]: ...

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never again."""
        from firesteel.program.functions.retry_strategies import NO_RETRY_STRATEGY

        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Again after the same time, ``max_attempts`` times at most."""
        from firesteel.program.functions.retry_strategies import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Again after a time that grows by ``multiplier``, up to ``max_retry_delay`` milliseconds."""
        from firesteel.program.functions.retry_strategies import ExponentialBackoffDelayRetryStrategy

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class AsyncFunction(Function, Generic[IN, OUT]):
    """Sends a request for each element and waits for the answer without holding up the others
    (Flink: ``AsyncFunction``).

    Everything but a plain ``open()`` and ``close()`` runs on one event loop for each subtask: whatever blocks
    there blocks all requests. A client that wants the running loop is made, once, in an ``open()`` declared
    with ``async def``; ``close()`` may be one too. There is no keyed state, also behind ``key_by()``,
    where elements are ``Row(key, record)``.

    Example::

        class Enrich(AsyncFunction):
            async def open(self, runtime_context):
                self.session = aiohttp.ClientSession()

            async def async_invoke(self, value):
                async with self.session.get(f"{URL}/{value}") as response:
                    return [(value, await response.text())]

            async def close(self):
                await self.session.close()
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """The results for ``value``, any number of them; an exception ends the job or is retried.

        When the time is over it is cancelled, and its place is free when it has ended.
        """

    def timeout(self, value: IN) -> list[OUT]:
        """What to emit when no answer came in time; ends the job unless it is overridden."""
        raise TimeoutError(f"no answer came in time for the input {value!r}")


class AsyncFunctionDescriptor:
    """An async function and how it is to be run."""

    class OutputMode(Enum):
        ORDERED = 0
        UNORDERED = 1

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: Any,
        capacity: int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        output_mode: OutputMode,
    ) -> None:
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy
        self.output_mode = output_mode
