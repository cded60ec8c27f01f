"""Top-N: the rows of each key between two ranks, in an order; LIMIT is one without an order.

The rows of a key are a sorted list. What a row changes in it, and so in the ranks behind, is what leaves.
(Flink: ``AppendOnlyTopNFunction``, ``RetractableTopNFunction``, ``FastTop1Function`` and
``UpdatableTopNFunction``.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.kernels.numbers import from_numbers, objects
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.row_state import Field, rows_state
from firesteel.sql.operators.sort_keys import SortKeys
from firesteel.sql.operators.specs import Rank
from firesteel.sql.types import RowType

__all__ = ["RankOperator"]

_NO_END = 1 << 62

#: A row: as bytes, or while its batch is worked on by its number there.
Item = bytes | int


class _Ranks:
    """The rows of one key, in order; it lives in the state, and is stored as ``packed``."""

    __slots__ = ("end", "ids", "items", "keys")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.ids: list[bytes] = []  # what rows are found by; none where they are never looked for
        self.keys: list[Any] = []
        self.end = 0

    @classmethod
    def unpacked(cls, stored: Any, key_of: Any) -> _Ranks:
        ranks = cls()
        ranks.items, ranks.ids, ranks.end = list(stored[0]), list(stored[1]), stored[2]
        ranks.keys = [key_of(item) for item in ranks.items]
        return ranks

    def insert(self, key: Any, name: bytes | None, item: Item) -> int:
        """Insert a row behind those that are equal; its place."""
        at = bisect_right(self.keys, key)
        self.keys.insert(at, key)
        self.items.insert(at, item)
        if name is not None:
            self.ids.insert(at, name)
        return at

    def remove(self, at: int) -> None:
        del self.keys[at], self.items[at]
        if self.ids:
            del self.ids[at]

    def find(self, key: Any, name: bytes) -> int:
        """The place of a row; -1: it is not there."""
        at = bisect_left(self.keys, key)
        while at < len(self.keys) and self.keys[at] == key:
            if self.ids[at] == name:
                return at
            at += 1
        return -1

    def packed(self) -> Any:
        return tuple(self.items), tuple(self.ids), self.end


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
        self._sort_keys = SortKeys(spec.order, spec.input.types)
        self._appends = spec.strategy == "append"
        self._replaces = self._appends and (spec.start, spec.end) == (1, 1)
        self._unique = None
        if spec.strategy == "update_fast":
            names = [spec.input.names[i] for i in spec.upsert_key]
            self._unique = RowCodec(RowType.of(names, [spec.input.types[i] for i in spec.upsert_key]))

    def on_open(self) -> None:
        def unpack(stored: Any) -> _Ranks:
            return _Ranks.unpacked(stored, lambda item: keys.of_values(codec.values(item)))

        keys, codec = self._sort_keys, self._codec
        field = Field("object", None, encode=_Ranks.packed, decode=unpack)
        self._rows = rows_state(self.state, "rows", (field,), str(self.spec.input), self.spec.ttl_ms)

    def run(self, columns: Columns, input_index: int) -> None:
        spec = self.spec
        keyed = KeyedRows.of(columns, spec.keys, canonical=False)
        rows, segments = keyed.rows, keyed.segments
        slots = self._rows.find(segments.names, keyed.codes)
        keys = self._sort_keys.of_columns(rows.arrays, len(rows))
        items: Sequence[Item] = range(len(rows)) if self._appends else self._codec.encode(rows)
        ids: Sequence[Any] = items
        if self._appends:
            ids = [None] * len(rows)
        elif self._unique is not None:
            ids = self._unique.encode(rows.with_arrays([rows.arrays[i] for i in spec.upsert_key]))
        kinds = rows.kinds_or_inserts().tolist()
        ends = None if spec.end_column is None else rows.arrays[spec.end_column].to_pylist()
        out = _Changes(spec)
        touched: list[_Ranks] = []
        stops = (segments.last + 1).tolist()
        held_rows = self._rows.fields[0]
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            ranks = held_rows[slots[i]] or _Ranks()
            end = _NO_END if spec.end is None else spec.end
            for row in range(start, stop):
                if ends is not None:
                    ranks.end = end = ranks.end or ends[row]
                if kinds[row] in (INSERT, UPDATE_AFTER):
                    self._add(ranks, keys[row], ids[row], items[row], end, out)
                else:
                    self._take(ranks, keys[row], ids[row], end, out)
            touched.append(ranks)
        self._emit(out, rows)
        if self._appends:
            self._settle(touched, rows)
        full = np.array([bool(ranks.items) for ranks in touched], bool)
        self._rows.put(slots[full], [objects([ranks for ranks in touched if ranks.items])])
        self._rows.remove(slots[~full])

    def _settle(self, touched: list[_Ranks], rows: Columns) -> None:
        """Rows that are still there when their batch is over become bytes."""
        new = [item for ranks in touched for item in ranks.items if type(item) is int]
        if new:
            bodies = dict(zip(new, self._codec.encode(rows.take(np.array(new, np.int64))), strict=True))
            for ranks in touched:
                ranks.items = [bodies[item] if type(item) is int else item for item in ranks.items]

    def _add(self, ranks: _Ranks, key: Any, name: Any, item: Item, end: int, out: _Changes) -> None:
        if self._unique is not None:
            old = next((i for i, other in enumerate(ranks.ids) if other == name), -1)
            if old >= 0:
                self._update(ranks, old, key, name, item, end, out)
                return
        keeps_all = self.spec.strategy == "retract"
        if not keeps_all and len(ranks.keys) >= end and not key < ranks.keys[-1]:
            return
        at = ranks.insert(key, name, item)
        if out.numbers:
            out.shift_in(ranks, at, end)
        elif at < end:
            self._entered(ranks, at, end, out)
        if not keeps_all and len(ranks.keys) > end:
            ranks.remove(len(ranks.keys) - 1)

    def _entered(self, ranks: _Ranks, at: int, end: int, out: _Changes) -> None:
        """A row has come among the first: where only the first counts it replaces the one before."""
        full = len(ranks.items) > end
        if full and self._replaces:
            out.replace(ranks.items[end], ranks.items[at], 1)
            return
        if full:
            out.leave(ranks.items[end], end)
        out.enter(ranks.items[at], at + 1)

    def _update(
        self, ranks: _Ranks, old: int, key: Any, name: Any, body: Item, end: int, out: _Changes
    ) -> None:
        """A row comes again with another place, or with other values."""
        before = ranks.items[old]
        ranks.remove(old)
        at = ranks.insert(key, name, body)
        if not out.numbers:
            out.replace(before, body, old + 1)
            return
        low, high = min(old, at), max(old, at)
        was = list(ranks.items)
        del was[at]
        was.insert(old, before)
        for place in range(low, min(high + 1, end)):
            out.replace(was[place], ranks.items[place], place + 1)

    def _take(self, ranks: _Ranks, key: Any, name: bytes, end: int, out: _Changes) -> None:
        at = ranks.find(key, name)
        if at < 0:
            return
        body = ranks.items[at]
        ranks.remove(at)
        if out.numbers:
            out.shift_out(ranks, at, body, end)
        elif at < end:
            out.leave(body, at + 1)
            if len(ranks.items) >= end:
                out.enter(ranks.items[end - 1], end)

    def _emit(self, out: _Changes, rows: Columns) -> None:
        if not out.kinds:
            return
        numbers: dict[bytes, int] = {}  # of the rows that are bytes, behind those of the batch
        first = len(rows)
        places = [
            item if isinstance(item, int) else first + numbers.setdefault(item, len(numbers))
            for item in out.items
        ]
        held = self._codec.decode(list(numbers))
        at = pa.array(places, pa.int64())
        arrays = [pa.concat_arrays([a, b]).take(at) for a, b in zip(rows.arrays, held, strict=True)]
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
        self.items: list[Item] = []
        self.places: list[int] = []

    def _say(self, kind: int, body: Item, rank: int) -> None:
        if rank >= self._start:
            self.kinds.append(kind)
            self.items.append(body)
            self.places.append(rank)

    def enter(self, body: Item, rank: int) -> None:
        self._say(INSERT, body, rank)

    def leave(self, body: Item, rank: int) -> None:
        self._say(DELETE, body, rank)

    def replace(self, before: Item, after: Item, rank: int) -> None:
        if self._before:
            self._say(UPDATE_BEFORE, before, rank)
        self._say(UPDATE_AFTER, after, rank)

    def shift_in(self, ranks: _Ranks, at: int, end: int) -> None:  # hot
        """A row has come to a place: those behind it move on by one."""
        items = ranks.items
        last = len(items) - 1
        stop = min(last, end)
        first = max(at, self._start - 1)
        if first < stop:
            moved: list[Item] = items[first:stop]
            numbers = range(first + 1, stop + 1)
            if self._before:
                count = 2 * len(moved)
                both: list[Item] = [b""] * count
                both[::2], both[1::2] = items[first + 1 : stop + 1], moved
                twice = [0] * count
                twice[::2] = twice[1::2] = numbers
                self.items += both
                self.kinds += [UPDATE_BEFORE, UPDATE_AFTER] * len(moved)
                self.places += twice
            else:
                self.items += moved
                self.kinds += [UPDATE_AFTER] * len(moved)
                self.places += numbers
        if last < end:
            self.enter(items[last], last + 1)

    def shift_out(self, ranks: _Ranks, at: int, gone: Item, end: int) -> None:
        """A row has left its place: those behind it move up."""
        bodies = ranks.items
        before = gone
        for place in range(at, min(len(bodies), end)):
            self.replace(before, bodies[place], place + 1)
            before = bodies[place]
        if len(bodies) < end and at <= len(bodies):
            self.leave(before, len(bodies) + 1)
