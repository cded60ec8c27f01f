"""The typed bytes of a key: one tag byte, then what makes the value up.

Text, numbers, dates, tuples, lists, dicts, sets, enums, named tuples, frozen dataclasses and rows have an
encoding of their own; any other object is made of what pickle would write of it (``_key_objects``). Equal
bytes mean the same key, in every process.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import struct
import sys
import threading
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from itertools import chain
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import msgspec

from firesteel.common._shown import shown
from firesteel.common.errors import UnstableKeyError
from firesteel.common.types import Row, RowKind
from firesteel.state._key_objects import rebuilt, reduced, reference, resolve

_TOO_DEEP: Final = "it contains itself, or is nested too deeply"
_DEEPEST: Final = 100  # lists and dicts within each other
_stable: set[type] = set()  # classes of which an object was found to be the same after it was read
_pack_double = struct.Struct(">d").pack
_unpack_double = struct.Struct(">d").unpack
_NAN = _pack_double(float("nan"))
_BYTES: Final = tuple(bytes((byte,)) for byte in range(0x100))
_unpack_columns = msgspec.msgpack.Decoder(tuple).decode


def encode_key(obj: Any) -> bytes:
    """The typed, stable bytes of a key: 1, 1.0, True and "1" all differ.

    Raises UnstableKeyError for a value that cannot be pickled, or whose pickled form is not stable.
    """
    encoder = _ENCODERS.get(type(obj))
    if encoder is not None:
        return encoder(obj)
    return _encode_other(obj)


def decode_key(data: bytes) -> Any:
    """The inverse of ``encode_key``. Raises StateError when the key's class cannot be found."""
    return _DECODERS[data[0]](data[1:])


def length_prefix(length: int) -> bytes:
    """One byte up to 254, else 0xFF and four bytes."""
    return _BYTES[length] if length < 0xFF else b"\xff" + length.to_bytes(4, "big")


def join_bytes(first: bytes, second: bytes) -> bytes:
    return length_prefix(len(first)) + first + second


def split_namespace(data: bytes) -> tuple[bytes, bytes]:
    """Key bytes and namespace of a namespaced key (tag ``w``, then ``join_bytes``)."""
    length, at = (data[1], 2) if data[1] != 0xFF else (int.from_bytes(data[2:6], "big"), 6)
    return data[at : at + length], data[at + length :]


def _join(parts: Iterable[Any]) -> bytes:
    out = bytearray()
    for part in parts:
        data = encode_key(part)
        out += length_prefix(len(data))
        out += data
    return bytes(out)


def _split(data: bytes) -> list[Any]:
    parts = []
    at = 0
    while at < len(data):
        length = data[at]
        at += 1
        if length == 0xFF:
            length = int.from_bytes(data[at : at + 4], "big")
            at += 4
        parts.append(decode_key(data[at : at + length]))
        at += length
    return parts


def _encode_int(value: int) -> bytes:
    """One byte for sign and length, then the number: the bytes of two ints compare as the ints do."""
    size = (value.bit_length() + 8) >> 3
    if size >= 0x7F:
        return _encode_long_int(value, size)
    head = 0x80 + size if value >= 0 else 0x80 - size
    return b"i" + _BYTES[head] + value.to_bytes(size, "big", signed=True)


def _encode_long_int(value: int, size: int) -> bytes:
    sign, length = (b"\xff", size) if value >= 0 else (b"\0", 0xFFFFFFFF - size)
    return b"i" + sign + length.to_bytes(4, "big") + value.to_bytes(size, "big", signed=True)


def decode_int(data: bytes) -> int:
    """The int whose typed bytes are ``i`` and ``data``."""
    return int.from_bytes(data[1 if 0 < data[0] < 0xFF else 5 :], "big", signed=True)


def _encode_float(value: float) -> bytes:
    return b"f" + (_pack_double(value) if value == value else _NAN)


def _encode_timedelta(value: dt.timedelta) -> bytes:
    return b"l" + f"{value.days},{value.seconds},{value.microseconds}".encode()


def _decode_timedelta(data: bytes) -> dt.timedelta:
    days, seconds, micros = data.decode().split(",")
    return dt.timedelta(int(days), int(seconds), int(micros))


def _encode_instant(value: dt.datetime | dt.time) -> bytes:
    tag = b"D" if isinstance(value, dt.datetime) else b"H"
    return tag + (b"1" if value.fold else b"0") + value.isoformat().encode()


def _decode_datetime(data: bytes) -> dt.datetime:
    return dt.datetime.fromisoformat(data[1:].decode()).replace(fold=data[0] - 48)


def _decode_time(data: bytes) -> dt.time:
    return dt.time.fromisoformat(data[1:].decode()).replace(fold=data[0] - 48)


def _encode_row(row: Row) -> bytes:
    names = getattr(row, "_fields", None)
    return b"R" + _join((row.get_row_kind().value, tuple(names) if names else None, *row))


def _decode_row(data: bytes) -> Row:
    kind, names, *values = _split(data)
    row = Row(*values)
    if names:
        row.set_field_names(list(names))
    row.set_row_kind(RowKind(kind))
    return row


def _encode_other(obj: Any) -> bytes:
    cls = type(obj)
    if isinstance(obj, Enum) and obj.name in cls.__members__:
        return b"e" + _join((*reference(cls), obj.name))
    if isinstance(obj, tuple) and hasattr(cls, "_fields"):
        return b"N" + _join((*reference(cls), *obj))
    # typeshed does not have __dataclass_params__
    if dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return b"C" + _join((*reference(cls), *(getattr(obj, f.name) for f in dataclasses.fields(obj))))
    plain = _plain_value(obj)
    if type(plain) is not cls:
        return encode_key(plain)
    try:
        return _encode_object(obj)
    except UnstableKeyError:
        raise
    except RecursionError:
        raise _unstable(obj, _TOO_DEEP) from None
    except Exception as e:  # a class may raise anything
        raise _unstable(obj, f"{type(e).__name__}: {e}") from e


def _encode_object(obj: Any) -> bytes:
    if isinstance(obj, (type, FunctionType, BuiltinFunctionType)):
        return b"c" + _join(reference(obj))
    data = _encode_parts(obj)
    cls = type(obj)
    if cls not in _stable:
        _require_stable(obj, data)
        _stable.add(cls)
    return data


def _encode_parts(obj: Any) -> bytes:
    parts = reduced(obj, _in_order)
    if isinstance(parts, str):
        return b"c" + _join(reference(obj, parts))
    return b"O" + _join(parts)


def _require_stable(obj: Any, data: bytes) -> None:
    """Raise UnstableKeyError when the object is another key after it was stored and read; looked at once for
    each class."""
    if _encode_parts(obj) != data or _encode_parts(decode_key(data)) != data:
        raise _unstable(obj, "what pickle writes of it changes: it differs from one time to the next")


def _plain_value(obj: Any) -> Any:
    """The Python value of a NumPy scalar; others, and dates of NumPy's, whose unit would be lost, as they
    are."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(obj, numpy.generic) or obj.dtype.kind in "Mm":
        return obj
    return obj.item()


def _unstable(obj: Any, reason: str) -> UnstableKeyError:
    cls = type(obj)
    return UnstableKeyError(
        f"A value of type {cls.__module__}.{cls.__qualname__} cannot be a key: it has no stable form.",
        detail=f"{reason}; got {shown(obj)}",
        hint="use a str, a number, a date, an Enum, a Row, a list, a dict, a tuple of these, or an object "
        "of a class whose pickled form is always the same",
    )


def _in_order(elements: Iterable[Any]) -> list[Any]:
    return sorted(elements, key=encode_key)


class _Depth(threading.local):
    """Of the lists and dicts that are being encoded."""

    now = 0


_depth = _Depth()


def _guarded(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """For containers that may contain themselves. It is not left to Python's limit of calls: finalizers that
    run near it, of whatever objects, fail."""

    def guarded(obj: Any) -> bytes:
        if _depth.now >= _DEEPEST:
            raise _unstable(obj, _TOO_DEEP)
        _depth.now += 1
        try:
            return encode(obj)
        except RecursionError:  # of what else there is around it
            raise _unstable(obj, _TOO_DEEP) from None
        finally:
            _depth.now -= 1

    return guarded


def _pairs(parts: list[Any]) -> dict[Any, Any]:
    each = iter(parts)
    return dict(zip(each, each, strict=True))


def _decode_enum(data: bytes) -> Any:
    module, qualname, name = _split(data)
    return resolve(module, qualname)[name]


def _decode_named_tuple(data: bytes) -> Any:
    module, qualname, *values = _split(data)
    return tuple.__new__(resolve(module, qualname), values)


def _decode_dataclass(data: bytes) -> Any:
    module, qualname, *values = _split(data)
    cls = resolve(module, qualname)
    obj: Any = object.__new__(cls)
    for item, value in zip(dataclasses.fields(cls), values, strict=True):
        object.__setattr__(obj, item.name, value)
    return obj


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    str: lambda v: b"s" + v.encode("utf-8", "surrogatepass"),
    int: _encode_int,
    float: _encode_float,
    bool: lambda v: b"T" if v else b"F",
    type(None): lambda v: b"0",
    bytes: lambda v: b"b" + v,
    tuple: lambda v: b"t" + _join(v),
    frozenset: lambda v: b"z" + _join(_in_order(v)),
    set: lambda v: b"Z" + _join(_in_order(v)),
    list: _guarded(lambda v: b"[" + _join(v)),
    dict: _guarded(lambda v: b"{" + _join(chain.from_iterable(v.items()))),
    bytearray: lambda v: b"y" + v,
    dt.date: lambda v: b"d" + v.isoformat().encode(),
    dt.datetime: _encode_instant,
    dt.time: _encode_instant,
    dt.timedelta: _encode_timedelta,
    Decimal: lambda v: b"n" + str(v).encode(),
    uuid.UUID: lambda v: b"u" + v.bytes,
    Row: _encode_row,
}

_DECODERS: dict[int, Callable[[bytes], Any]] = {
    ord("s"): lambda d: d.decode("utf-8", "surrogatepass"),
    ord("i"): decode_int,
    ord("f"): lambda d: _unpack_double(d)[0],
    ord("T"): lambda d: True,
    ord("F"): lambda d: False,
    ord("0"): lambda d: None,
    ord("b"): lambda d: d,
    ord("t"): lambda d: tuple(_split(d)),
    ord("z"): lambda d: frozenset(_split(d)),
    ord("Z"): lambda d: set(_split(d)),
    ord("["): _split,
    ord("{"): lambda d: _pairs(_split(d)),
    ord("y"): bytearray,
    ord("c"): lambda d: resolve(*_split(d)),
    ord("O"): lambda d: rebuilt(*_split(d)),
    ord("d"): lambda d: dt.date.fromisoformat(d.decode()),
    ord("D"): _decode_datetime,
    ord("H"): _decode_time,
    ord("l"): _decode_timedelta,
    ord("n"): lambda d: Decimal(d.decode()),
    ord("u"): lambda d: uuid.UUID(bytes=d),
    ord("R"): _decode_row,
    ord("e"): _decode_enum,
    ord("N"): _decode_named_tuple,
    ord("C"): _decode_dataclass,
    ord("h"): lambda d: _unpack_columns(d[4:]),  # hash code, values (``column_keys``)
}
