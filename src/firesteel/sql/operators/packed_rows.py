"""Rows as bytes, whole columns at once: what is stored of rows that are never looked for by their bytes.

A row is its length in four bytes, what has a fixed width of each column, and the rest of those that have
none: text and bytes as they are, everything else by msgpack. Numbers are little-endian::

    length (4)   for each column: 1 if it is null (1), its value or the length of its value (4)   values

Rows follow each other, so some of them are one piece of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql.arrow import arrow_type
from firesteel.sql.types import DataType, RowType
from firesteel.sql.values import array_of, values_of
from firesteel.state.column_keys import fixed_bytes

__all__ = ["PackedRows", "unpacked_values"]

Array = np.ndarray[Any, Any]
_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder().decode
_LENGTH: Final = 4
_MOST_BYTES: Final = 1 << 30  # worked on at once: Arrow's offsets have 31 bits


class _Column(NamedTuple):
    """:ivar at: where what it has in the fixed part begins. :ivar width: of its value; 0: it has none."""

    kind: DataType
    arrow: pa.DataType
    at: int
    width: int

    @property
    def code(self) -> str:
        """What its values are: of how many bytes, text, bytes, or msgpack."""
        if self.width:
            letter = "f" if pa.types.is_floating(self.arrow) else "d" if self.width == 16 else "i"
            return f"{letter}{self.width}"
        return "s" if pa.types.is_string(self.arrow) else "b" if pa.types.is_binary(self.arrow) else "m"


def _width(kind: pa.DataType) -> int:
    if pa.types.is_boolean(kind):
        return 1
    if pa.types.is_primitive(kind) or pa.types.is_decimal128(kind):
        return int(kind.bit_width) // 8
    return 0


class PackedRows:
    """Rows of a type to bytes and back."""

    def __init__(self, row: RowType) -> None:
        self._columns: list[_Column] = []
        at = _LENGTH
        for kind in row.types:
            arrow = arrow_type(kind)
            width = _width(arrow)
            self._columns.append(_Column(kind, arrow, at, width))
            at += 1 + (width or _LENGTH)
        self._fixed = at
        self._free = [column for column in self._columns if not column.width]
        #: What the bytes are, for those who do not know the type.
        self.layout = " ".join(column.code for column in self._columns)

    # ---- to bytes

    def pack(self, arrays: Sequence[pa.Array], count: int) -> tuple[bytes, Array]:
        """The bytes of rows, and where each ends."""
        if not count:
            return b"", np.zeros(0, np.int64)
        if count > 1 and sum(array.nbytes for array in arrays) > _MOST_BYTES:
            half = count // 2
            ones, ends = self.pack([array.slice(0, half) for array in arrays], half)
            others, more = self.pack([array.slice(half) for array in arrays], count - half)
            return ones + others, np.concatenate([ends, more + len(ones)])
        fixed = np.zeros((count, self._fixed), np.uint8)
        free = []
        sizes = np.full(count, self._fixed, np.int64)
        for column, given in zip(self._columns, arrays, strict=True):
            array = given if given.type == column.arrow else given.cast(column.arrow)
            if array.null_count:
                fixed[:, column.at] = array.is_null().to_numpy(zero_copy_only=False)
            value = slice(column.at + 1, column.at + 1 + (column.width or _LENGTH))
            if column.width:
                fixed[:, value] = _bytes_of(array, column.width)
                continue
            plain = _as_bytes(array, column)
            free.append(plain)
            lengths = pc.binary_length(plain).to_numpy(zero_copy_only=False)
            fixed[:, value] = _numbers(lengths)
            sizes += lengths
        fixed[:, :_LENGTH] = _numbers(sizes)
        heads = pa.py_buffer(fixed.tobytes())
        ends = np.cumsum(sizes)
        if not free:
            return heads.to_pybytes(), ends
        starts = pa.py_buffer((np.arange(count + 1) * self._fixed).astype(np.int32))
        rows = pa.Array.from_buffers(pa.binary(), count, [None, starts, heads])
        joined = pc.binary_join_element_wise(rows, *free, pa.scalar(b"", pa.binary()))
        return joined.buffers()[2].slice(0, int(ends[-1])).to_pybytes(), ends

    # ---- to columns

    def unpack(self, pieces: Sequence[bytes]) -> tuple[list[pa.Array], int]:
        """The columns of the rows in some pieces, and how many rows there are."""
        size = sum(map(len, pieces))
        if size > _MOST_BYTES and len(pieces) > 1:
            half = len(pieces) // 2
            (ones, count), (others, more) = self.unpack(pieces[:half]), self.unpack(pieces[half:])
            return [pa.concat_arrays(pair) for pair in zip(ones, others, strict=True)], count + more
        data = b"".join(pieces)
        numbers = np.frombuffer(data, np.uint8)
        starts = _starts(numbers, np.fromiter(map(len, pieces), np.int64, len(pieces)))
        fixed = numbers[starts[:, None] + np.arange(self._fixed)]
        free = self._free_values(data, fixed, starts)
        arrays = []
        for column in self._columns:
            nulls = fixed[:, column.at].view(bool)
            if column.width:
                arrays.append(_array_of(fixed, column, nulls))
            else:
                arrays.append(_of_bytes(next(free), column, nulls))
        return arrays, len(starts)

    def _free_values(self, data: bytes, fixed: Array, starts: Array) -> Any:
        """The bytes of each column without a fixed width: they are taken from one array that has all parts
        of all rows."""
        count, parts = len(starts), len(self._free) + 1
        ends = np.empty((count, parts), np.int64)
        ends[:, 0] = starts + self._fixed
        for i, column in enumerate(self._free, 1):
            ends[:, i] = ends[:, i - 1] + _read_numbers(fixed[:, column.at + 1 : column.at + 1 + _LENGTH])
        offsets = pa.py_buffer(np.concatenate([[0], ends.reshape(-1)]).astype(np.int32))
        every = pa.Array.from_buffers(pa.binary(), count * parts, [None, offsets, pa.py_buffer(data)])
        first = np.arange(count) * parts
        return (every.take(pa.array(first + i)) for i in range(1, parts))


def _numbers(values: Array) -> Array:
    return np.ascontiguousarray(values, "<u4").view(np.uint8).reshape(-1, _LENGTH)


def _read_numbers(data: Array) -> Array:
    return np.ascontiguousarray(data).view("<u4")[:, 0].astype(np.int64)


def _starts(numbers: Array, sizes: Array) -> Array:
    """Where the rows of pieces that follow each other begin: the first ones, then those behind them, ..."""
    stops = np.cumsum(sizes)
    at = stops - sizes
    at, stops = at[sizes > 0], stops[sizes > 0]
    found = []
    while len(at):
        found.append(at)
        at = at + _read_numbers(numbers[at[:, None] + np.arange(_LENGTH)])
        at, stops = at[at < stops], stops[at < stops]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _bytes_of(array: pa.Array, width: int) -> Array:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    return fixed_bytes(array).view(np.uint8).reshape(-1, width)


def _array_of(fixed: Array, column: _Column, nulls: Array) -> pa.Array:
    data = np.ascontiguousarray(fixed[:, column.at + 1 : column.at + 1 + column.width])
    valid = None if not nulls.any() else pa.array(~nulls).buffers()[1]
    kind = pa.uint8() if pa.types.is_boolean(column.arrow) else column.arrow
    array = pa.Array.from_buffers(kind, len(fixed), [valid, pa.py_buffer(data)])
    return array.cast(column.arrow)


def _as_bytes(array: pa.Array, column: _Column) -> pa.Array:
    """The values of a column without a fixed width as bytes, none where it is null."""
    if column.code == "m":
        values = values_of(array, column.kind)
        return pa.array([b"" if value is None else _pack(value) for value in values], pa.binary())
    return pc.fill_null(array.cast(pa.binary()), b"")


def _of_bytes(values: pa.Array, column: _Column, nulls: Array) -> pa.Array:
    if column.code == "m":
        plain = [_unpack(value) if value else None for value in values.to_pylist()]
        return array_of(plain, column.kind)
    if nulls.any():
        values = pc.if_else(pa.array(nulls), None, values)
    return values.cast(column.arrow)


# ---- without the type


def _read_integer(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


_READ: Final[dict[str, Callable[[bytes], Any]]] = {
    "i": _read_integer,
    "d": _read_integer,
    "f": lambda data: float(np.frombuffer(data, f"<f{len(data)}")[0]),
    "s": bytes.decode,
    "b": bytes,
    "m": _unpack,
}


def unpacked_values(layout: str, piece: bytes) -> list[list[Any]]:
    """The rows in a piece of which ``PackedRows.layout`` is known alone: temporal values are numbers, and
    decimals are without their point."""
    codes = layout.split()
    rows, at = [], 0
    while at < len(piece):
        free = at + _LENGTH + sum(1 + int(code[1:] or _LENGTH) for code in codes)
        place, row = at + _LENGTH, []
        for code in codes:
            width = int(code[1:] or _LENGTH)
            data = piece[place + 1 : place + 1 + width]
            if len(code) == 1:
                length = int.from_bytes(data, "little")
                data = piece[free : free + length]
                free += length
            row.append(None if piece[place] else _READ[code[0]](data))
            place += 1 + width
        rows.append(row)
        at = free
    return rows
