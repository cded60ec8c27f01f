"""What all bodies share."""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal

import msgspec

Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Text = Annotated[str, msgspec.Meta(max_length=4096)]

#: Flink writes the number that is none as a text.
Number = float | Literal["NaN"]

NO_TIME: Final = -1  # an end that has not come, a duration that has not begun
NOT_AVAILABLE: Final = -1  # a size or a duration that nobody measured
UNASSIGNED: Final = "(unassigned)"  # where a subtask runs, when that is not known


class Message(msgspec.Struct, frozen=True):
    """Base of all bodies."""


class Empty(Message, frozen=True):
    """``{}``."""


class Errors(Message, frozen=True):
    """The body of each refusal. Flink's client takes an object with this one field as an error."""

    errors: list[str]


def number(value: float) -> Number:
    """A number as Flink writes it."""
    return "NaN" if math.isnan(value) else float(value)
