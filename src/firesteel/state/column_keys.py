"""Keys that are made of columns: their hash, their identity and their bytes, for whole columns at once.

The *identity* of a key is what dictionaries of an operator are keyed by: an int for one integer-like column,
a str for one text column, a tuple of plain values for everything else. Its *canonical* form (``state.keys``)
is the int or str itself, else ``h``, the hash code of the columns (4 bytes) and the msgpack of the tuple: the
key group of such a key is found in it, so that routers, which hash columns, and state, which has single keys,
cannot differ.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.state._column import GroupKeys, canonical_of
from firesteel.state._key_codec import decode_key, encode_key
from firesteel.state.hash_codes import Array, codes_of_bytes, codes_of_integers

__all__ = [
    "CanonicalKeys",
    "Groups",
    "canonical_column_keys",
    "entry_keys",
    "group_rows",
    "has_numbers",
    "hash_codes",
    "identities",
    "identity_in",
    "identity_of_canonical",
    "is_bare",
    "is_integer_like",
    "key_arrays",
    "number_identities",
    "renumbered",
    "row_arrays",
    "row_values",
]

_U32: Final = np.uint32
_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(tuple).decode
_NULL_CODE: Final = 0x9E3779B9
_NAN_BITS: Final = 0x7FF8000000000000


# ---- what a column is for keys


def is_integer_like(kind: pa.DataType) -> bool:
    """Whether identities of one column of this type are integers of 64 bits."""
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind)) and kind.bit_width <= 64


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind))


def _integers(array: pa.Array) -> Array:
    """The physical integers of an integer-like, boolean or floating column; 0 where it is null."""
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_float32(kind):
        array = array.cast(pa.float64())
        kind = array.type
    if pa.types.is_float64(kind):
        numbers = array.fill_null(0.0).to_numpy(zero_copy_only=False)
        bits = numbers.view(np.int64)
        return np.where(numbers != numbers, np.int64(_NAN_BITS), bits)
    if pa.types.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if array.null_count:
        array = array.fill_null(0)
    found: Array = array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return found


def _validity(array: pa.Array) -> Array | None:
    return None if not array.null_count else array.is_valid().to_numpy(zero_copy_only=False)


def has_numbers(kind: pa.DataType) -> bool:
    """Whether keys of a column of this type are made of numbers of 64 bits."""
    return is_integer_like(kind) or pa.types.is_boolean(kind) or kind in (pa.float32(), pa.float64())


# ---- hash codes


def hash_codes(arrays: Sequence[pa.Array], length: int) -> Array:
    """A 32-bit code for the key of each row, the same in every process and release.

    For one integer-like or text column it is Java's (``state.keys.key_hash``).
    """
    if len(arrays) == 1:
        return _column_codes(arrays[0])
    codes = np.full(length, 1, _U32)
    for array in arrays:
        codes *= _U32(31)
        codes += _column_codes(array)
    return codes


def _column_codes(array: pa.Array) -> Array:
    kind = array.type
    if has_numbers(kind):
        codes = codes_of_integers(_integers(array))
    elif _is_text(kind):
        codes = _text_codes(array)
    elif pa.types.is_binary(kind):
        codes = _byte_codes(array)
    elif pa.types.is_decimal128(kind):
        halves = fixed_bytes(array).view(np.uint64).reshape(-1, 2)
        bits = halves[:, 0] ^ (halves[:, 1] * np.uint64(31))
        codes = codes_of_integers(bits)
    elif pa.types.is_null(kind):
        return np.full(len(array), _NULL_CODE, _U32)
    else:
        return _byte_codes(pa.array(_encoded(array), pa.binary()))
    valid = _validity(array)
    if valid is not None:
        codes[~valid] = _NULL_CODE
    return codes


_SAMPLE: Final = 64
_FEW: Final = 4


def _text_codes(array: pa.Array) -> Array:
    """Java's ``String.hashCode``; where texts seem to repeat, of each text once."""
    if len(array) > _SAMPLE and len(array.slice(0, _SAMPLE).unique()) <= _FEW:
        encoded = array.dictionary_encode()
        codes = _codes_of_each_text(encoded.dictionary)
        if not len(codes):
            return np.zeros(len(array), _U32)
        numbers: Array = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        found: Array = codes[numbers]
        return found
    return _codes_of_each_text(array)


def _codes_of_each_text(array: pa.Array) -> Array:
    """The hash code is made of UTF-16 units; the bytes of ASCII are the same."""
    codes = _byte_codes(array)
    is_ascii = pc.string_is_ascii(array)
    if pc.all(is_ascii).as_py() is False:
        from firesteel.state.keys import key_hash

        ascii_only = pc.fill_null(is_ascii, True).to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(~ascii_only).tolist():
            codes[at] = key_hash(array[at].as_py())
    return codes


def _byte_codes(array: pa.Array) -> Array:
    """Those of the bytes of each value."""
    offsets, data = offsets_and_bytes(array)
    if not len(data):
        return np.zeros(len(array), _U32)
    return codes_of_bytes(np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]], np.diff(offsets))


# ---- identities


def offsets_and_bytes(array: pa.Array) -> tuple[Array, memoryview]:
    """The bytes of text or bytes, none where they are null: where each value begins in them, and the last one
    ends, and what they lie in."""
    if array.null_count:
        array = array.fill_null("" if _is_text(array.type) else b"")
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return np.zeros(len(array) + 1, np.int32), memoryview(b"")
    return np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4), memoryview(data)


def fixed_bytes(array: pa.Array) -> Array:
    """The bytes of each value of a type of fixed width, zeros where it is null."""
    length, width = len(array), array.type.bit_width // 8
    if not length:
        return np.zeros(0, f"V{width}")
    found: Array = np.frombuffer(array.buffers()[1], f"V{width}", length, array.offset * width)
    valid = _validity(array)
    if valid is not None:
        found = found.copy()
        found[~valid] = np.zeros((), f"V{width}")
    return found


def _encoded(array: pa.Array) -> list[bytes | None]:
    return [None if v is None else encode_key(_frozen(v)) for v in array.to_pylist()]


def _frozen(value: Any) -> Any:
    """Values of nested types as keys have them: maps become pairs in the order of their keys."""
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in value.items())
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value


def _parts(array: pa.Array) -> list[Any]:
    """What stands for each value of a column in the tuple of a key."""
    kind = array.type
    if has_numbers(kind):
        parts: list[Any] = _integers(array).tolist()
    elif _is_text(kind) or pa.types.is_binary(kind):
        return list(array.to_pylist())
    elif pa.types.is_decimal128(kind):
        parts = fixed_bytes(array).tolist()
    elif pa.types.is_null(kind):
        return [None] * len(array)
    else:
        return _encoded(array)
    valid = _validity(array)
    if valid is not None:
        for at in np.flatnonzero(~valid).tolist():
            parts[at] = None
    return parts


def identities(arrays: Sequence[pa.Array], length: int) -> list[Any]:
    """The identity of the key of each row."""
    if len(arrays) == 1:
        parts = _parts(arrays[0])
        if is_bare(arrays[0].type):
            return parts if not arrays[0].null_count else [(None,) if p is None else p for p in parts]
        return [(part,) for part in parts]
    return row_values(arrays, length)


def is_bare(kind: pa.DataType) -> bool:
    """Whether the identities of one column of this type, but for nulls, are values and not tuples of one."""
    return is_integer_like(kind) or _is_text(kind)


def number_identities(array: pa.Array) -> tuple[Array, Array | None]:
    """The numbers that the identities of a column of numbers are made of, and which rows are not null; None:
    all of them."""
    return _integers(array), _validity(array)


def canonical_column_keys(found: Sequence[Any], codes: Array) -> list[Any]:
    """The canonical keys of identities, of which *codes* are the hash codes."""
    kinds = set(map(type, found))
    if tuple not in kinds:
        return list(found)
    starts = np.empty((len(codes), 5), np.uint8)
    starts[:, 0] = 0x68
    starts[:, 1:] = codes.astype(">u4").view(np.uint8).reshape(-1, 4)
    if len(kinds) == 1:
        return list(map(operator.add, starts.view("V5").ravel().tolist(), map(_pack, found)))
    return [
        key if type(key) is not tuple else start + _pack(key)
        for key, start in zip(found, starts.view("V5").ravel().tolist(), strict=True)
    ]


def entry_keys(group_keys: GroupKeys, column: bytes, found: Sequence[Any], codes: Array) -> list[bytes]:
    """The keys of entries of identities, up to the id of their state, *column*, and with it."""
    heads = group_keys.heads(canonical_column_keys(found, codes), codes)
    return [head + column for head in heads]


class CanonicalKeys(Sequence[Any]):
    """The same, each made when it is asked for: of most keys nobody needs it again."""

    __slots__ = ("_codes", "_found")

    def __init__(self, found: Sequence[Any], codes: Array) -> None:
        self._found = found
        self._codes = codes

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, at: Any) -> Any:
        return canonical_column_keys([self._found[at]], self._codes[at : at + 1])[0]

    def made(self, rows: Array) -> list[Any]:
        """Those of some rows, at once."""
        return canonical_column_keys([self._found[i] for i in rows.tolist()], self._codes[rows])

    def take(self, rows: Array) -> CanonicalKeys:
        return CanonicalKeys([self._found[i] for i in rows.tolist()], self._codes[rows])


def identity_of_canonical(key: Any) -> Any:
    return _unpack(key[5:]) if type(key) is bytes else key


def identity_in(key: bytes, end: int) -> Any:  # hot
    """The identity of the key of an entry, whose key is *key*; that of the key itself ends at *end*."""
    start = 3 if key[2] != 0xFF else 7
    return _unpack(key[start + 5 : end]) if key[start] == 0x68 else canonical_of(key[start:end])


def key_arrays(found: Sequence[Any], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The columns of which *found* are the identities."""
    if len(types) == 1 and is_bare(types[0]):
        return [_array([None if type(key) is tuple else key for key in found], types[0])]
    return row_arrays(found, types)


def row_values(arrays: Sequence[pa.Array], length: int) -> list[tuple[Any, ...]]:
    """Rows as tuples of plain values, which state keeps; ``row_arrays`` makes columns of them again."""
    return list(zip(*map(_parts, arrays), strict=True)) if arrays else [()] * length


def row_arrays(rows: Sequence[tuple[Any, ...]], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The columns of which *rows* are ``row_values``."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    return [_array(list(parts), kind) for parts, kind in zip(columns, types, strict=True)]


def _array(parts: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(kind):
        return pa.array(parts, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if p is None else bool(p) for p in parts], kind)
    if pa.types.is_floating(kind):
        return pa.array(parts, pa.int64()).view(pa.float64()).cast(kind)
    if pa.types.is_decimal128(kind):
        valid = pa.array([p is not None for p in parts], pa.bool_())
        data = pa.py_buffer(b"".join(bytes(16) if p is None else p for p in parts))
        bits = None if None not in parts else valid.buffers()[1]
        return pa.Array.from_buffers(kind, len(parts), [bits, data])
    if pa.types.is_nested(kind):
        return pa.array([None if p is None else _thawed(decode_key(p), kind) for p in parts], kind)
    return pa.array(parts, kind)


def _thawed(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {name: _thawed(v, kind.field(i).type) for i, (name, v) in enumerate(value)}
    if pa.types.is_map(kind):
        return [(_thawed(k, kind.key_type), _thawed(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind):
        return [_thawed(v, kind.value_type) for v in value]
    return value


# ---- rows by key


class Groups:
    """The rows of a batch by their key.

    :ivar codes: for each row the number of its group; groups are numbered as they first occur.
    :ivar count: how many groups there are.
    :ivar first: for each group its first row.
    """

    __slots__ = ("codes", "count", "first")

    def __init__(self, codes: Array, count: int) -> None:
        self.codes = codes
        self.count = count
        first = np.empty(count, np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        self.first = first

    def order(self) -> tuple[Array, Array]:
        """The rows sorted by group, in their order within each, and where each group starts in that."""
        codes = self.codes
        if self.count <= 1 << 16:
            order = np.argsort(codes.astype(np.uint16), kind="stable")  # a radix sort
        else:
            order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=self.count)
        starts = np.zeros(self.count, np.int64)
        np.cumsum(counts[:-1], out=starts[1:])
        return order, starts


def group_rows(arrays: Sequence[pa.Array], length: int) -> Groups:
    """Number the keys of rows."""
    if not arrays:
        return Groups(np.zeros(length, np.int64), min(length, 1))
    codes, count = _numbered(arrays[0])
    for array in arrays[1:]:
        more, n = _numbered(array)
        if n == 1:
            continue
        codes, count = renumbered(pa.array(codes * n + more))
    if not length:
        count = 0
    return Groups(codes, count)


_NUMBERED_AS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...]] = (
    (pa.types.is_floating, lambda a: _with_nulls(pa.array(_integers(a)), a)),
    (pa.types.is_nested, lambda a: pa.array(_encoded(a), pa.binary())),
)


def _with_nulls(values: pa.Array, like: pa.Array) -> pa.Array:
    return pc.if_else(like.is_valid(), values, None) if like.null_count else values


def _numbered(array: pa.Array) -> tuple[Array, int]:
    for test, convert in _NUMBERED_AS:
        if test(array.type):
            array = convert(array)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64), 1
    return renumbered(array)


def renumbered(array: pa.Array) -> tuple[Array, int]:
    """Numbers for the values of an array as they first occur, and how many there are."""
    encoded = array.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary)
