"""What a sink demands: values that are not null, and text and bytes of their declared lengths. (Flink:
``ConstraintEnforcer``.)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.columns import Columns
from firesteel.common.errors import FiresteelError
from firesteel.runtime.program import OperatorProgram
from firesteel.sql import types as t
from firesteel.sql.operators.base import RowwiseOperator
from firesteel.sql.operators.specs import ConstraintEnforcer
from firesteel.sql.values import values_of

__all__ = ["ConstraintEnforcerOperator", "EnforcerError"]

Array = np.ndarray[Any, Any]


class EnforcerError(FiresteelError, ValueError):
    """A row does not fulfil what its sink demands."""


class ConstraintEnforcerOperator(RowwiseOperator):
    spec: ConstraintEnforcer

    def __init__(self, program: OperatorProgram, spec: ConstraintEnforcer) -> None:
        super().__init__(program, spec)
        self._nested = [
            i
            for i, f in enumerate(spec.input.fields)
            if spec.nested != "ignore" and any(True for _ in _demands(f.data_type, spec.nested))
        ]
        self._lengths = [
            (i, _LENGTHS[type(f.data_type)])
            for i, f in enumerate(spec.input.fields)
            if spec.length != "ignore" and type(f.data_type) in _LENGTHS
        ]

    def convert(self, columns: Columns) -> tuple[Columns, Array | None]:
        keep = np.ones(len(columns), bool)
        for i in self.spec.not_null:
            array = columns.arrays[i]
            if array.null_count:
                self._missing(
                    keep, ~array.is_valid().to_numpy(zero_copy_only=False), self.spec.input.names[i]
                )
        for i in self._nested:
            self._look_inside(keep, columns.arrays[i], self.spec.input.fields[i])
        rows = None
        if not keep.all():
            rows = np.flatnonzero(keep)
            columns = columns.take(rows)
        if self._lengths:
            arrays = list(columns.arrays)
            for i, fit in self._lengths:
                field = self.spec.input.fields[i]
                arrays[i] = fit(arrays[i], field.data_type, field.name, self.spec.length)
            columns = columns.with_arrays(arrays)
        return columns, rows

    def _missing(self, keep: Array, missing: Array, name: str) -> None:
        if self.spec.null == "error" and missing.any():
            raise EnforcerError(
                f"Column '{name}' is NOT NULL, however, a null value is being written into it. You can set "
                "job configuration 'table.exec.sink.not-null-enforcer'='DROP' to suppress this exception and "
                "drop such records silently."
            )
        keep &= ~missing

    def _look_inside(self, keep: Array, array: pa.Array, field: t.RowField) -> None:
        for row, value in enumerate(values_of(array, field.data_type)):
            if value is None:
                continue
            path = next(_violations(value, field.data_type, field.name, self.spec.nested), None)
            if path is not None:
                missing = np.zeros(len(keep), bool)
                missing[row] = True
                self._missing(keep, missing, path)


def _demands(data_type: t.DataType, nested: str) -> Iterator[t.DataType]:
    """The types within a type that must not be null."""
    if isinstance(data_type, t.RowType) or nested == "collections":
        for child in data_type.children:
            if not child.nullable:
                yield child
            yield from _demands(child, nested)


def _violations(value: Any, data_type: t.DataType, path: str, nested: str) -> Iterator[str]:
    """The paths of nulls where none may be."""
    match data_type:
        case t.RowType(fields=fields):
            parts = [(v, f.data_type, f"{path}.{f.name}") for v, f in zip(value, fields, strict=True)]
        case t.ArrayType(element_type=element) if nested == "collections":
            parts = [(v, element, f"{path}[{i}]") for i, v in enumerate(value)]
        case t.MapType(key_type=key, value_type=item) if nested == "collections":
            parts = [(k, key, f"{path}[key]") for k, _ in value]
            parts += [(v, item, f"{path}[{k}]") for k, v in value]
        case _:
            return
    for part, kind, name in parts:
        if part is None:
            if not kind.nullable:
                yield name
        else:
            yield from _violations(part, kind, name, nested)


# ---- lengths


def _fit_text(array: pa.Array, data_type: Any, name: str, how: str) -> pa.Array:
    lengths = pc.utf8_length(array)
    exact = isinstance(data_type, t.CharType)
    return _fit(array, lengths, data_type, name, how, exact, pc.utf8_slice_codeunits, pc.utf8_rpad, " ")


def _fit_bytes(array: pa.Array, data_type: Any, name: str, how: str) -> pa.Array:
    exact = isinstance(data_type, t.BinaryType)
    lengths = pc.binary_length(array)
    return _fit(array, lengths, data_type, name, how, exact, pc.binary_slice, _pad_bytes, b"\0")


def _pad_bytes(array: pa.Array, width: int, padding: bytes) -> pa.Array:
    return pa.array([None if v is None else v.ljust(width, padding) for v in array.to_pylist()], array.type)


def _fit(
    array: pa.Array,
    lengths: pa.Array,
    data_type: Any,
    name: str,
    how: str,
    exact: bool,
    cut: Callable[..., pa.Array],
    pad: Callable[..., pa.Array],
    padding: Any,
) -> pa.Array:
    length = data_type.length
    found = lengths.fill_null(length).to_numpy(zero_copy_only=False)
    wrong = found != length if exact else found > length
    if not wrong.any():
        return array
    if how == "error":
        actual = int(found[wrong][0])
        what = "string" if padding == " " else "binary"
        raise EnforcerError(
            f"Column '{name}' is {data_type.text()}, however, a {what} of length {actual} is being written "
            "into it. You can set job configuration 'table.exec.sink.type-length-enforcer'='IGNORE' or "
            "'TRIM_PAD' to suppress this exception."
        )
    array = cut(array, 0, length)
    return pad(array, length, padding) if exact else array


_LENGTHS: Final[dict[type[t.DataType], Callable[..., pa.Array]]] = {
    t.CharType: _fit_text,
    t.VarCharType: _fit_text,
    t.BinaryType: _fit_bytes,
    t.VarBinaryType: _fit_bytes,
}
