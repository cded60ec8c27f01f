"""What a task does that reads state: rows of a few key groups, or of one subtask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from firesteel.state._column import (
    OPERATOR_PREFIX,
    CanonicalKey,
    canonical_of,
    column_id,
    column_of,
    key_data,
    key_end,
)
from firesteel.state._migration import Migrations
from firesteel.state._overlay import Overlay
from firesteel.state.line import StateLine, restored
from firesteel.state.rows import StoredRow, of_column, rows_of
from firesteel.state_processor._columns import ColumnOf, batches_of
from firesteel.state_processor._snapshot import FILES, StoredOperator

Row = Sequence[Any]


class Reading(Protocol):
    """Gives the rows of one part; it travels to the task, with the functions in it."""

    @property
    def parts(self) -> int: ...

    @property
    def columns(self) -> tuple[ColumnOf, ...]: ...

    def rows(self, part: int) -> Iterator[Row]: ...


def read_part(reading: Reading, part: int) -> Iterator[pa.RecordBatch]:
    return batches_of(reading.columns, reading.rows(part))


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """The keyed state of one operator, in parts of consecutive key groups."""

    operator: StoredOperator
    ranges: tuple[range, ...]

    @staticmethod
    def of(operator: StoredOperator, parts: int) -> KeyGroups:
        """As evenly as may be; a key group is never in two parts."""
        groups = operator.max_parallelism
        parts = max(1, min(parts, groups))
        bounds = [groups * n // parts for n in range(parts + 1)]
        return KeyGroups(operator, tuple(map(range, bounds, bounds[1:])))

    def overlay(self, part: int) -> Overlay:
        overlay = Overlay(FILES)
        overlay.migrate(Migrations(self.operator.states))
        overlay.move_to(self.line(self.ranges[part]))
        return overlay

    def line(self, groups: range) -> StateLine:
        """The state of some key groups, whichever subtasks had them."""
        return restored(self.operator.lines, groups, f"groups {groups.start}-{groups.stop}")

    def of_state(self, overlay: Overlay, group: int, name: str) -> Iterator[StoredRow]:
        """The rows that a group has of one state; none where the operator has no such state."""
        column = column_id(self.operator.entry.id, name)
        state = self.operator.states.get(column)
        if state is not None:
            yield from rows_of(state)(of_column(overlay.stream(group.to_bytes(2, "big")), column))


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """The rows of a keyed state, or of timers.

    :param names: the states; their number is given to ``shape`` too.
    :param shape: number of a state and row of it -> what the columns are to hold.
    """

    groups: KeyGroups
    names: tuple[str, ...]
    columns: tuple[ColumnOf, ...]
    shape: Callable[[int, StoredRow], Row]

    @property
    def parts(self) -> int:
        return len(self.groups.ranges)

    def rows(self, part: int) -> Iterator[Row]:
        overlay = self.groups.overlay(part)
        for group in self.groups.ranges[part]:
            for number, name in enumerate(self.names):
                for row in self.groups.of_state(overlay, group, name):
                    yield self.shape(number, row)


@dataclass(frozen=True, slots=True)
class OperatorRows:
    """The rows of an operator state; a part is a subtask.

    :param subtasks: how many of the subtasks are read: of a broadcast state all have the same.
    """

    operator: StoredOperator
    name: str
    subtasks: int
    columns: tuple[ColumnOf, ...]
    shape: Callable[[int, StoredRow], Row]

    @property
    def parts(self) -> int:
        return self.subtasks

    def rows(self, part: int) -> Iterator[Row]:
        column = column_id(self.operator.entry.id, self.name)
        overlay = Overlay(FILES)
        overlay.migrate(Migrations(self.operator.states))
        overlay.move_to(self.operator.lines[part])
        entries = of_column(overlay.stream(OPERATOR_PREFIX + column), column)
        return (self.shape(part, row) for row in rows_of(self.operator.states[column])(entries))


def keys_with(overlay: Overlay, group: int, states: Iterable[bytes]) -> Iterator[CanonicalKey]:
    """The keys of a group that have something in one of the states (column ids), without windows."""
    wanted = frozenset(states)
    last = b""
    for names, _ in overlay.stream(group.to_bytes(2, "big")):
        for name in names:
            if not name[2] or column_of(name) not in wanted:
                continue
            head = name[: key_end(name)]
            if head != last and key_data(head, len(head))[:1] != b"w":
                last = head
                yield canonical_of(key_data(head, len(head)))
