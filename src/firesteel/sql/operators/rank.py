"""Top-N: the rows of each key between two ranks, in an order; LIMIT is one without an order.

The rows of a key are a sorted list. What a row changes in it, and so in the ranks behind, is what leaves.
(Flink: ``AppendOnlyTopNFunction``, ``RetractableTopNFunction``, ``FastTop1Function`` and
``UpdatableTopNFunction``.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.kernels.numbers import from_numbers, objects
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.row_state import Field, rows_state
from firesteel.sql.operators.sort_keys import sort_key
from firesteel.sql.operators.specs import Rank
from firesteel.sql.types import RowType

__all__ = ["RankOperator"]

_NO_END = 1 << 62


class _Ranks:
    """The rows of one key, in order."""

    __slots__ = ("bodies", "end", "ids", "keys")

    def __init__(self, held: Any, key_of: Any) -> None:
        self.bodies: list[bytes] = [] if held is None else list(held[0])
        self.ids: list[bytes] = [] if held is None else list(held[1])
        self.end = 0 if held is None else held[2]
        self.keys: list[Any] = [key_of(body) for body in self.bodies]

    def insert(self, key: Any, name: bytes, body: bytes) -> int:
        """Insert a row behind those that are equal; its place."""
        at = bisect_right(self.keys, key)
        self.keys.insert(at, key)
        self.ids.insert(at, name)
        self.bodies.insert(at, body)
        return at

    def remove(self, at: int) -> None:
        del self.keys[at], self.ids[at], self.bodies[at]

    def find(self, key: Any, name: bytes) -> int:
        """The place of a row; -1: it is not there."""
        at = bisect_left(self.keys, key)
        while at < len(self.keys) and self.keys[at] == key:
            if self.ids[at] == name:
                return at
            at += 1
        return -1

    def packed(self) -> Any:
        return (tuple(self.bodies), tuple(self.ids), self.end)


class RankOperator(KeyedColumnsOperator):
    minds_time = False
    spec: Rank

    def __init__(self, program: OperatorProgram, spec: Rank) -> None:
        super().__init__(program, spec)
        if spec.function != "ROW_NUMBER":
            raise UnsupportedFeatureError(
                f"{spec.function}() on streaming table is not supported currently.", operator=program.name
            )
        self._codec = RowCodec(spec.input)
        key, codec = sort_key(spec.order), self._codec
        self._key_of = lambda body: key(codec.values(body))
        self._unique = None
        if spec.strategy == "update_fast":
            names = [spec.input.names[i] for i in spec.upsert_key]
            self._unique = RowCodec(RowType.of(names, [spec.input.types[i] for i in spec.upsert_key]))

    def on_open(self) -> None:
        shape = str(self.spec.input)
        self._rows = rows_state(self.state, "rows", (Field("object", None),), shape, self.spec.ttl_ms)

    def run(self, columns: Columns, input_index: int) -> None:
        spec = self.spec
        keyed = KeyedRows.of(columns, spec.keys)
        rows, segments = keyed.rows, keyed.segments
        slots = self._rows.find(list(segments.names), keyed.codes)
        bodies = self._codec.encode(rows)
        ids = bodies
        if self._unique is not None:
            ids = self._unique.encode(rows.with_arrays([rows.arrays[i] for i in spec.upsert_key]))
        kinds = rows.kinds_or_inserts().tolist()
        ends = None if spec.end_column is None else rows.arrays[spec.end_column].to_pylist()
        out = _Changes(spec)
        stays: list[Any] = []
        stops = (segments.last + 1).tolist()
        held_rows = self._rows.fields[0]
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            ranks = _Ranks(held_rows[slots[i]], self._key_of)
            for row in range(start, stop):
                if ends is not None:
                    ranks.end = ends[row] if not ranks.end else ranks.end
                end = ranks.end if ends is not None else (_NO_END if spec.end is None else spec.end)
                key = self._key_of(bodies[row])
                if kinds[row] in (INSERT, UPDATE_AFTER):
                    self._add(ranks, key, ids[row], bodies[row], end, out)
                else:
                    self._take(ranks, key, ids[row], end, out)
            stays.append(ranks.packed())
        full = np.array([bool(held[0]) for held in stays], bool)
        self._rows.put(slots[full], [objects([held for held in stays if held[0]])])
        self._rows.remove(slots[~full])
        self._emit(out)

    def _add(self, ranks: _Ranks, key: Any, name: bytes, body: bytes, end: int, out: _Changes) -> None:
        if self._unique is not None:
            old = next((i for i, other in enumerate(ranks.ids) if other == name), -1)
            if old >= 0:
                self._update(ranks, old, key, name, body, end, out)
                return
        keeps_all = self.spec.strategy == "retract"
        if not keeps_all and len(ranks.keys) >= end and not key < ranks.keys[-1]:
            return
        at = ranks.insert(key, name, body)
        if out.numbers:
            out.shift_in(ranks, at, end)
        elif at < end:
            if len(ranks.bodies) > end:
                out.leave(ranks.bodies[end], end)
            out.enter(body, at + 1)
        if not keeps_all and len(ranks.keys) > end:
            ranks.remove(len(ranks.keys) - 1)

    def _update(
        self, ranks: _Ranks, old: int, key: Any, name: bytes, body: bytes, end: int, out: _Changes
    ) -> None:
        """A row comes again with another place, or with other values."""
        before = ranks.bodies[old]
        ranks.remove(old)
        at = ranks.insert(key, name, body)
        if not out.numbers:
            out.replace(before, body, old + 1)
            return
        low, high = min(old, at), max(old, at)
        was = list(ranks.bodies)
        del was[at]
        was.insert(old, before)
        for place in range(low, min(high + 1, end)):
            out.replace(was[place], ranks.bodies[place], place + 1)

    def _take(self, ranks: _Ranks, key: Any, name: bytes, end: int, out: _Changes) -> None:
        at = ranks.find(key, name)
        if at < 0:
            return
        body = ranks.bodies[at]
        ranks.remove(at)
        if out.numbers:
            out.shift_out(ranks, at, body, end)
        elif at < end:
            out.leave(body, at + 1)
            if len(ranks.bodies) >= end:
                out.enter(ranks.bodies[end - 1], end)

    def _emit(self, out: _Changes) -> None:
        if not out.kinds:
            return
        arrays = self._codec.decode(out.bodies)
        if self.spec.output_number:
            arrays.append(from_numbers(np.array(out.places, np.int64), None, self.spec.output.types[-1]))
        kinds = np.array(out.kinds, np.int8)
        self.emit(Columns(arrays, len(out.kinds), kinds if kinds.any() else None))


class _Changes:
    """What leaves, with ranks; those outside of the range do not."""

    def __init__(self, spec: Rank) -> None:
        self.numbers = spec.output_number or spec.start > 1
        self._start = spec.start
        self._before = spec.generate_update_before
        self.kinds: list[int] = []
        self.bodies: list[bytes] = []
        self.places: list[int] = []

    def _say(self, kind: int, body: bytes, rank: int) -> None:
        if rank >= self._start:
            self.kinds.append(kind)
            self.bodies.append(body)
            self.places.append(rank)

    def enter(self, body: bytes, rank: int) -> None:
        self._say(INSERT, body, rank)

    def leave(self, body: bytes, rank: int) -> None:
        self._say(DELETE, body, rank)

    def replace(self, before: bytes, after: bytes, rank: int) -> None:
        if self._before:
            self._say(UPDATE_BEFORE, before, rank)
        self._say(UPDATE_AFTER, after, rank)

    def shift_in(self, ranks: _Ranks, at: int, end: int) -> None:
        """A row has come to a place: those behind it move on by one."""
        bodies = ranks.bodies
        last = len(bodies) - 1
        for place in range(at, min(last, end)):
            self.replace(bodies[place + 1], bodies[place], place + 1)
        if last < end:
            self.enter(bodies[last], last + 1)

    def shift_out(self, ranks: _Ranks, at: int, gone: bytes, end: int) -> None:
        """A row has left its place: those behind it move up."""
        bodies = ranks.bodies
        before = gone
        for place in range(at, min(len(bodies), end)):
            self.replace(before, bodies[place], place + 1)
            before = bodies[place]
        if len(bodies) < end and at <= len(bodies):
            self.leave(before, len(bodies) + 1)
