"""Results that arrive later (Flink: ``CompletableFuture``)."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

__all__ = ["CompletableFuture"]


class CompletableFuture(Generic[T]):
    """The result of something that may still be going on.

    A thin view of a ``concurrent.futures.Future``: whoever does the work completes that one.

    :param future: the future that is completed elsewhere; None: a new one, completed by
        ``set_result`` or ``set_exception``.
    :param convert: applied to the result before it is handed out.
    """

    def __init__(
        self,
        future: concurrent.futures.Future[Any] | None = None,
        convert: Callable[[Any], T] | None = None,
    ) -> None:
        self._future = concurrent.futures.Future() if future is None else future
        self._convert = convert

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """A future that already has its result."""
        future: CompletableFuture[T] = CompletableFuture()
        future.set_result(value)
        return future

    @staticmethod
    def failed(error: BaseException) -> CompletableFuture[Any]:
        """A future that has already failed."""
        future: CompletableFuture[Any] = CompletableFuture()
        future.set_exception(error)
        return future

    def set_result(self, value: Any) -> bool:
        """Complete with a value. False: it was complete (or cancelled) already and stays as it is."""
        return self._complete(lambda: self._future.set_result(value))

    def set_exception(self, error: BaseException) -> bool:
        """Complete with a failure. False: it was complete (or cancelled) already and stays as it is."""
        return self._complete(lambda: self._future.set_exception(error))

    def _complete(self, complete: Callable[[], None]) -> bool:
        try:
            complete()
        except concurrent.futures.InvalidStateError:
            return False
        return True

    def cancel(self) -> bool:
        """Complete as cancelled unless it is complete. Returns whether it is cancelled now."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether it is complete: with a value, with a failure, or cancelled."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result; raise what the work raised.

        :param timeout: seconds to wait at most; None: without limit.
        :raises TimeoutError: the time is over.
        :raises concurrent.futures.CancelledError: it was cancelled.
        """
        value = self._future.result(timeout)
        return value if self._convert is None else self._convert(value)

    def exception(self) -> BaseException | None:
        """The failure it was completed with; None if it was not, or not yet. Does not wait."""
        if not self._future.done():
            return None
        try:
            return self._future.exception()
        except concurrent.futures.CancelledError as error:
            return error

    def __str__(self) -> str:
        if not self._future.done():
            return "CompletableFuture[Not completed]"
        if self._future.cancelled() or self._future.exception() is not None:
            return "CompletableFuture[Completed exceptionally]"
        return "CompletableFuture[Completed normally]"
