"""How event time enters a stream: timestamps of elements and watermarks (Flink: ``WatermarkStrategy``).

A strategy is plain data. The runtime has its own fast code for the built-in generators and calls a user's
``WatermarkGenerator`` for the others.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.clock import SystemClock
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.time import Duration, as_millis

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "IngestionTimeAssigner",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]


class TimestampAssigner(ABC):
    """Gives each element its event time."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The event time of ``value`` in epoch milliseconds.

        :param record_timestamp: the timestamp that the element already has, in epoch milliseconds; a
            negative number (the smallest 64-bit integer) when it has none.
        """


class IngestionTimeAssigner(TimestampAssigner):
    """The time at which an element enters the stream: the processing time at which it is read. In epochs that
    is one for each epoch, the same when it is run again. It never goes back. (Flink:
    ``IngestionTimeAssigner``.)
    """

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Where no job runs, the time of this machine; in a job the engine knows the processing time."""
        return SystemClock().now_ms()


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks."""

    @abstractmethod
    def emit_watermark(self, watermark_ms: int) -> None:
        """Say that no element with a timestamp at or below ``watermark_ms`` will follow. Also marks the
        output active. A watermark that is not above the last one changes nothing."""

    @abstractmethod
    def mark_idle(self) -> None:
        """This input has nothing for now: consumers shall not wait for its watermark."""

    @abstractmethod
    def mark_active(self) -> None:
        """Count this input again. An emitted watermark does this too."""


class WatermarkGenerator(ABC):
    """Makes watermarks from the elements it sees, or from the passing of time.

    One object exists for each split of a source, and for each subtask of an assigner in mid-stream. It is
    pickled between epochs; after a restore a new one starts empty, like Flink's.
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for each element, after its timestamp (epoch milliseconds) was assigned."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called after each 1,000 elements, at the end of each epoch, and every
        ``pipeline.auto-watermark-interval`` (200 ms), in epochs only while there are no elements. An interval
        above 200 ms holds for the other calls, too; 0 switches the calls off. In epochs a body that is empty
        is not called without elements: it would cost an epoch.
        """


class WatermarkAlignment(NamedTuple):
    """Sources of one group wait for each other when they are further apart than ``max_drift_ms``.

    A split whose watermark is ahead of the lowest one of the group by more than the drift is not read until
    the others have caught up. Nothing is dropped or reordered, and waiting does not make a split idle. Splits
    that are idle, that have ended, or that have no watermark yet hold nobody back.

    How far the group may go is settled once in each epoch. A split stops at the first watermark that is too
    far ahead: it overshoots by what lies between two of its watermarks, 1,000 elements or one chunk of the
    source (at most 4,096). (Flink: FLIP-182, FLIP-217.)
    """

    group: str
    max_drift_ms: int


class _CallableTimestampAssigner(TimestampAssigner):
    def __init__(self, function: Callable[[Any, int], int]) -> None:
        self._function = function

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._function(value, record_timestamp)


class WatermarkStrategy:
    """Which timestamps elements get and which watermarks follow from them.

    >>> class ByField(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value[1]
    >>> strategy = (
    ...     WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    ...     .with_timestamp_assigner(ByField())
    ...     .with_idleness(Duration.of_seconds(30))
    ... )
    >>> strategy.generator_factory, strategy.max_out_of_orderness_ms, strategy.idle_timeout_ms
    ('bounded', 10000, 30000)

    :ivar generator_factory: ``"bounded"``, ``"monotonous"``, ``"none"``, or for another generator a callable
        without arguments that makes one.
    :ivar max_out_of_orderness_ms: the bound of ``"bounded"``; 0 otherwise.
    :ivar timestamp_assigner: None: elements keep the timestamps they have.
    :ivar idle_timeout_ms: None: an input never becomes idle by itself.
    :ivar alignment: None: sources do not wait for each other.
    """

    def __init__(
        self,
        generator_factory: str | Callable[[], WatermarkGenerator] = "none",
        max_out_of_orderness_ms: int = 0,
    ) -> None:
        self.generator_factory = generator_factory
        self.max_out_of_orderness_ms = max_out_of_orderness_ms
        self.timestamp_assigner: TimestampAssigner | None = None
        self.idle_timeout_ms: int | None = None
        self.alignment: WatermarkAlignment | None = None

    @property
    def makes_watermarks(self) -> bool:
        return self.generator_factory != "none"

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """The watermark stays ``max_out_of_orderness`` + 1 ms behind the highest timestamp seen."""
        bound_ms = as_millis(max_out_of_orderness, "max_out_of_orderness")
        if bound_ms < 0:
            raise ProgramError(f"max_out_of_orderness must not be negative: {bound_ms} ms")
        return WatermarkStrategy("bounded", bound_ms)

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """For timestamps that never go back: the watermark stays 1 ms behind the highest one seen."""
        return WatermarkStrategy("monotonous")

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks at all; event-time timers fire only when a bounded input ends."""
        return WatermarkStrategy("none")

    @staticmethod
    def for_generator(generator_supplier: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Watermarks from a generator of the user's: a subclass of ``WatermarkGenerator`` or a function
        that returns an object of one. It is called once for each subtask, on the worker."""
        if not callable(generator_supplier):
            raise ProgramError(
                f"for_generator needs something to call for a WatermarkGenerator, not {generator_supplier!r}",
                hint="pass the class, or a lambda that makes the generator: each subtask needs its own",
            )
        return WatermarkStrategy(generator_supplier)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Take timestamps from this assigner, or from a function ``(value, record_timestamp) -> ms``.

        Changes this strategy and returns it, as PyFlink does.
        """
        if callable(getattr(timestamp_assigner, "extract_timestamp", None)):
            self.timestamp_assigner = cast(TimestampAssigner, timestamp_assigner)
        elif callable(timestamp_assigner):
            self.timestamp_assigner = _CallableTimestampAssigner(timestamp_assigner)
        else:
            raise ProgramError(
                f"not a TimestampAssigner: {timestamp_assigner!r}",
                hint="subclass TimestampAssigner and define extract_timestamp(self, value, record_timestamp)",
            )
        return self

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """A strategy that is like this one and marks an input idle that had no element for this long."""
        timeout_ms = as_millis(idle_timeout, "idle_timeout")
        if timeout_ms <= 0:
            raise ProgramError(f"idle_timeout must be at least 1 ms, not {idle_timeout}")
        strategy = copy.copy(self)
        strategy.idle_timeout_ms = timeout_ms
        return strategy

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """A strategy that is like this one and pauses what is further ahead of the slowest split of the group
        than the allowed drift: see ``WatermarkAlignment``.

        Only sources can be paused: it has no effect on a stream behind its source, and none in BATCH mode.

        :param watermark_group: all sources of the job with this name wait for each other.
        :param update_interval: Flink: how often the group's progress is looked at. Here that is once in each
            epoch, so this has no effect, and a warning says so.
        """
        drift_ms = as_millis(max_allowed_watermark_drift, "max_allowed_watermark_drift")
        if drift_ms < 0:
            raise ProgramError(f"max_allowed_watermark_drift must not be negative: {drift_ms} ms")
        if update_interval is not None:
            if as_millis(update_interval, "update_interval") <= 0:
                raise ProgramError(f"update_interval must be at least 1 ms, not {update_interval}")
            tell_no_effect("the update interval of an alignment", "progress is looked at once in each epoch")
        strategy = copy.copy(self)
        strategy.alignment = WatermarkAlignment(watermark_group, drift_ms)
        return strategy


class AssignerWithPeriodicWatermarksWrapper:
    """In PyFlink the handle of a watermark assigner written in Java; there is no Java function here."""

    def __init__(self, j_assigner_with_periodic_watermarks: Any) -> None:
        raise UnsupportedFeatureError(
            "watermark assigners written in Java cannot be used",
            hint="write a WatermarkGenerator in Python and pass it to WatermarkStrategy.for_generator",
        )
