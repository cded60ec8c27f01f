"""Top-N: the rows of each key between two ranks, in an order; LIMIT is one without an order.

The rows of a key are a sorted list. What a row changes in it, and so in the ranks behind, is what leaves.
(Flink: ``AppendOnlyTopNFunction``, ``RetractableTopNFunction``, ``FastTop1Function`` and
``UpdatableTopNFunction``.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, Columns, LateArrays, beside
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.kept_rows import KeptRows
from firesteel.sql.operators.kernels.numbers import from_numbers, objects
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.rank_changes import NOTHING, RankChanges
from firesteel.sql.operators.rank_rounds import MOST_ROWS, FirstRows
from firesteel.sql.operators.rank_state import Ranks, RanksForm
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.row_state import Field, rows_state
from firesteel.sql.operators.sort_keys import SortKeys
from firesteel.sql.operators.specs import Rank
from firesteel.sql.types import RowType

__all__ = ["RankOperator"]

Array = np.ndarray[Any, Any]
_NO_END = 1 << 62
_ADDS = (INSERT, UPDATE_AFTER)


class RankOperator(KeyedColumnsOperator):
    minds_time = False
    spec: Rank

    def __init__(self, program: OperatorProgram, spec: Rank) -> None:
        super().__init__(program, spec)
        if spec.function != "ROW_NUMBER":
            raise UnsupportedFeatureError(
                f"{spec.function}() on streaming table is not supported currently.", operator=program.name
            )
        self._sort_keys = SortKeys(spec.order, spec.input.types)
        self._keeps_all = spec.strategy == "retract"
        self._may_run_together = (
            spec.strategy == "append"
            and spec.start == 1
            and spec.end is not None
            and 0 < spec.end <= MOST_ROWS
            and spec.end_column is None
            and spec.output_number
        )
        self._unique = None
        if spec.strategy == "update_fast":
            names = [spec.input.names[i] for i in spec.upsert_key]
            self._unique = RowCodec(RowType.of(names, [spec.input.types[i] for i in spec.upsert_key]))

    def on_open(self) -> None:
        spec = self.spec
        made = RanksForm(spec.input, self._sort_keys, spec.strategy)
        field = Field("object", None)
        self._rows = rows_state(self.state, "rows", (field,), str(spec.input), spec.ttl_ms, made)
        form = self._rows.form
        assert isinstance(form, RanksForm)
        self._kept = form.kept

    def run(self, columns: Columns, input_index: int) -> None:
        spec = self.spec
        keyed = KeyedRows.of(columns, spec.keys, canonical=False)
        slots = self._rows.find(keyed.segments.names, keyed.codes)
        if self._may_run_together and self._run_together(keyed, slots):
            return
        batch = self._batch(columns)
        found: list[Ranks | None] = self._rows.fields[0][slots].tolist()
        touched = [ranks or batch.no_rows() for ranks in found]
        order: list[int] = keyed.order.tolist()
        stops = (keyed.segments.last + 1).tolist()
        of_keys = [
            (ranks, order[start:stop])
            for ranks, start, stop in zip(touched, keyed.segments.starts.tolist(), stops, strict=True)
        ]
        if self._keeps_all and columns.kinds is not None:
            batch.names = self._names(batch.sought(of_keys), columns)
        for ranks, rows in of_keys:
            batch.run(ranks, rows)
        self._emit(batch.changes, batch.first, columns)
        self._kept.append(columns.arrays, len(columns))
        full = np.array([bool(ranks.items) for ranks in touched], bool)
        self._rows.put(slots[full], [objects([ranks for ranks in touched if ranks.items])])
        self._rows.remove(slots[~full])

    def _run_together(self, keyed: KeyedRows, slots: Array) -> bool:
        """All keys at once; whether it could be done."""
        columns, kept, end = keyed.columns, self._kept, self.spec.end
        assert end is not None
        row_keys = self._sort_keys.numbers(columns.arrays)
        if row_keys is None or columns.kinds is not None:
            return False
        found: list[Ranks | None] = self._rows.fields[0][slots].tolist()
        touched = [ranks or Ranks([], [], None, 0) for ranks in found]
        try:
            rows = FirstRows(touched, end)
        except OverflowError:
            return False
        first, changes = len(kept), RankChanges(1, self.spec.generate_update_before)
        rows.insert(keyed.order, keyed.segments.starts, row_keys, first, changes)
        self._emit(changes, first, columns)
        new = columns.take_late(rows.kept(first))
        rows.put_back()
        kept.append(new.arrays, len(new))
        self._rows.put(slots, [objects(touched)])
        return True

    def _batch(self, columns: Columns) -> _Batch:
        spec, count = self.spec, len(columns)
        ids: Sequence[bytes] | None = None
        if self._unique is not None:
            ids = self._unique.encode(columns.with_arrays([columns.arrays[i] for i in spec.upsert_key]))
        return _Batch(
            spec,
            len(self._kept),
            self._sort_keys.of_columns(columns.arrays, count),
            ids,
            None if columns.kinds is None else columns.kinds.tolist(),
            None if spec.end_column is None else columns.arrays[spec.end_column].fill_null(0).to_pylist(),
        )

    def _names(self, sought: list[int], columns: Columns) -> _Names:
        kept = self._kept
        of_kept = kept.names(kept.take(np.array(sought, np.int64)), len(sought))
        own = kept.names(columns.arrays, len(columns))
        return _Names(len(kept), own, dict(zip(sought, of_kept, strict=True)))

    def _emit(self, changes: RankChanges, first: int, columns: Columns) -> None:
        items, kinds, ranks = changes.shown()
        if not len(items):
            return
        # Many rows leave for each that comes, so what they are is not looked up before somebody asks.
        arrays = _rows_of(items, first, columns, self._kept)
        if self.spec.output_number:
            number = self.spec.output.types[-1]
            arrays = beside(arrays, LateArrays(1, lambda _: from_numbers(ranks, None, number)))
        self.emit(Columns(arrays, len(items), kinds if kinds.any() else None))


def _rows_of(items: Array, first: int, columns: Columns, kept: KeptRows) -> LateArrays:
    """The columns of rows by their numbers: those of a batch, which begin at *first*, and those before."""
    is_old = items < first
    numbers = np.unique(items[is_old])
    held = kept.take_late(numbers)

    @cache
    def places() -> pa.Array:
        """Where each row is: in the batch, or in those that are held, which are behind it."""
        return pa.array(np.where(is_old, len(columns) + np.searchsorted(numbers, items), items - first))

    return LateArrays(
        len(columns.arrays), lambda i: pa.concat_arrays([columns.arrays[i], held[i]]).take(places())
    )


class _Names(NamedTuple):
    """The bytes of rows, for as long as a batch is worked on: equal rows have equal ones.

    :ivar first: the number of the first row of the batch, whose bytes are in ``own``.
    :ivar kept: those of rows that are kept, as far as they may be looked for.
    """

    first: int
    own: Sequence[bytes]
    kept: dict[int, bytes]

    def of(self, item: int) -> bytes:
        return self.own[item - self.first] if item >= self.first else self.kept[item]


class _Batch:
    """The rows of a batch, as they come among those of their keys.

    :param first: the number that the first row will have. :param keys: what rows are compared by.
    :param ids: what they are found by; None: by all that they are. :param kinds: None: all are INSERT.
    :param ends: how many rows count by each row; None: the program says it.
    """

    def __init__(
        self,
        spec: Rank,
        first: int,
        keys: list[Any],
        ids: Sequence[bytes] | None,
        kinds: list[int] | None,
        ends: list[int] | None,
    ) -> None:
        self.first = first
        self.changes = RankChanges(spec.start, spec.generate_update_before)
        self._keys = keys
        self._ids = ids
        self.names: _Names | None = None  # None: no row is looked for by all that it is
        self._kinds = kinds
        self._ends = ends
        self._end = _NO_END if spec.end is None else spec.end
        self._keeps_all = spec.strategy == "retract"
        self._is_unique = spec.strategy == "update_fast"
        self._replaces = spec.strategy == "append" and (spec.start, spec.end) == (1, 1)
        self._numbers = spec.output_number or spec.start > 1

    def no_rows(self) -> Ranks:
        return Ranks([], [], None if self._ids is None else [], 0)

    def sought(self, of_keys: list[tuple[Ranks, list[int]]]) -> list[int]:
        """The numbers of the rows that are there already and may be the ones that rows of the batch take
        away."""
        assert self._kinds is not None
        found: set[int] = set()
        for ranks, rows in of_keys:
            if ranks.items:
                for key in {self._keys[row] for row in rows if self._kinds[row] not in _ADDS}:
                    found.update(ranks.equal(key))
        return sorted(found)

    def run(self, ranks: Ranks, rows: list[int]) -> None:
        """Rows of one key, in order."""
        end = self._end
        if not self._keeps_all and self._ids is None and self._ends is None:
            self._run_inserts(ranks, rows, end)
            return
        for row in rows:
            if self._ends is not None:
                ranks.end = end = ranks.end or self._ends[row]
                if end <= 0:
                    continue
            if self._kinds is None or self._kinds[row] in _ADDS:
                self._add(ranks, row, end)
            else:
                self._take(ranks, row, end)

    def _run_inserts(self, ranks: Ranks, rows: list[int], end: int) -> None:  # hot
        """``_add`` for rows that are never looked for."""
        if not end:  # LIMIT 0
            return
        keys, held, items, first = self._keys, ranks.keys, ranks.items, self.first
        if self._numbers:
            self.changes.insert(rows, keys, first, items, held, end)
            return
        for row in rows:
            key = keys[row]
            count = len(held)
            if count < end or key < held[-1]:
                at = bisect_right(held, key)
                held.insert(at, key)
                items.insert(at, first + row)
                self._entered(items, at, end)
                if count >= end:
                    del held[count], items[count]

    def _add(self, ranks: Ranks, row: int, end: int) -> None:
        if self._is_unique:
            assert self._ids is not None
            assert ranks.ids is not None
            name = self._ids[row]
            if name in ranks.ids:
                self._update(ranks, ranks.ids.index(name), row, end)
                return
        if self._keeps_all or len(ranks.keys) < end or (end and self._keys[row] < ranks.keys[-1]):
            self._insert(ranks, row, end)

    def _insert(self, ranks: Ranks, row: int, end: int) -> None:
        at = self._placed(ranks, row)
        self._say(ranks.items, at, end)
        if len(ranks.items) > end and not self._keeps_all:
            ranks.remove(len(ranks.items) - 1)

    def _placed(self, ranks: Ranks, row: int) -> int:
        return ranks.insert(self._keys[row], None if self._ids is None else self._ids[row], self.first + row)

    def _say(self, items: list[int], at: int, end: int) -> None:  # hot
        """Say what it changes that a row has come to a place."""
        if at >= end:
            return
        if self._numbers:
            self.changes.move(items[at : end + 1], at, INSERT if len(items) <= end else NOTHING)
        else:
            self._entered(items, at, end)

    def _entered(self, items: list[int], at: int, end: int) -> None:
        """A row has come among the first: where only the first counts it replaces the one before."""
        full = len(items) > end
        if full and self._replaces:
            self.changes.replace(items[end], items[at], 1)
            return
        if full:
            self.changes.leave(items[end], end)
        self.changes.enter(items[at], at + 1)

    def _update(self, ranks: Ranks, old: int, row: int, end: int) -> None:
        """A row comes again with another place, or with other values."""
        before = ranks.items[old]
        ranks.remove(old)
        at = self._placed(ranks, row)
        items = ranks.items
        if not self._numbers:
            self.changes.replace(before, items[at], old + 1)
        elif at <= old:
            self.changes.move([*items[at : old + 1], before], at)
        else:
            self.changes.move([before, *items[old : at + 1]], old, backwards=True)

    def _found(self, ranks: Ranks, row: int) -> int:
        """The place of the row that this one takes away; -1: it is not there."""
        if self._ids is not None:
            assert ranks.ids is not None
            name = self._ids[row]
            return ranks.ids.index(name) if name in ranks.ids else -1
        assert self.names is not None
        return ranks.find(self._keys[row], self.names.own[row], self.names.of)

    def _take(self, ranks: Ranks, row: int, end: int) -> None:
        at = self._found(ranks, row)
        if at < 0:
            return
        item = ranks.items[at]
        ranks.remove(at)
        items = ranks.items
        if self._numbers:
            if at < end:
                gone = DELETE if len(items) < end else NOTHING
                self.changes.move([item, *items[at:end]], at, gone, backwards=True)
        elif at < end:
            self.changes.leave(item, at + 1)
            if len(items) >= end:
                self.changes.enter(items[end - 1], end)
