"""Random changelogs, and what is left of one: for tests of operators against a batch query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

Change = tuple[Any, ...]  # the text of the kind, then the row


@st.composite
def epochs(
    draw: Any, rows: st.SearchStrategy[tuple[Any, ...]], cuts: int = 3, changes: int = 7
) -> tuple[list[list[Change]], list[tuple[Any, ...]]]:
    """Epochs of changes in which what is taken back is there, and the rows that are left."""
    held: list[tuple[Any, ...]] = []
    made = []
    for _ in range(draw(st.integers(1, cuts))):
        epoch: list[Change] = []
        for _ in range(draw(st.integers(0, changes))):
            if held and draw(st.booleans()):
                epoch.append(("-D", *held.pop(draw(st.integers(0, len(held) - 1)))))
            else:
                row = draw(rows)
                held.append(row)
                epoch.append(("+I", *row))
        made.append(epoch)
    return made, held


@st.composite
def upserts(
    draw: Any,
    rows: st.SearchStrategy[tuple[Any, ...]],
    key: Callable[[tuple[Any, ...]], Any],
    cuts: int = 3,
    changes: int = 7,
) -> tuple[list[list[Change]], dict[Any, tuple[Any, ...]]]:
    """Epochs of upserts by key, deletions of what is not there among them; the last row of each key."""
    held: dict[Any, tuple[Any, ...]] = {}
    made = []
    for _ in range(draw(st.integers(1, cuts))):
        epoch: list[Change] = []
        for _ in range(draw(st.integers(0, changes))):
            row = draw(rows)
            if draw(st.integers(0, 3)):
                held[key(row)] = row
                epoch.append((draw(st.sampled_from(["+I", "+U"])), *row))
            else:
                held.pop(key(row), None)
                epoch.append(("-D", *row))
        made.append(epoch)
    return made, held


def rows_left(changes: Iterable[Change]) -> list[tuple[Any, ...]]:
    """The rows that a changelog with old rows leaves, sorted; each retraction is of a row that is there."""
    held: Counter[tuple[Any, ...]] = Counter()
    for kind, *values in changes:
        row = tuple(values)
        if kind in ("+I", "+U"):
            held[row] += 1
        else:
            assert held[row] > 0, f"{kind} of {row}, which is not there"
            held[row] -= 1
    return sorted(held.elements(), key=repr)


def table_left(changes: Iterable[Change], keys: Sequence[int], old_rows: bool = True) -> dict[Any, Any]:
    """The table by key that a changelog leaves. Each change fits to what is there: +I to nothing, the others
    to the row.

    :param old_rows: whether -U and -D have the row that was there; False: there is no -U, and of -D the key
        counts.
    """
    table: dict[Any, tuple[Any, ...]] = {}
    for kind, *values in changes:
        row = tuple(values)
        key = tuple(row[k] for k in keys)
        if kind == "+I":
            assert key not in table, (kind, row, table)
            table[key] = row
        elif kind == "+U":
            assert key in table, (kind, row, table)
            table[key] = row
        elif kind == "-U":
            assert old_rows
            assert table[key] == row
        else:
            gone = table.pop(key)
            assert gone == row or not old_rows
    return table
