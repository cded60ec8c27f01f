"""Aggregates of a part of the rows of each key, in columns: what travels from local to global aggregates.

    key columns | rows | the fields of calls that are merged | values of the other calls

*rows* counts them where they may be taken back. A call whose accumulators can be merged is its fields. One
that has to know how often each value is there (DISTINCT, extremes of rows that may be taken back) gets the
values: a list of those that occurred, each once, with the number of rows that have it behind each filter.
(Flink: accumulators with a ``MapView``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.aggregates import Aggregates, CallPart, Weights
from firesteel.sql.operators.kernels import Kernel, Segments
from firesteel.sql.operators.kernels.numbers import objects
from firesteel.sql.operators.kernels.segments import Array
from firesteel.sql.operators.row_state import Field
from firesteel.state._value_codec import decode_value, encode_value
from firesteel.state.column_keys import Groups, group_rows, renumbered

__all__ = ["Partials"]

_FIELD_TYPES: Final[dict[str, t.DataType]] = {
    "int64": t.BigIntType(nullable=False),
    "float64": t.DoubleType(nullable=False),
    "float32": t.FloatType(nullable=False),
    "bool": t.BooleanType(nullable=False),
    "object": t.VarBinaryType(nullable=False),
}


class _Values(NamedTuple):
    """Calls that get the values of the same arguments.

    :ivar filters: their filters, each once.
    """

    arguments: tuple[int, ...]
    filters: list[int | None]
    calls: list[CallPart]
    type: t.ArrayType


class Partials:
    """
    :param row: the type of the rows that are aggregated. :param keys: its key columns.
    """

    def __init__(self, aggregates: Aggregates, row: t.RowType, keys: Sequence[int]) -> None:
        self._aggregates = aggregates
        self._row = row
        self._keys = tuple(keys)
        self._merged = [call for call in aggregates.calls if not _is_by_value(call)]
        self._values = _by_arguments([call for call in aggregates.calls if _is_by_value(call)], row)

    @property
    def possible(self) -> bool:
        """Whether parts of all calls can be put together."""
        return all(
            call.distinct is not None or call.kernel.takes_counts or call.kernel.merges_parts
            for call in self._aggregates.calls
        )

    @property
    def row(self) -> t.RowType:
        """The type of what travels; the key columns keep their names."""
        types = [self._row.types[k] for k in self._keys]
        names = [self._row.names[k] for k in self._keys]
        rest: list[t.DataType] = [_FIELD_TYPES["int64"]] if self._aggregates.retracts else []
        rest += [_FIELD_TYPES[field.dtype] for call in self._merged for field in call.kernel.fields]
        rest += [values.type for values in self._values]
        return t.RowType.of((*names, *(f"${i}" for i in range(len(rest)))), (*types, *rest))

    # ---- before the exchange

    def of_rows(self, rows: Columns, signs: Array | None, segments: Segments) -> Columns:
        """One row for each segment of *rows*. :param signs: of the rows; None: all add."""
        first = pa.array(segments.starts)
        out = [rows.arrays[k].take(first) for k in self._keys]
        if self._aggregates.retracts:
            steps = np.ones(len(rows), np.int64) if signs is None else signs
            out.append(pa.array(segments.sums(steps)))
        weights = Weights(rows, signs)
        for call in self._merged:
            kernel, arguments = call.kernel, [rows.arrays[i] for i in call.arguments]
            fresh = [np.full(len(segments), field.initial, field.dtype) for field in kernel.fields]
            found = kernel.fold(arguments, weights.of(call.filter), segments, fresh)
            out += [_packed(array, field) for array, field in zip(found, kernel.fields, strict=True)]
        out += [self._values_of(values, rows, weights, segments) for values in self._values]
        return Columns(out, len(segments))

    def _values_of(self, what: _Values, rows: Columns, weights: Weights, segments: Segments) -> pa.Array:
        arrays = [rows.arrays[i] for i in what.arguments]
        of_values = group_rows(arrays, len(rows))
        pairs = Groups(*renumbered(pa.array(segments.index * of_values.count + of_values.codes)))
        counts = [_totals(weights.of(column), pairs) for column in what.filters]
        used = np.flatnonzero(np.any(counts, axis=0))
        first = pairs.first[used]
        offsets = np.zeros(len(segments) + 1, np.int32)
        np.cumsum(np.bincount(segments.index[first], minlength=len(segments)), out=offsets[1:])
        kind = arrow_type(what.type)
        children = [a.take(pa.array(first)) for a in arrays] + [pa.array(count[used]) for count in counts]
        entries = pa.StructArray.from_arrays(children, fields=list(kind.value_type))
        return pa.ListArray.from_arrays(pa.array(offsets), entries, type=kind)

    # ---- behind it

    def merged(self, parts: Columns, segments: Segments, base: Sequence[Array]) -> list[Array]:
        """The fields of the aggregates after each segment.

        :param parts: what ``of_rows`` has given, sorted by key. :param base: the fields before.
        """
        out = list(base)
        at = len(self._keys)
        if self._aggregates.retracts:
            out[0] = base[0] + segments.sums(_numbers(parts.arrays[at]))
            at += 1
        for call in self._merged:
            fields = call.kernel.fields
            columns = parts.arrays[at : at + len(fields)]
            at += len(fields)
            found = [_unpacked(array, field) for array, field in zip(columns, fields, strict=True)]
            own = slice(call.start, call.stop)
            out[own] = call.kernel.merge(base[own], _merged_within(call.kernel, found, segments))
        for values, column in zip(self._values, parts.arrays[at:], strict=True):
            self._fold_values(values, column, segments, base, out)
        return out

    def _fold_values(
        self, what: _Values, column: pa.Array, segments: Segments, base: Sequence[Array], out: list[Array]
    ) -> None:
        """Put the fields of the calls into *out*."""
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        owners = np.repeat(segments.index, lengths)
        filled = np.unique(owners)  # segments that have values at all
        if not len(filled):
            return
        children = column.flatten().flatten()
        width = len(what.arguments)
        counts = [_numbers(array) for array in children[width:]]
        names, keys = segments.names, segments.keys
        if len(filled) < len(segments):
            names = [names[i] for i in filled.tolist()]
            keys = [keys[i] for i in filled.tolist()]
        within = Segments(np.searchsorted(owners, filled), len(owners), names, keys)
        numbers = {call.distinct[0] for call in what.calls if call.distinct is not None}
        for number in numbers:
            distinct = self._aggregates.distinct[number]
            behind = [counts[what.filters.index(column)] for column in distinct.filters]
            distinct.see(children[:width], behind, within)
        for call in what.calls:
            weights = counts[what.filters.index(call.filter)]
            if call.distinct is not None:
                weights = self._aggregates.distinct[call.distinct[0]].weights[call.distinct[1]]
            own = slice(call.start, call.stop)
            found = call.kernel.fold(children[:width], weights, within, [f[filled] for f in base[own]])
            out[own] = [_put(field, filled, values) for field, values in zip(base[own], found, strict=True)]


def _is_by_value(call: CallPart) -> bool:
    return call.distinct is not None or not call.kernel.merges_parts


def _by_arguments(calls: Sequence[CallPart], row: t.RowType) -> list[_Values]:
    found: dict[tuple[int, ...], list[CallPart]] = {}
    for call in calls:
        found.setdefault(call.arguments, []).append(call)
    out = []
    for arguments, members in found.items():
        filters = list(dict.fromkeys(call.filter for call in members))
        names = [*(f"a{i}" for i in range(len(arguments))), *(f"n{i}" for i in range(len(filters)))]
        types = [*(row.types[i] for i in arguments), *[_FIELD_TYPES["int64"]] * len(filters)]
        out.append(_Values(arguments, filters, members, t.ArrayType(t.RowType.of(names, types))))
    return out


def _merged_within(kernel: Kernel, fields: list[Array], segments: Segments) -> list[Array]:
    """One accumulator for each segment: neighbours are merged two by two, so that their order stays."""
    lengths = segments.last + 1 - segments.starts
    while len(fields) and len(fields[0]) > len(lengths):
        starts = np.cumsum(lengths) - lengths
        rank = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
        even = rank % 2 == 0
        pairs = np.flatnonzero(even & (rank + 1 < np.repeat(lengths, lengths)))
        together = kernel.merge([f[pairs] for f in fields], [f[pairs + 1] for f in fields])
        fields = [_put(field, pairs, values)[even] for field, values in zip(fields, together, strict=True)]
        lengths = (lengths + 1) // 2
    return fields


def _put(field: Array, at: Array, values: Array) -> Array:
    changed = field.copy()
    changed[at] = values
    return changed


def _totals(weights: Array | None, pairs: Groups) -> Array:
    if weights is None:
        return np.bincount(pairs.codes, minlength=pairs.count)
    totals = np.zeros(pairs.count, np.int64)
    np.add.at(totals, pairs.codes, weights)
    return totals


def _numbers(array: pa.Array) -> Array:
    found: Array = array.to_numpy(zero_copy_only=False)
    return found


def _packed(array: Array, field: Field) -> pa.Array:
    if array.dtype != object:
        return pa.array(array)
    values: list[Any] = array.tolist()
    encode = field.encode
    return pa.array([encode_value(v if encode is None else encode(v)) for v in values], pa.binary())


def _unpacked(array: pa.Array, field: Field) -> Array:
    if field.dtype != "object":
        return _numbers(array)
    decode = field.decode
    values = map(decode_value, array.to_pylist())
    return objects(list(values if decode is None else map(decode, values)))
