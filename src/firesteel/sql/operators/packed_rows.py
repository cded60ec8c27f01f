"""Rows as bytes, whole columns at once: what is stored of rows that are never looked for by their bytes.

Some rows are one *piece*. It has what has a fixed width of each row, row after row, and then the values of
each column without one, column after column. Numbers are little-endian::

    number of rows (4)   bytes of each column without a fixed width (4 each)
    for each row and column: 1 if it is null (1), its value or the length of its value (4)
    the values of each column without a fixed width

Those are text and bytes as they are, and everything else by msgpack.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql.arrow import arrow_type
from firesteel.sql.types import DataType, RowType
from firesteel.sql.values import array_of, values_of
from firesteel.state.column_keys import fixed_bytes, offsets_and_bytes

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


class _Sections(NamedTuple):
    """The parts of some pieces: of each piece its fixed part, and what it has of each column without a width.

    :ivar rows: how many rows all of them have.
    """

    rows: int
    fixed: list[memoryview]
    free: list[list[memoryview]]


class PackedRows:
    """Rows of a type to bytes and back."""

    def __init__(self, row: RowType) -> None:
        self._columns: list[_Column] = []
        at = 0
        for kind in row.types:
            arrow = arrow_type(kind)
            width = _width(arrow)
            self._columns.append(_Column(kind, arrow, at, width))
            at += 1 + (width or _LENGTH)
        self._fixed = at
        self._free = [column for column in self._columns if not column.width]
        self._head = struct.Struct(f"<I{len(self._free)}I")
        #: What the bytes are, for those who do not know the type.
        self.layout = " ".join(column.code for column in self._columns)

    # ---- to bytes

    def pack(self, arrays: Sequence[pa.Array], count: int, stops: Sequence[int]) -> list[bytes]:
        """Rows as pieces.

        :param stops: where each piece ends; the last one ends with the last row.
        """
        fixed = np.zeros((count, self._fixed), np.uint8)
        cuts = np.concatenate([[0], np.asarray(stops, np.int64)])
        heads = np.empty((len(stops), 1 + len(self._free)), "<u4")
        heads[:, 0] = np.diff(cuts)
        free: list[pa.Array] = []  # the values of each column, those of a piece together
        for column, given in zip(self._columns, arrays, strict=True):
            array = given if given.type == column.arrow else given.cast(column.arrow)
            if array.null_count:
                fixed[:, column.at] = array.is_null().to_numpy(zero_copy_only=False)
            value = slice(column.at + 1, column.at + 1 + (column.width or _LENGTH))
            if column.width:
                fixed[:, value] = _bytes_of(array, column.width)
                continue
            offsets, data = offsets_and_bytes(_as_bytes(array, column))
            fixed[:, value] = _numbers(np.diff(offsets))
            at = offsets[cuts]
            free.append(_cut(at, data))
            heads[:, len(free)] = np.diff(at)
        sizes = np.arange(len(stops) + 1) * heads.shape[1] * _LENGTH
        parts = [_cut(sizes, heads.reshape(-1).data), _cut(cuts * self._fixed, fixed.reshape(-1).data), *free]
        offsets, joined = offsets_and_bytes(pc.binary_join_element_wise(*parts, b""))
        return [joined[start:stop].tobytes() for start, stop in pairwise(offsets.tolist())]

    def joined(self, pieces: Sequence[bytes]) -> bytes:
        """Some pieces as one."""
        rows, fixed, free = self._sections(pieces)
        values = [b"".join(parts) for parts in free]
        return b"".join([self._head.pack(rows, *map(len, values)), *fixed, *values])

    # ---- to columns

    def unpack(self, pieces: Sequence[bytes]) -> tuple[list[pa.Array], int]:
        """The columns of the rows in some pieces, and how many rows there are."""
        if len(pieces) > 1 and sum(map(len, pieces)) > _MOST_BYTES:
            half = len(pieces) // 2
            (ones, count), (others, more) = self.unpack(pieces[:half]), self.unpack(pieces[half:])
            return [pa.concat_arrays(pair) for pair in zip(ones, others, strict=True)], count + more
        count, parts, free = self._sections(pieces)
        fixed = np.frombuffer(b"".join(parts), np.uint8).reshape(count, self._fixed)
        values = iter(free)
        arrays = []
        for column in self._columns:
            nulls = fixed[:, column.at].view(bool)
            if column.width:
                arrays.append(_array_of(fixed, column, nulls))
                continue
            offsets = np.zeros(count + 1, np.int32)
            np.cumsum(_read_numbers(fixed[:, column.at + 1 : column.at + 1 + _LENGTH]), out=offsets[1:])
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(next(values)))]
            arrays.append(_of_bytes(pa.Array.from_buffers(pa.binary(), count, buffers), column, nulls))
        return arrays, count

    def _sections(self, pieces: Sequence[bytes]) -> _Sections:
        count = 0
        fixed: list[memoryview] = []
        free: list[list[memoryview]] = [[] for _ in self._free]
        for piece in pieces:
            view = memoryview(piece)
            rows, *sizes = self._head.unpack_from(piece)
            at = self._head.size + rows * self._fixed
            fixed.append(view[self._head.size : at])
            for values, size in zip(free, sizes, strict=True):
                values.append(view[at : at + size])
                at += size
            count += rows
        return _Sections(count, fixed, free)


def _cut(places: Array, data: memoryview) -> pa.Array:
    """Bytes in pieces, without a copy. :param places: where each begins, and the last one ends."""
    offsets = pa.py_buffer(places.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(places) - 1, [None, offsets, pa.py_buffer(data)])


def _numbers(values: Array) -> Array:
    return np.ascontiguousarray(values, "<u4").view(np.uint8).reshape(-1, _LENGTH)


def _read_numbers(data: Array) -> Array:
    return np.ascontiguousarray(data).view("<u4")[:, 0].astype(np.int64)


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
    """The values of a column without a fixed width as bytes."""
    if column.code == "m":
        values = values_of(array, column.kind)
        return pa.array([b"" if value is None else _pack(value) for value in values], pa.binary())
    return array.cast(pa.binary())


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
    free = sum(len(code) == 1 for code in codes)
    count, *sizes = struct.unpack_from(f"<I{free}I", piece)
    at = _LENGTH * (1 + free)
    ends = accumulate(sizes, initial=at + count * sum(1 + int(code[1:] or _LENGTH) for code in codes))
    places = list(ends)  # where the next value of each column without a width begins
    rows = []
    for _ in range(count):
        row, column = [], 0
        for code in codes:
            width = int(code[1:] or _LENGTH)
            is_null, data = piece[at], piece[at + 1 : at + 1 + width]
            if len(code) == 1:
                start = places[column]
                places[column] += int.from_bytes(data, "little")
                data = piece[start : places[column]]
                column += 1
            row.append(None if is_null else _READ[code[0]](data))
            at += 1 + width
        rows.append(row)
    return rows
