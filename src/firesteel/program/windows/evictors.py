"""Evictors: what is taken out of a window before or after its function is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from firesteel.common.time import Length, as_millis
from firesteel.program.checks import WrongArgumentError, require_int
from firesteel.program.windows.windows import NO_TIMESTAMP

if TYPE_CHECKING:
    from firesteel.metrics import MetricGroup

T = TypeVar("T")
W = TypeVar("W")


class TimestampedValue(NamedTuple):
    """An element of a window and its timestamp, ``-(2**63)`` for an element that has none."""

    value: Any
    timestamp: int = NO_TIMESTAMP

    def has_timestamp(self) -> bool:
        return self.timestamp != NO_TIMESTAMP


class Evictor(ABC, Generic[T, W]):
    """Takes elements out of a window that fires (Flink: ``Evictor``).

    Both methods get the elements in the order in which they came and take some out of the list; these are
    gone for good. ``size`` is the number of elements before.
    """

    class EvictorContext(ABC):
        """What an evictor may ask for."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The time of the clock, in epoch milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The metrics of the window operator."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The watermark of the window operator; ``-(2**63)`` before the first one."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Take out what the window function must not see."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Take out what the window function has seen and shall not see again."""


class _OneSidedEvictor(Evictor[T, Any]):
    """Does the same before or after the window function."""

    def __init__(self, do_evict_after: bool) -> None:
        self._do_evict_after = do_evict_after

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Any, ctx: Evictor.EvictorContext
    ) -> None:
        if not self._do_evict_after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Any, ctx: Evictor.EvictorContext
    ) -> None:
        if self._do_evict_after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None: ...


class CountEvictor(_OneSidedEvictor[T]):
    """Keeps the last ``max_count`` elements."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._max_count = require_int(max_count, "count of a CountEvictor", 0)

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any]:
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(0, len(elements) - self._max_count)]


class DeltaEvictor(_OneSidedEvictor[T]):
    """Keeps the elements that are less than ``threshold`` from the last one.

    :param delta_function: ``delta_function(element, last element)`` gives the distance.
    """

    def __init__(
        self, threshold: float, delta_function: Callable[[T, T], float], do_evict_after: bool = False
    ) -> None:
        super().__init__(do_evict_after)
        if not callable(delta_function):
            raise WrongArgumentError(
                "The delta function of a DeltaEvictor must be callable.", detail=f"got {delta_function!r}"
            )
        self._threshold = threshold
        self._delta_function = delta_function

    @staticmethod
    def of(
        threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> DeltaEvictor[Any]:
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements:
            last = elements[-1].value
            elements[:] = [e for e in elements if self._delta_function(e.value, last) < self._threshold]


class TimeEvictor(_OneSidedEvictor[T]):
    """Keeps the elements whose timestamp is less than ``window_size`` milliseconds before the newest."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._window_size = require_int(window_size, "window size of a TimeEvictor", 0)

    @staticmethod
    def of(window_size: Length, do_evict_after: bool = False) -> TimeEvictor[Any]:
        return TimeEvictor(as_millis(window_size, "the window size of a TimeEvictor"), do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements and elements[0].has_timestamp():
            cutoff = max(e.timestamp for e in elements) - self._window_size
            elements[:] = [e for e in elements if e.timestamp > cutoff]
