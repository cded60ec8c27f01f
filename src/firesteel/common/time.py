"""Lengths of time and instants (Flink: ``Time``; Java: ``Duration``, ``Instant``)."""

from __future__ import annotations

import datetime
from operator import index
from typing import Any

from firesteel.common.errors import ProgramError

__all__ = ["Duration", "Instant", "Time"]

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000
_EPOCH = datetime.datetime(1970, 1, 1)


class Duration:
    """A length of time, exact to the nanosecond. Made by the ``of_*`` methods, from whole numbers."""

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        if not isinstance(nanos, int):
            raise ProgramError(
                f"a Duration is made from whole numbers, not from {nanos!r}",
                hint="use a smaller unit, as in Duration.of_millis(1500)",
            )
        self._nanos = nanos

    @staticmethod
    def of_days(days: int) -> Duration:
        return Duration(_whole(days) * 86_400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        return Duration(_whole(hours) * 3_600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        return Duration(_whole(minutes) * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        return Duration(_whole(seconds) * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        return Duration(_whole(millis) * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        return Duration(_whole(nanos))

    def to_millis(self) -> int:
        """Whole milliseconds; what is smaller is cut off."""
        return self._nanos // _NANOS_PER_MILLI

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __repr__(self) -> str:
        return f"Duration<{self}>"

    def __str__(self) -> str:
        """As Java writes it: ``PT1H30M``, ``PT1.5S``."""
        if self._nanos == 0:
            return "PT0S"
        sign, rest = ("-", -self._nanos) if self._nanos < 0 else ("", self._nanos)
        seconds, nanos = divmod(rest, _NANOS_PER_SECOND)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        text = "PT"
        if hours:
            text += f"{sign}{hours}H"
        if minutes:
            text += f"{sign}{minutes}M"
        if seconds or nanos:
            fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
            text += f"{sign}{seconds}{fraction}S"
        return text


def _whole(amount: Any) -> int:
    return Duration(amount)._nanos


class Instant:
    """A point on the time line: seconds since the epoch and the nanoseconds within that second."""

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        self.seconds = seconds
        self.nanos = nanos

    def to_epoch_milli(self) -> int:
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Instant)
            and self.__class__ is other.__class__
            and self.seconds == other.seconds
            and self.nanos == other.nanos
        )

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanos))

    def __reduce__(self) -> tuple[Any, ...]:
        return Instant, (self.seconds, self.nanos)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"

    def __str__(self) -> str:
        """As Java prints it: ``2020-04-15T08:00:13.999Z``; outside of the years 1 to 9999 as ``repr``."""
        try:
            shown = (_EPOCH + datetime.timedelta(seconds=self.seconds)).isoformat()
        except OverflowError:
            return repr(self)
        if self.nanos:
            digits = 3 if self.nanos % 1_000_000 == 0 else 6 if self.nanos % 1000 == 0 else 9
            shown += f".{self.nanos // 10 ** (9 - digits):0{digits}d}"
        return f"{shown}Z"


class Time:
    """A length of time in milliseconds, as windows take it."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def to_milliseconds(self) -> int:
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        return Time(seconds * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        return Time(days * 86_400_000)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Time)
            and self.__class__ is other.__class__
            and self._milliseconds == other._milliseconds
        )

    def __hash__(self) -> int:
        return hash(self._milliseconds)

    def __repr__(self) -> str:
        return f"Time({self._milliseconds})"

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"


Length = Duration | Time | datetime.timedelta


def as_millis(length: Length | int, what: str) -> int:
    """Any length of time as whole milliseconds; a plain number already is that. ``what`` names the
    argument in the error."""
    if isinstance(length, Duration):
        millis = length.to_millis()
    elif isinstance(length, Time):
        millis = length.to_milliseconds()
    elif isinstance(length, datetime.timedelta):
        millis = length // datetime.timedelta(milliseconds=1)
    elif hasattr(length, "__index__") and not isinstance(length, bool):
        millis = index(length)  # an int, or an integer of NumPy
    else:
        raise ProgramError(
            f"{what} must be a length of time, not {length!r}",
            hint="use Duration.of_seconds(...), Duration.of_millis(...) or datetime.timedelta",
        )
    if millis != int(millis):
        raise ProgramError(f"{what} must be a whole number of milliseconds", detail=f"got {millis} ms")
    if not -(2**63) <= millis < 2**63:
        raise ProgramError(f"{what} must be a number of milliseconds of 64 bits", detail=f"got {millis} ms")
    return millis
