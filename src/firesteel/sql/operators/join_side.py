"""What a join keeps of one of its inputs: for each key its rows, with how often there is one, and how many
partners.

A row is found by its unique key, where it has one, else by itself. It is kept as bytes, and read when it
meets somebody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from firesteel.common.columns import DELETE, UPDATE_BEFORE, Columns
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState
from firesteel.state.columns import CanonicalKey

__all__ = ["Candidates", "JoinSide"]

Array = np.ndarray[Any, Any]


class Candidates(NamedTuple):
    """Pairs of a row of a batch and a row that is held for its key.

    :ivar rows: the rows of the batch. :ivar bodies: the held ones. :ivar times: how often each of these is
    there. :ivar names, keys, ids: where they are.
    """

    rows: Array
    bodies: list[bytes]
    times: Array
    names: list[Any]
    keys: list[CanonicalKey]
    ids: list[bytes]


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
        self._rows: MapsColumn = maps_state(state, name, ttl_ms=ttl_ms)

    def encode(self, rows: Columns) -> tuple[list[bytes], list[bytes]]:
        """The bodies of rows, and what they are found by."""
        bodies = self.codec.encode(rows)
        if self._id_codec is None:
            return bodies, bodies
        assert self._unique is not None
        return bodies, self._id_codec.encode(rows.with_arrays([rows.arrays[i] for i in self._unique]))

    # An entry is (body or None where it is the id, how often, partners).

    def candidates(self, segments: Segments, alone: Array) -> Candidates:
        """All pairs of the rows of a batch, but for those *alone*, and what is held for their keys."""
        rows: list[int] = []
        bodies: list[bytes] = []
        times: list[int] = []
        names: list[Any] = []
        keys: list[CanonicalKey] = []
        ids: list[bytes] = []
        stops = (segments.last + 1).tolist()
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            if alone[start]:
                continue
            name, key = segments.names[i], segments.keys[i]
            held: Any = self._rows.of(name, key)
            if not held:
                continue
            count = len(held)
            mine = [inner if entry[0] is None else entry[0] for inner, entry in held.items()]
            often = [entry[1] for entry in held.values()]
            for row in range(start, stop):
                rows += [row] * count
                bodies += mine
                times += often
            if self._counts:
                length = stop - start
                names += [name] * (count * length)
                keys += [key] * (count * length)
                ids += list(held) * length
        return Candidates(np.array(rows, np.int64), bodies, np.array(times, np.int64), names, keys, ids)

    def change_all(self, keyed: KeyedRows) -> None:
        """Add and take the rows of a batch, where partners do not count."""
        bodies, ids = self.encode(keyed.rows)
        kinds = keyed.rows.kinds
        segments = keyed.segments
        index = segments.index.tolist()
        if kinds is None:
            backwards = [False] * len(bodies)
        else:
            backwards = ((kinds == DELETE) | (kinds == UPDATE_BEFORE)).tolist()
        for row, back in enumerate(backwards):
            name, key = segments.names[index[row]], segments.keys[index[row]]
            if back:
                self.take(name, key, ids[row], bodies[row])
            else:
                self.add(name, key, ids[row], bodies[row], 0)

    def add(self, name: Any, key: CanonicalKey, inner: bytes, body: bytes, partners: int) -> None:
        """Add a row that has so many partners."""
        if self._unique is not None:
            self._rows.get(name, key, inner)
            self._rows.put(name, inner, (body, 1, partners))
            return
        held = self._rows.get(name, key, inner)
        self._rows.put(name, inner, (None, 1 if held is None else held[1] + 1, partners))

    def take(self, name: Any, key: CanonicalKey, inner: bytes, body: bytes) -> None:
        """Take a row back. One that is not there is passed over: its state may have expired."""
        held = self._rows.get(name, key, inner)
        if held is None:
            return
        if held[1] > 1:
            self._rows.put(name, inner, (held[0], held[1] - 1, held[2]))
        else:
            self._rows.remove(name, inner)

    def associate(self, name: Any, key: CanonicalKey, inner: bytes, step: int) -> int:
        """Change the number of partners of a row; how many it had before."""
        held = self._rows.get(name, key, inner)
        if held is None:
            return -1
        self._rows.put(name, inner, (held[0], held[1], held[2] + step))
        return int(held[2])
