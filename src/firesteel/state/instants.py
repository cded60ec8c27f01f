"""Instants as numbers: epoch milliseconds, whole numbers of 64 bits with a sign (Java's ``long``)."""

from __future__ import annotations

from operator import index
from typing import Any, Final

from firesteel.common.errors import ProgramError

MIN_INSTANT: Final = -(2**63)  # as the timestamp of a record: it has none
MAX_INSTANT: Final = 2**63 - 1


def instant_of(number: Any, what: str) -> int:
    """``number`` as an int, if it is a whole number of 64 bits: an int, a NumPy integer or any other number
    with ``__index__``. A float is refused, also one without a fraction. ``what`` begins the error."""
    try:
        instant = index(number)
    except TypeError as error:
        raise ProgramError(
            f"{what} must be a whole number of epoch milliseconds",
            detail=f"got {number!r}, a {type(number).__name__}",
            hint="convert it with int(...)",
        ) from error
    if not MIN_INSTANT <= instant <= MAX_INSTANT:
        raise ProgramError(
            f"{what} must be a number of 64 bits",
            detail=f"got {number!r}; the smallest is -(2**63), the largest 2**63 - 1",
            hint="for an instant that never comes use 2**63 - 1",
        )
    return instant


def window_outside_time(start: int, end: int) -> ProgramError:
    """The error about a window that begins or ends where no number of 64 bits is."""
    return ProgramError(
        "A window must begin and end within the instants of 64 bits",
        detail=f"its start would be {start} and its end {end}; instants are epoch milliseconds from -(2**63) "
        "to 2**63 - 1",
        hint="correct such timestamps, or filter them out, before the window",
    )


def check_window(start: int, end: int) -> None:
    """Raise when a window is not within the instants. (Java computes with overflow there: the window gets an
    end before its start, and its elements are lost.)"""
    if start < MIN_INSTANT or end > MAX_INSTANT:
        raise window_outside_time(start, end)
