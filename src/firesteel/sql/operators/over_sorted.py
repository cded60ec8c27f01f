"""OVER by columns that are no time attribute: a changelog in, a changelog out.

The rows of a key are kept in order. One that comes or goes changes the results of those behind it. (Flink:
``NonTimeRowsUnboundedPrecedingFunction``, ``NonTimeRangeUnboundedPrecedingFunction``.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns
from firesteel.sql.expressions import Ordering
from firesteel.sql.operators.base import arrow_types
from firesteel.sql.operators.frames import Placed
from firesteel.sql.operators.ordering import order_codes
from firesteel.sql.operators.timed_rows import TimedRows, names_of
from firesteel.state.column_keys import group_rows, row_arrays, row_values

if TYPE_CHECKING:
    from firesteel.sql.operators.over import OverOperator

__all__ = ["SortedWay"]

Array = np.ndarray[Any, Any]
_ALL = 0  # the time under which the rows of a key are kept, in order
Rows = list[tuple[Any, ...]]


class SortedWay:
    def __init__(self, operator: OverOperator) -> None:
        self.operator = operator
        spec = self.spec = operator.spec
        self._rows = TimedRows(operator.state, "rows", spec.input, operator.shape, spec.ttl_ms)
        self._frames = operator.frames()
        self._width = len(spec.input.fields)
        self._types = arrow_types(spec.output)

    def begin(self) -> None:
        self._rows.refresh()

    def advance(self, watermark: int) -> None: ...

    def tick(self, now_ms: int) -> None: ...

    def next_timer_ms(self) -> int | None:
        return None

    def end(self) -> None: ...

    def finish(self) -> None: ...

    def run(self, columns: Columns) -> None:
        keys = self.operator.key_columns(columns, self.spec.keys)
        if keys:
            groups = group_rows(keys, len(columns))
        else:
            groups = group_rows([pa.array(np.zeros(len(columns), np.int64))], len(columns))
        first = pa.array(groups.first)
        names, canonical = names_of([k.take(first) for k in keys], groups.count)
        rows = row_values(columns.arrays, len(columns))
        kinds = columns.kinds_or_inserts().tolist()
        held = [_Key(self, self._rows.at(n, k, _ALL)) for n, k in zip(names, canonical, strict=True)]
        out: list[tuple[int, tuple[Any, ...]]] = []
        for owner, kind, row in zip(groups.codes.tolist(), kinds, rows, strict=True):
            held[owner].change(kind, row, out)
        for name, key, of_key in zip(names, canonical, held, strict=True):
            self._rows.set(name, key, _ALL, of_key.rows)
        if out:
            changed = np.array([kind for kind, _ in out], np.int8)
            arrays = row_arrays([row for _, row in out], self._types)
            self.operator.emit(Columns(arrays, len(out), changed if changed.any() else None))

    def results(self, rows: Rows) -> Rows:
        """The values of all calls for the rows of one key, which are in order."""
        if not rows:
            return []
        columns = self._rows.columns(rows)
        places = np.zeros(len(rows), np.int64)
        for ordering in self.spec.order:
            codes = order_codes(columns.arrays[ordering.index], ordering)
            places = np.cumsum(np.append(True, (codes[1:] != codes[:-1]) | (np.diff(places) != 0)))
        placed = Placed.of(np.zeros(len(rows), np.int64), places)
        made = self._frames.results(columns, placed, places, np.arange(len(rows)))
        return row_values(made, len(rows))

    def counts(self, row: tuple[Any, ...]) -> bool:
        """Whether a row of a range changes an accumulator that holds more than the result, as AVG's does."""
        return not self.spec.rows and any(
            call.function in _MORE_THAN_THE_RESULT
            and all(row[argument] is not None for argument in call.arguments)
            and (call.filter is None or bool(row[call.filter]))
            for call in self.spec.calls
        )

    @functools.cached_property
    def compare(self) -> Callable[[tuple[Any, ...], tuple[Any, ...]], int]:
        """Whether a row comes before another one (below 0), behind it (above 0), or beside it."""
        return comparison(self.spec.order, self._rows.types)


_MORE_THAN_THE_RESULT: Final = frozenset(("AVG", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP"))


class _Key:
    """The rows of one key while a batch is worked on."""

    def __init__(self, way: SortedWay, rows: Sequence[tuple[Any, ...]]) -> None:
        self._way = way
        self.rows: Rows = list(rows)
        self._results = way.results(self.rows)

    def change(self, kind: int, row: tuple[Any, ...], out: list[tuple[int, tuple[Any, ...]]]) -> None:
        if kind in (INSERT, UPDATE_AFTER):
            self._insert(kind, row, out)
        else:
            self._remove(row, out)

    def _insert(self, kind: int, row: tuple[Any, ...], out: list[tuple[int, tuple[Any, ...]]]) -> None:
        compare = self._way.compare
        at = len(self.rows)
        while at and compare(self.rows[at - 1], row) > 0:
            at -= 1
        before = self._results
        self.rows.insert(at, row)
        after = self._way.results(self.rows)
        counted = self._way.counts(row)
        first = self._first_peer(row, at)
        self._updates(0, first, before, after, 0, False, out)
        self._updates(first, at, before, after, 0, counted, out)  # peers, whose range has grown
        out.append((kind, row + after[at]))
        self._updates(at + 1, len(self.rows), before, after, -1, counted, out)
        self._results = after

    def _remove(self, row: tuple[Any, ...], out: list[tuple[int, tuple[Any, ...]]]) -> None:
        try:
            at = self.rows.index(row)
        except ValueError:
            return  # never seen here, or expired
        before = self._results
        out.append((DELETE, row + before[at]))
        del self.rows[at]
        after = self._way.results(self.rows)
        counted = self._way.counts(row)
        first = self._first_peer(row, at)
        self._updates(0, first, before, after, 0, False, out)
        self._updates(first, at, before, after, 0, counted, out)
        self._updates(at, len(self.rows), before, after, 1, counted, out)
        self._results = after

    def _first_peer(self, row: tuple[Any, ...], at: int) -> int:
        """Where the rows that stand beside *row* begin, before *at*."""
        while at and self._way.compare(self.rows[at - 1], row) == 0:
            at -= 1
        return at

    def _updates(
        self,
        start: int,
        stop: int,
        before: Rows,
        after: Rows,
        shift: int,
        counted: bool,
        out: list[tuple[int, tuple[Any, ...]]],
    ) -> None:
        """What changed of the rows from *start* to *stop*; ``before`` has them *shift* places further.

        Of a frame of rows all that stand behind the change are told of, whether their results differ or not;
        of a range those whose accumulators differ (*counted*).
        """
        with_old = self._way.spec.generate_update_before
        every = counted or (self._way.spec.rows and shift != 0)
        for i in range(start, stop):
            old, new = before[i + shift], after[i]
            if every or old != new:
                if with_old:
                    out.append((UPDATE_BEFORE, self.rows[i] + old))
                out.append((UPDATE_AFTER, self.rows[i] + new))


def comparison(
    order: Sequence[Ordering], types: Sequence[pa.DataType]
) -> Callable[[tuple[Any, ...], tuple[Any, ...]], int]:
    """Compare rows (``row_values``) by ORDER BY."""

    def compare(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
        for ordering in order:
            a, b = one[ordering.index], other[ordering.index]
            if a == b:
                continue
            if a is None or b is None:
                return -1 if (a is None) == ordering.nulls_first else 1
            codes = order_codes(pa.concat_arrays(row_arrays([(a,), (b,)], [types[ordering.index]])), ordering)
            if codes[0] != codes[1]:
                return -1 if codes[0] < codes[1] else 1
        return 0

    return compare
