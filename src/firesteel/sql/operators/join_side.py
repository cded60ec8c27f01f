"""What a join keeps of one of its inputs: for each key its rows, with how often there is one, and how many
partners.

A row is found by its unique key, where it has one, else by itself. It is kept as bytes, and read when it
meets somebody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from firesteel.common.columns import DELETE, UPDATE_BEFORE, Columns
from firesteel.sql.operators.aggregates import named_row_text
from firesteel.sql.operators.candidates import Candidates, HeldRows
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState
from firesteel.state.columns import CanonicalKey

__all__ = ["JoinSide"]

Array = np.ndarray[Any, Any]


class JoinSide:
    """
    :param unique: columns that make rows unique; None: rows may repeat.
    :param counts: whether the number of partners of a row is to be known.
    """

    def __init__(
        self,
        state: OperatorState,
        name: str,
        row: RowType,
        keys: Sequence[int],
        unique: Sequence[int] | None,
        counts: bool,
        ttl_ms: int,
    ) -> None:
        self.codec = RowCodec(row)
        self._counts = counts
        self._unique = None if unique is None else tuple(i for i in unique if i not in keys)
        self._id_codec = None
        if self._unique is not None:
            picked = self._unique
            self._id_codec = RowCodec(
                RowType.of([row.names[i] for i in picked], [row.types[i] for i in picked])
            )
        self._rows: MapsColumn = maps_state(state, name, self._shape(row), ttl_ms)

    def _shape(self, row: RowType) -> str:
        """What the entries mean: the bytes of a row say nothing of its columns."""
        found_by = "rows" if self._unique is None else f"unique by {list(self._unique)}"
        return f"{named_row_text(row)} -> {found_by}{', partners' if self._counts else ''}"

    def encode(self, rows: Columns) -> tuple[list[bytes], list[bytes]]:
        """The bodies of rows, and what they are found by."""
        bodies = self.codec.encode(rows)
        if self._id_codec is None:
            return bodies, bodies
        assert self._unique is not None
        return bodies, self._id_codec.encode(rows.with_arrays([rows.arrays[i] for i in self._unique]))

    # An entry is a number where rows may repeat and partners do not count, the row where it is unique and
    # they do not, else (row or None where it is the id, how often, partners).

    def candidates(self, keyed: KeyedRows, alone: Array) -> Candidates:
        """All pairs of the rows of a batch, but for those *alone*, and what is held for their keys."""
        segments = keyed.segments
        bodies: list[bytes] = []
        times: list[int] = []
        found_by = HeldRows(bodies, [], [], [])
        counts: list[int] = []
        apart = alone[segments.starts].tolist()
        repeats = self._unique is None
        found: list[Any] = self._rows.look(segments.names, segments.keys)
        for name, key, held, is_alone in zip(segments.names, segments.keys, found, apart, strict=True):
            if not held or is_alone:
                counts.append(0)
                continue
            counts.append(len(held))
            if not self._counts:
                bodies += held if repeats else held.values()
                times += held.values() if repeats else [1] * len(held)
                continue
            bodies += [inner if entry[0] is None else entry[0] for inner, entry in held.items()]
            times += [entry[1] for entry in held.values()]
            found_by.names.extend([name] * len(held))
            found_by.keys.extend([key] * len(held))
            found_by.ids.extend(held)
        arrays = self.codec.decode(bodies)
        return Candidates.of(
            segments, np.array(counts, np.int64), arrays, np.array(times, np.int64), found_by
        )

    def change_all(self, keyed: KeyedRows, alone: Array) -> None:
        """Add and take the rows of a batch, where partners do not count."""
        bodies, ids = self.encode(keyed.rows)
        kinds = keyed.rows.kinds
        segments = keyed.segments
        self._rows.learn(segments.keys, keyed.codes)
        backwards = None if kinds is None else (kinds == DELETE) | (kinds == UPDATE_BEFORE)
        if self._unique is None and (backwards is None or not backwards.any()):
            self._rows.count_up(segments.names, segments.keys, (segments.last + 1).tolist(), ids)
            return
        index = segments.index.tolist()
        names = [segments.names[i] for i in index]
        keys = [segments.keys[i] for i in index]
        back = [False] * len(bodies) if backwards is None else backwards.tolist()
        for row, is_back in enumerate(back):
            if is_back:
                self.take(names[row], keys[row], ids[row], bodies[row])
            else:
                self.add(names[row], keys[row], ids[row], bodies[row], 0)

    def add(self, name: Any, key: CanonicalKey, inner: bytes, body: bytes, partners: int) -> None:
        """Add a row that has so many partners."""
        held = self._rows.get(name, key, inner)
        entry: Any
        if self._unique is not None:
            entry = (body, 1, partners) if self._counts else body
        elif self._counts:
            entry = (None, 1 if held is None else held[1] + 1, partners)
        else:
            entry = (held or 0) + 1
        self._rows.put(name, inner, entry)

    def take(self, name: Any, key: CanonicalKey, inner: bytes, body: bytes) -> None:
        """Take a row back. One that is not there is passed over: its state may have expired."""
        held = self._rows.get(name, key, inner)
        if held is None:
            return
        count = 1 if type(held) is bytes else held[1] if self._counts else held
        if count == 1:
            self._rows.remove(name, inner)
        elif self._counts:
            self._rows.put(name, inner, (held[0], count - 1, held[2]))
        else:
            self._rows.put(name, inner, count - 1)

    def associate(self, name: Any, key: CanonicalKey, inner: bytes, step: int) -> int:
        """Change the number of partners of a row; how many it had before."""
        held = self._rows.get(name, key, inner)
        if held is None:
            return -1
        self._rows.put(name, inner, (held[0], held[1], held[2] + step))
        return int(held[2])
