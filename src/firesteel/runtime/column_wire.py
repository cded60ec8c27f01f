"""Columns as bytes: the body of a buffer of rows as columns.

The bytes depend on the rows alone: not on what lies under nulls, behind the last bit of a bitmap or around a
slice. So columns are taken apart here, and not left to Arrow's IPC, which copies what it finds. The schema
does not travel: both ends know it from the program. A body is the length of its head (4 bytes), the head, and
one part after the other, each aligned to 8 bytes, so that Arrow reads them where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns, as_values
from firesteel.runtime.batch import Batch, Marks
from firesteel.state.column_keys import fixed_bytes, offsets_and_bytes

__all__ = ["decode_columns", "encode_columns"]

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder().decode
_PAD: Final = bytes(8)

Part = Any  # bytes, or a contiguous NumPy array


def encode_columns(columns: Columns, marks: Marks) -> bytes:
    """The body of a buffer."""
    parts: list[Part] = []
    if columns.kinds is not None:
        parts.append(np.ascontiguousarray(columns.kinds))
    nulls = [_encode(array, parts) for array in columns.arrays]
    lengths = [memoryview(part).nbytes for part in parts]
    head = _pack((columns.length, columns.kinds is not None, nulls, lengths, tuple(marks)))
    pieces: list[Part] = [len(head).to_bytes(4, "little"), head, _PAD[: -(len(head) + 4) % 8]]
    for part, length in zip(parts, lengths, strict=True):
        pieces += (memoryview(part).cast("B") if length else b"", _PAD[: -length % 8])
    return b"".join(pieces)


def decode_columns(body: bytes, schema: pa.Schema) -> Batch:
    """The batch of a body whose columns have the types of *schema*; nothing is copied."""
    size = int.from_bytes(body[:4], "little")
    length, has_kinds, nulls, lengths, marks = _unpack(body[4 : 4 + size])
    parts = _slices(pa.py_buffer(body), 4 + size + (-(size + 4) % 8), lengths)
    kinds = np.frombuffer(next(parts), np.int8) if has_kinds else None
    arrays = [_decode(field.type, length, n, parts) for field, n in zip(schema, nulls, strict=True)]
    columns = Columns(arrays, length, kinds)
    return Batch(as_values(columns), None, [(at, mark) for at, mark in marks])


def _slices(buffer: pa.Buffer, at: int, lengths: Sequence[int]) -> Iterator[pa.Buffer]:
    for length in lengths:
        yield buffer.slice(at, length)
        at += length + (-length % 8)


# ---- arrays


def _encode(array: pa.Array, parts: list[Part]) -> int:
    """Append the parts of an array; how many nulls it has."""
    nulls: int = array.null_count
    kind = array.type
    if nulls and not pa.types.is_null(kind):
        parts.append(_bits(array.is_valid().to_numpy(zero_copy_only=False)))
    _parts_of(kind)[0](array, parts)
    return nulls


def _decode(kind: pa.DataType, length: int, nulls: int, parts: Iterator[pa.Buffer]) -> pa.Array:
    validity = next(parts) if nulls and not pa.types.is_null(kind) else None
    return _parts_of(kind)[1](kind, length, nulls, validity, parts)


def _bits(flags: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.packbits(flags, bitorder="little")


def _encode_nothing(array: pa.Array, parts: list[Part]) -> None:
    return


def _encode_booleans(array: pa.Array, parts: list[Part]) -> None:
    flags = array.fill_null(False) if array.null_count else array
    parts.append(_bits(flags.to_numpy(zero_copy_only=False)))


def _encode_fixed(array: pa.Array, parts: list[Part]) -> None:
    parts.append(fixed_bytes(array))


def _encode_texts(array: pa.Array, parts: list[Part]) -> None:
    offsets, data = offsets_and_bytes(array)
    first, last = int(offsets[0]), int(offsets[-1])
    parts.append(offsets - offsets[0] if first else np.ascontiguousarray(offsets))
    parts.append(data[first:last])


def _encode_lists(array: pa.Array, parts: list[Part]) -> None:
    if array.null_count:  # what lies under a null does not travel
        array = array.take(pa.array(np.arange(len(array))))
    lengths = np.asarray(array.value_lengths().fill_null(0), np.int32)
    parts.append(np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)]))
    inner: list[Part] = []
    parts.append(_pack(_encode(array.flatten(), inner)))
    parts.extend(inner)


def _encode_maps(array: pa.Array, parts: list[Part]) -> None:
    kind = array.type
    as_list = pa.array(_pairs(array), pa.list_(pa.struct([("k", kind.key_type), ("v", kind.item_type)])))
    _encode_lists(as_list, parts)


def _pairs(array: pa.Array) -> list[Any]:
    return [None if v is None else [{"k": k, "v": i} for k, i in v] for v in array.to_pylist()]


def _encode_structs(array: pa.Array, parts: list[Part]) -> None:
    children = array.flatten()  # with the nulls of the struct itself
    inner: list[Part] = []
    parts.append(_pack([_encode(child, inner) for child in children]))
    parts.extend(inner)


def _decode_nothing(
    kind: pa.DataType, length: int, nulls: int, validity: Any, parts: Iterator[pa.Buffer]
) -> pa.Array:
    return pa.nulls(length, kind)


def _decode_one(
    kind: pa.DataType, length: int, nulls: int, validity: Any, parts: Iterator[pa.Buffer]
) -> pa.Array:
    return pa.Array.from_buffers(kind, length, [validity, next(parts)], nulls)


def _decode_texts(
    kind: pa.DataType, length: int, nulls: int, validity: Any, parts: Iterator[pa.Buffer]
) -> pa.Array:
    offsets = next(parts)
    return pa.Array.from_buffers(kind, length, [validity, offsets, next(parts)], nulls)


def _decode_lists(
    kind: pa.DataType, length: int, nulls: int, validity: Any, parts: Iterator[pa.Buffer]
) -> pa.Array:
    offsets = next(parts)
    count = int(np.frombuffer(offsets, np.int32)[-1])
    child = _decode(kind.value_type, count, _unpack(next(parts)), parts)
    return pa.Array.from_buffers(kind, length, [validity, offsets], nulls, children=[child])


def _decode_maps(
    kind: pa.DataType, length: int, nulls: int, validity: Any, parts: Iterator[pa.Buffer]
) -> pa.Array:
    entries = pa.struct([pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)])
    offsets = next(parts)
    count = int(np.frombuffer(offsets, np.int32)[-1])
    child = _decode(entries, count, _unpack(next(parts)), parts)
    return pa.Array.from_buffers(kind, length, [validity, offsets], nulls, children=[child])


def _decode_structs(
    kind: pa.DataType, length: int, nulls: int, validity: Any, parts: Iterator[pa.Buffer]
) -> pa.Array:
    of_children = _unpack(next(parts))
    children = [_decode(kind.field(i).type, length, n, parts) for i, n in enumerate(of_children)]
    return pa.Array.from_buffers(kind, length, [validity], nulls, children=children)


_Coder = tuple[Callable[[pa.Array, list[Part]], None], Callable[..., pa.Array]]
_CODERS: Final[tuple[tuple[Callable[[pa.DataType], bool], _Coder], ...]] = (
    (pa.types.is_null, (_encode_nothing, _decode_nothing)),
    (pa.types.is_boolean, (_encode_booleans, _decode_one)),
    (lambda k: pa.types.is_string(k) or pa.types.is_binary(k), (_encode_texts, _decode_texts)),
    (pa.types.is_map, (_encode_maps, _decode_maps)),
    (pa.types.is_list, (_encode_lists, _decode_lists)),
    (pa.types.is_struct, (_encode_structs, _decode_structs)),
    (lambda k: pa.types.is_primitive(k) or pa.types.is_decimal(k), (_encode_fixed, _decode_one)),
)
_known: dict[pa.DataType, _Coder] = {}


def _parts_of(kind: pa.DataType) -> _Coder:
    coder = _known.get(kind)
    if coder is None:
        coder = _known[kind] = next(coder for test, coder in _CODERS if test(kind))
    return coder
