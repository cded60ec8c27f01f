"""The calls of an aggregating operator together: DISTINCT and FILTER in front of kernels, one list of fields.

The first field counts the rows of a key where rows may be retracted: a key without rows is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, UPDATE_BEFORE, Columns
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.expressions import AggregateCall
from firesteel.sql.operators.distinct import Distinct
from firesteel.sql.operators.kernels import Kernel, KernelCall, Segments, kernel_of, merging_kernel_of
from firesteel.sql.operators.kernels.segments import Array
from firesteel.sql.operators.row_state import Field
from firesteel.sql.schema import with_attribute
from firesteel.sql.types import RowType
from firesteel.state.columns import CanonicalKey

__all__ = ["Aggregates", "CallPart", "Weights", "named_row_text", "row_text", "signs_of"]


def signs_of(columns: Columns) -> Array | None:
    """1 for each row that adds, -1 for each that is taken back; None: all add."""
    kinds = columns.kinds
    if kinds is None:
        return None
    back = (kinds == UPDATE_BEFORE) | (kinds == DELETE)
    return np.where(back, -1, 1) if back.any() else None


class CallPart(NamedTuple):
    """One call among the others.

    :ivar distinct: which ``Distinct`` stands before the kernel, and which filter of it.
    :ivar start, stop: which fields are its own.
    """

    kernel: Kernel
    arguments: tuple[int, ...]
    filter: int | None
    distinct: tuple[int, int] | None
    start: int
    stop: int


class Aggregates:
    """
    :param retracts: whether rows may be taken back.
    :param functions: the user's.
    :param merging: whether accumulators have to be merged: no call keeps anything beside its fields then, and
        there is no ``scan``.

    :ivar fields: of all calls, as state keeps them.
    :ivar calls: the calls, in order. :ivar distinct: what finds the rows that count for DISTINCT ones.
    """

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        row: RowType,
        retracts: bool,
        functions: Mapping[str, Any],
        merging: bool = False,
    ) -> None:
        self.retracts = retracts
        self.fields: list[Field] = [Field("int64")] if retracts else []
        self.calls: list[CallPart] = []
        distinct: dict[tuple[int, ...], list[int | None]] = {}
        for call in calls:
            types = tuple(row.types[i] for i in call.arguments)
            make = merging_kernel_of if merging else kernel_of
            kernel = make(KernelCall(call, types, retracts, functions))
            of = None
            if kernel.counts_duplicates and call.distinct:
                filters = distinct.setdefault(call.arguments, [])
                if call.filter not in filters:
                    filters.append(call.filter)
                of = (list(distinct).index(call.arguments), filters.index(call.filter))
            start = len(self.fields)
            self.fields += kernel.fields
            self.calls.append(CallPart(kernel, call.arguments, call.filter, of, start, len(self.fields)))
        self.distinct = [
            Distinct(arguments, [arrow_type(row.types[i]) for i in arguments], filters, retracts)
            for arguments, filters in distinct.items()
        ]
        #: Whether the result changes with each row, so that there is nothing to compare.
        self.always_changes = any(
            c.function.upper() == "COUNT" and not c.arguments and c.filter is None for c in calls
        )
        self.shape = "; ".join(_text(c, p.kernel) for c, p in zip(calls, self.calls, strict=True))

    @property
    def merges(self) -> bool:
        """Whether accumulators can be merged; always so of ``merging`` ones."""
        return not self.distinct and all(call.kernel.merges for call in self.calls)

    def open(self, state: Any, name: str, ttl_ms: int) -> None:
        """Ask for the state that lies beside the fields."""
        for i, distinct in enumerate(self.distinct):
            distinct.open(state, f"{name}/distinct-{i}", ttl_ms)
        for i, call in enumerate(self.calls):
            call.kernel.open(state, f"{name}/{i}", ttl_ms)

    def initial(self, count: int) -> list[Array]:
        """The fields of *count* keys without rows."""
        return [np.full(count, field.initial, field.dtype) for field in self.fields]

    # ---- over rows

    def scan(
        self, rows: Columns, signs: Array | None, segments: Segments, base: Sequence[Array]
    ) -> list[Array]:
        """The fields after each row."""
        return self._run(rows, signs, segments, base, whole=False)

    def fold(
        self, rows: Columns, signs: Array | None, segments: Segments, base: Sequence[Array]
    ) -> list[Array]:
        """The fields after each segment."""
        return self._run(rows, signs, segments, base, whole=True)

    def _run(
        self, rows: Columns, signs: Array | None, segments: Segments, base: Sequence[Array], whole: bool
    ) -> list[Array]:
        out: list[Array] = []
        if self.retracts:
            steps = np.ones(len(rows), np.int64) if signs is None else signs
            if whole:
                out.append(base[0] + segments.sums(steps))
            else:
                out.append(base[0][segments.index] + segments.running(steps))
        weights = Weights(rows, signs)
        for distinct in self.distinct:
            arrays = [rows.arrays[i] for i in distinct.arguments]
            distinct.see(arrays, [weights.of(column) for column in distinct.filters], segments)
        for call in self.calls:
            counted = weights.of(call.filter)
            if call.distinct is not None:
                counted = self.distinct[call.distinct[0]].weights[call.distinct[1]]
            arguments = [rows.arrays[i] for i in call.arguments]
            run = call.kernel.fold if whole else call.kernel.scan
            out += run(arguments, counted, segments, base[call.start : call.stop])
        return out

    # ---- over accumulators

    def merge(self, first: Sequence[Array], second: Sequence[Array]) -> list[Array]:
        out: list[Array] = [first[0] + second[0]] if self.retracts else []
        for call in self.calls:
            part = slice(call.start, call.stop)
            out += call.kernel.merge(first[part], second[part])
        return out

    def results(self, fields: Sequence[Array]) -> list[pa.Array]:
        """The value of each call."""
        return [call.kernel.values(fields[call.start : call.stop]) for call in self.calls]

    def clear(self, name: Any, key: CanonicalKey) -> None:
        """A key is gone."""
        for distinct in self.distinct:
            distinct.clear(name, key)
        for call in self.calls:
            call.kernel.clear(name, key)

    @property
    def keeps_more(self) -> bool:
        """Whether there is state beside the fields."""
        return bool(self.distinct) or any(type(c.kernel).clear is not Kernel.clear for c in self.calls)


class Weights:
    """What rows count for behind a filter, made once for each."""

    def __init__(self, rows: Columns, signs: Array | None) -> None:
        self._rows = rows
        self._signs = signs
        self._known: dict[int, Array] = {}

    def of(self, column: int | None) -> Array | None:
        if column is None:
            return self._signs
        known = self._known.get(column)
        if known is None:
            mask = self._rows.arrays[column]
            if mask.null_count:
                mask = mask.fill_null(False)
            known = mask.to_numpy(zero_copy_only=False).astype(np.int64)
            if self._signs is not None:
                known = known * self._signs
            self._known[column] = known
        return known


def _text(call: AggregateCall, kernel: Kernel) -> str:
    parts = ", ".join(map(str, call.arguments))
    distinct = "DISTINCT " if call.distinct else ""
    where = "" if call.filter is None else f" FILTER {call.filter}"
    form = f" {kernel.form}" if kernel.form else ""
    return f"{call.function}({distinct}{parts}){where} {call.type.with_nullability(True)}{form}"


def row_text(row: RowType, columns: Sequence[int]) -> str:
    """The types of some columns, for the shape of state."""
    return ", ".join(str(_plain(row.types[i])) for i in columns)


def named_row_text(row: RowType) -> str:
    """Names and types of all columns, for the shape of state that holds whole rows.

    Nullability and time attributes are left out: the bytes of a row do not depend on them.
    """
    types = [with_attribute(_plain(d), t.TimeAttribute.NONE) for d in row.types]
    return ", ".join(f"{name} {d}" for name, d in zip(row.names, types, strict=True))


def _plain(data_type: t.DataType) -> t.DataType:
    return data_type.with_nullability(True)
