"""Calls over frames of rows that are sorted by key: aggregates of each row's frame, and functions of a row's
place among the rows of its key.

Aggregates run over all frames at once: the rows of each are laid out one frame after another, so a frame is a
segment for the kernels. Frames that begin with their key's first row are one scan instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql.arrow import arrow_type
from firesteel.sql.expressions import AggregateCall
from firesteel.sql.operators.aggregates import Aggregates
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.types import RowType
from firesteel.state.column_keys import group_rows

__all__ = ["Frames", "Placed", "is_of_place", "offset_of"]

Array = np.ndarray[Any, Any]
_MOST_AT_ONCE: Final = 1 << 21  # rows of frames that are laid out together


class Placed(NamedTuple):
    """Rows sorted by key and order.

    :ivar starts: for each row the first row of its key. :ivar stops: the row after the last one of its key.
    :ivar peers: for each row the number of its first peer: a row that is equal in order. :ivar last_peers:
    the row
        after its last peer.
    """

    starts: Array
    stops: Array
    peers: Array
    last_peers: Array

    @staticmethod
    def of(keys: Array, order: Array) -> Placed:
        """:param keys: a number for the key of each row. :param order: one for its place in order."""
        count = len(keys)
        new_key = np.ones(count, bool)
        new_key[1:] = keys[1:] != keys[:-1]
        new_peer = new_key.copy()
        new_peer[1:] |= order[1:] != order[:-1]
        return Placed(*_bounds(new_key), *_bounds(new_peer))


def _bounds(begins: Array) -> tuple[Array, Array]:
    first = np.flatnonzero(begins)
    index = np.cumsum(begins) - 1
    return first[index], np.append(first[1:], len(begins))[index]


# ---- functions of a row's place


def offset_of(call: AggregateCall) -> int:
    """How many rows LAG and LEAD look back or on."""
    return int(call.literals[0].value) if call.literals else 1


def _shifted(call: AggregateCall, rows: Columns, placed: Placed, step: int) -> pa.Array:
    wanted = np.arange(len(rows)) + step * offset_of(call)
    outside = (wanted < placed.starts) | (wanted >= placed.stops)
    found = rows.arrays[call.arguments[0]].take(pa.array(np.where(outside, 0, wanted), mask=outside))
    if len(call.literals) > 1 and call.literals[1].value is not None:
        default = pa.array([call.literals[1].value], found.type)
    elif len(call.arguments) > 1:
        default = rows.arrays[call.arguments[1]]
        return pa.compute.if_else(pa.array(outside), default, found).cast(arrow_type(call.type))
    else:
        return found.cast(arrow_type(call.type))
    return pa.compute.if_else(pa.array(outside), default[0], found).cast(arrow_type(call.type))


def _ntile(call: AggregateCall, rows: Columns, placed: Placed) -> pa.Array:
    tiles = int(rows.arrays[call.arguments[0]][0].as_py()) if call.arguments else offset_of(call)
    size, at = placed.stops - placed.starts, np.arange(len(rows)) - placed.starts
    small, larger = size // tiles, size % tiles
    edge = larger * (small + 1)
    late = larger + (at - edge) // np.maximum(small, 1)
    return pa.array(np.where(at < edge, at // (small + 1), late) + 1)


def _numbers(of: Callable[[Placed, Array], Array]) -> Callable[[AggregateCall, Columns, Placed], pa.Array]:
    return lambda call, rows, placed: pa.array(of(placed, np.arange(len(rows))))


def _dense(placed: Placed, at: Array) -> Array:
    fresh = np.cumsum(placed.peers == at)
    ranks: Array = fresh - fresh[placed.starts] + 1
    return ranks


def _percent(placed: Placed, at: Array) -> Array:
    size = placed.stops - placed.starts
    return np.where(size > 1, (placed.peers - placed.starts) / np.maximum(size - 1, 1), 0.0)


_OF_PLACE: Final[dict[str, Callable[[AggregateCall, Columns, Placed], pa.Array]]] = {
    "ROW_NUMBER": _numbers(lambda placed, at: at - placed.starts + 1),
    "RANK": _numbers(lambda placed, at: placed.peers - placed.starts + 1),
    "DENSE_RANK": _numbers(_dense),
    "PERCENT_RANK": _numbers(_percent),
    "CUME_DIST": _numbers(lambda p, at: (p.last_peers - p.starts) / (p.stops - p.starts)),
    "NTILE": _ntile,
    "LAG": lambda call, rows, placed: _shifted(call, rows, placed, -1),
    "LEAD": lambda call, rows, placed: _shifted(call, rows, placed, 1),
}


def is_of_place(call: AggregateCall) -> bool:
    """Whether a call is about a row's place, and has no frame."""
    return call.function.upper() in _OF_PLACE


# ---- aggregates of frames


class Frames:
    """Some calls over one frame.

    :param rows: the frame counts rows; else it is a range of what orders them.
    :param preceding: how far it reaches back; None: to the first row of the key. :param following: how far
        on.
    """

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        row: RowType,
        functions: Mapping[str, Any],
        *,
        rows: bool,
        preceding: int | None,
        following: int | None,
        operator: str,
    ) -> None:
        self._calls = tuple(calls)
        self._is_rows, self._preceding, self._following = rows, preceding, following
        plain = [c for c in calls if not is_of_place(c) and not c.distinct]
        self._plain = Aggregates(plain, row, False, functions) if plain else None
        self._distinct = {
            i: Aggregates([replace(c, distinct=False)], row, False, functions)
            for i, c in enumerate(calls)
            if c.distinct and not is_of_place(c)
        }
        if any(of is not None and of.keeps_more for of in (self._plain, *self._distinct.values())):
            raise UnsupportedFeatureError(
                "This aggregate cannot run over frames of rows.",
                operator=operator,
                detail=", ".join(c.function for c in calls),
                hint="use a frame from UNBOUNDED PRECEDING to CURRENT ROW",
            )

    def bounds(self, placed: Placed, values: Array) -> tuple[Array, Array]:
        """The first row of each frame, and the row after its last.

        :param values: what orders rows, for a range; only distances between them matter.
        """
        at = np.arange(len(placed.starts))
        if self._is_rows:
            low, high = placed.starts, placed.stops
            if self._preceding is not None:
                low = np.maximum(low, at - self._preceding)
            if self._following is not None:
                high = np.minimum(high, at + self._following + 1)
            return low, np.maximum(high, low)
        low, high = placed.starts, placed.stops
        if self._preceding == 0:
            low = placed.peers
        elif self._preceding is not None:
            low = _search(placed, values, values - self._preceding, "left")
        if self._following == 0:
            high = placed.last_peers
        elif self._following is not None:
            high = _search(placed, values, values + self._following, "right")
        return low, np.maximum(high, low)

    def results(self, rows: Columns, placed: Placed, values: Array, wanted: Array) -> list[pa.Array]:
        """The value of each call for the rows *wanted*."""
        low, high = self.bounds(placed, values)
        out: list[pa.Array | None] = [None] * len(self._calls)
        for i, call in enumerate(self._calls):
            if is_of_place(call):
                found = _OF_PLACE[call.function.upper()](call, rows, placed)
                out[i] = found.take(pa.array(wanted)).cast(arrow_type(call.type))
        if self._plain is not None:
            made = iter(_over(self._plain, rows, low[wanted], high[wanted], ()))
            for i, call in enumerate(self._calls):
                if not is_of_place(call) and not call.distinct:
                    out[i] = next(made)
        for i, aggregates in self._distinct.items():
            arguments = self._calls[i].arguments
            (out[i],) = _over(aggregates, rows, low[wanted], high[wanted], arguments)
        return out


def _search(placed: Placed, values: Array, wanted: Array, side: Any) -> Array:
    """For each row the place of a value among those of its key."""
    out = np.empty(len(values), np.int64)
    for start in np.unique(placed.starts).tolist():
        stop = int(placed.stops[start])
        out[start:stop] = start + np.searchsorted(values[start:stop], wanted[start:stop], side)
    return out


def _over(
    aggregates: Aggregates, rows: Columns, low: Array, high: Array, distinct: tuple[int, ...]
) -> list[pa.Array]:
    """What calls make of the rows of frames; of equal values of the columns *distinct* one row counts."""
    sizes = high - low
    parts: list[list[pa.Array]] = []
    begin = 0
    limits = np.cumsum(sizes)
    while begin < len(low):
        base = limits[begin] - sizes[begin]
        end = max(int(np.searchsorted(limits, base + _MOST_AT_ONCE, "right")), begin + 1)
        parts.append(_laid_out(aggregates, rows, low[begin:end], sizes[begin:end], distinct))
        begin = end
    if not parts:
        return aggregates.results(aggregates.initial(0))
    return [pa.concat_arrays(list(column)) for column in zip(*parts, strict=True)]


def _laid_out(
    aggregates: Aggregates, rows: Columns, low: Array, sizes: Array, distinct: tuple[int, ...]
) -> list[pa.Array]:
    owner = np.repeat(np.arange(len(low)), sizes)
    starts = np.cumsum(sizes) - sizes
    places = np.arange(len(owner)) - starts[owner] + low[owner]
    if distinct and len(owner):
        columns = [pa.array(owner), *(rows.arrays[i].take(pa.array(places)) for i in distinct)]
        first = np.sort(group_rows(columns, len(owner)).first)
        owner, places = owner[first], places[first]
    filled = np.unique(owner)
    fields = aggregates.initial(len(low))
    if len(owner):
        begins = np.searchsorted(owner, filled)
        base = aggregates.initial(len(filled))
        folded = aggregates.fold(rows.take(places), None, Segments(begins, len(owner)), base)
        for field, values in zip(fields, folded, strict=True):
            field[filled] = values
    return aggregates.results(fields)
