"""A batch: records in order with the watermarks between them in place.

Operators exchange batches, never single records, so that the cost of a hand-over is paid once for about a
thousand records. A *mark* is ``(position, mark)``: it comes before the record at ``position`` (or after the
last one). It is an ``int`` for a watermark, or one of the three strings below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

IDLE: Final = "idle"  # the channel takes no part in the watermark until it is active again
ACTIVE: Final = "active"
END: Final = "end"  # end of input: the maximal watermark, and nothing follows, ever (Flink: EndOfData)

MIN_WATERMARK: Final = -(2**63)
MAX_WATERMARK: Final = 2**63 - 1
NO_TIMESTAMP: Final = MIN_WATERMARK  # what a record without one shows, as in Flink

Mark: TypeAlias = int | str
Marks: TypeAlias = Sequence[tuple[int, Mark]]

NO_MARKS: Final[Marks] = ()


class Batch:
    """Records in order; read-only once it was handed over.

    ``timestamps`` None: no record has one; in a list, NO_TIMESTAMP stands for a record without. ``keys`` is
    set only between a keyed exchange and the operator behind it. Where rows travel as columns, ``values`` is
    a ``common.columns.Columns``, or an empty list when there are marks alone, and the other two are None.
    """

    __slots__ = ("keys", "marks", "timestamps", "values")

    def __init__(
        self,
        values: list[Any],
        timestamps: Sequence[int] | None = None,
        marks: Marks = NO_MARKS,
        keys: list[Any] | None = None,
    ) -> None:
        self.values = values
        self.timestamps = timestamps
        self.marks = marks
        self.keys = keys

    def segments(self) -> Iterator[tuple[int, int, Mark | None]]:
        """``(start, stop, mark)``: the records between two marks, and the mark that follows them."""
        start = 0
        for position, mark in self.marks:
            yield start, position, mark
            start = position
        if start < len(self.values):
            yield start, len(self.values), None

    def split(self, at: int) -> tuple[Batch, Batch]:
        """The records before ``at`` and those from it on, each with the marks before and after them."""
        values, stamps, keys = self.values, self.timestamps, self.keys
        first = [(position, mark) for position, mark in self.marks if position < at]
        second = [(position - at, mark) for position, mark in self.marks if position >= at]
        return (
            Batch(values[:at], stamps and stamps[:at], first, keys and keys[:at]),
            Batch(values[at:], stamps and stamps[at:], second, keys and keys[at:]),
        )

    def part(self, start: int, stop: int) -> Batch:
        """The records from ``start`` to ``stop``, with the marks behind each; those before the first record
        belong to the first part."""
        values, stamps, keys = self.values, self.timestamps, self.keys
        first = start if start else -1
        marks = [(at - start, mark) for at, mark in self.marks if first < at <= stop]
        return Batch(values[start:stop], stamps and stamps[start:stop], marks, keys and keys[start:stop])

    def __repr__(self) -> str:
        return f"Batch({self.values!r}, {self.timestamps!r}, {self.marks!r}, keys={self.keys!r})"


class Collector:
    """Gathers what an operator emits until it is handed on as one batch."""

    __slots__ = ("has_timestamps", "last", "marks", "timestamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int] = []
        self.marks: list[tuple[int, Mark]] = []
        self.has_timestamps = False

    def add(self, value: Any, timestamp: int) -> None:
        self.values.append(value)
        self.timestamps.append(timestamp)
        if timestamp != NO_TIMESTAMP:
            self.has_timestamps = True

    def mark(self, mark: Mark) -> None:
        marks = self.marks
        position = len(self.values)
        if marks and type(mark) is int and marks[-1][0] == position and type(marks[-1][1]) is int:
            marks[-1] = (position, mark)  # of several watermarks between two records only the last counts
        else:
            marks.append((position, mark))

    def take(self) -> Batch | None:
        """What was gathered, or None when that is nothing."""
        values, timestamps, marks = self.values, self.timestamps, self.marks
        if not values and not marks:
            return None
        self.values, self.timestamps, self.marks = [], [], []
        batch = Batch(values, timestamps if self.has_timestamps else None, marks)
        self.has_timestamps = False
        return batch
