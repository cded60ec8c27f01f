"""Encodes plain values that MessagePack alone does not round-trip: dates, decimals, rows.

The format is a byte that MessagePack never uses (``MARK``), a code for the kind, and the content. Within the
content, values of these kinds are MessagePack extensions with the same codes. Lists, dicts with text or
integer keys, bytes and None are MessagePack's own there. Decoding never runs code.

Values of other classes, including subclasses, are not plain. Nor are values that contain the same list or
dict twice, which would be decoded as two objects, or that are nested too deeply.
"""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import MsgspecError
from msgspec.msgpack import Ext

from firesteel.common.errors import StateCorruptionError
from firesteel.common.time import Instant
from firesteel.common.types import Row, RowKind, _make_row, _make_row_of

MARK: Final = 0xC1
HEAD: Final = b"\xc1"
_DEPTH: Final = 64

LIST, TUPLE, TUPLES, TUPLE_OF_TUPLES, DICT, PAIRS, ROW, ROW_OF_KIND = range(1, 9)
SET, FROZENSET, BYTEARRAY, NONE, INTEGER, TEXT = range(9, 15)
DATE, TIME, DATETIME, TIMEDELTA, DECIMAL, UUID, INSTANT = range(15, 22)

#: Types that MessagePack round-trips within the content.
_NATIVE: Final = frozenset((int, str, float, bool, type(None), bytes))
_KEYS: Final = frozenset((int, str))
_TUPLES: Final = frozenset((tuple,))
_NO_ZONE: Final = b""
_TIMEDELTA: Final = struct.Struct(">iii")
_INSTANT: Final = struct.Struct(">qi")
_UTC_OFFSET: Final = struct.Struct(">ii")

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack_tuples: Final = msgspec.msgpack.Decoder(list[tuple[Any, ...]]).decode
_unpack_tuple_of_tuples: Final = msgspec.msgpack.Decoder(tuple[tuple[Any, ...], ...]).decode


class NotPlainError(Exception):
    """Raised when a value is not plain, or too complex to be encoded."""


def encode_plain(value: Any) -> bytes:
    """Return the bytes of a plain value.

    :raises NotPlainError: the value is not plain.
    """
    try:
        code, content = _simple(value) or Wire().node(value)
    except (OverflowError, UnicodeEncodeError):  # an int of more than 64 bits, a lone surrogate
        try:
            code, content = CarefulWire().node(value)
        except UnicodeEncodeError:
            raise NotPlainError from None  # in the name of a field
    return HEAD + code.to_bytes(1) + content


def _simple(value: Any) -> tuple[int, bytes] | None:  # hot
    """Return what ``Wire`` would for collections that MessagePack takes unchanged, but faster."""
    kind = type(value)
    if kind is list:
        kinds = set(map(type, value))
        if kinds <= _NATIVE:
            return LIST, _pack(value)
        if len(kinds) == 1:
            return _of_alike(value, kinds.pop())
    elif (
        kind is dict and _KEYS.issuperset(map(type, value)) and _NATIVE.issuperset(map(type, value.values()))
    ):
        return DICT, _pack(value)
    elif kind is tuple and _TUPLES.issuperset(map(type, value)) and _has_native_items(value):
        return TUPLE_OF_TUPLES, _pack(value)
    return None


def _of_alike(values: list[Any], kind: type) -> tuple[int, bytes] | None:  # hot
    """Encode a list of collections of one kind whose values MessagePack takes unchanged."""
    if kind is tuple and _has_native_items(values):
        return TUPLES, _pack(values)
    if len(set(map(id, values))) < len(values):
        return None
    if kind is list and _has_native_items(values):
        return LIST, _pack(values)
    if (
        kind is dict
        and _KEYS.issuperset(map(type, chain.from_iterable(values)))
        and _has_native_items(map(dict.values, values))
    ):
        return LIST, _pack(values)
    return None


def _has_native_items(values: Iterable[Iterable[Any]]) -> bool:
    return _NATIVE.issuperset(map(type, chain.from_iterable(values)))


def decode_plain(data: bytes) -> Any:
    """Return the value of bytes that begin with ``MARK``.

    :raises StateCorruptionError: the bytes were not written by ``encode_plain``.
    """
    return _decoded(data[1], memoryview(data)[2:])


class Wire:
    """Encodes the content of one value."""

    def __init__(self) -> None:
        self._seen: set[int] = set()  # lists, dicts and rows met so far
        self._depth = 0

    def node(self, value: Any) -> tuple[int, bytes]:
        """Return the code of the kind of a value, and its content."""
        encode = _ENCODERS.get(type(value))
        return self.other(value) if encode is None else encode(self, value)

    def other(self, value: Any) -> tuple[int, bytes]:
        """As ``node``, for values that are not plain."""
        raise NotPlainError

    def items(self, values: Iterable[Any]) -> list[Any]:  # hot
        """Return values in a form that MessagePack takes."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise NotPlainError
        found: list[Any] = []
        for value in values:
            kind = type(value)
            if kind not in _NATIVE:
                if kind is list:
                    self.once(value)
                    if not _NATIVE.issuperset(map(type, value)):
                        value = self.items(value)
                elif kind is dict and _KEYS.issuperset(map(type, value)):
                    self.once(value)
                    if not _NATIVE.issuperset(map(type, value.values())):
                        value = dict(zip(value, self.items(value.values()), strict=True))
                else:
                    value = Ext(*self.node(value))
            found.append(value)
        self._depth -= 1
        return found

    def native_keys(self, keys: Iterable[Any]) -> bool:
        """Return true if MessagePack round-trips these keys."""
        return _KEYS.issuperset(map(type, keys))

    def once(self, value: Any) -> None:
        """Record a mutable object.

        :raises NotPlainError: it was met before.
        """
        if id(value) in self._seen:
            raise NotPlainError
        self._seen.add(id(value))


class CarefulWire(Wire):
    """For values with numbers or text that MessagePack does not take: each collection is a node."""

    def items(self, values: Iterable[Any]) -> list[Any]:
        self._depth += 1
        if self._depth > _DEPTH:
            raise NotPlainError
        found = [value if _is_taken(value) else Ext(*self.node(value)) for value in values]
        self._depth -= 1
        return found

    def native_keys(self, keys: Iterable[Any]) -> bool:
        return all(type(key) is str and _encodable(key) for key in keys)


def _is_taken(value: Any) -> bool:
    """Return true if MessagePack round-trips the value."""
    kind = type(value)
    if kind is int:
        return bool(-(1 << 63) <= value < 1 << 64)
    return _encodable(value) if kind is str else kind in _NATIVE


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ---- how each kind is written


def _of_list(wire: Wire, value: list[Any]) -> tuple[int, bytes]:
    wire.once(value)
    return LIST, _pack(wire.items(value))


def _of_tuple(wire: Wire, value: tuple[Any, ...]) -> tuple[int, bytes]:
    return TUPLE, _pack(wire.items(value))


def _of_dict(wire: Wire, value: dict[Any, Any]) -> tuple[int, bytes]:
    if not wire.native_keys(value):
        return _of_pairs(wire, value)
    wire.once(value)
    return DICT, _pack(dict(zip(value, wire.items(value.values()), strict=True)))


def _of_pairs(wire: Wire, value: dict[Any, Any]) -> tuple[int, bytes]:
    wire.once(value)
    return PAIRS, _pack(wire.items(list(chain.from_iterable(value.items()))))


def _of_row(wire: Wire, value: Row) -> tuple[int, bytes]:
    wire.once(value)
    fields = value._fields
    if fields is not None and not all(type(name) is str for name in fields):
        raise NotPlainError
    values = wire.items(value._values)
    if value._row_kind is RowKind.INSERT:
        return ROW, _pack((values, fields))
    return ROW_OF_KIND, _pack((values, fields, value._row_kind.value))


def _of_set(wire: Wire, value: set[Any]) -> tuple[int, bytes]:
    wire.once(value)
    return SET, _pack(wire.items(value))


def _of_frozenset(wire: Wire, value: frozenset[Any]) -> tuple[int, bytes]:
    return FROZENSET, _pack(wire.items(value))


def _of_integer(wire: Wire, value: int) -> tuple[int, bytes]:
    return INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _of_text(wire: Wire, value: str) -> tuple[int, bytes]:
    return TEXT, value.encode("utf-8", "surrogatepass")


def _of_moment(code: int) -> Callable[[Wire, Any], tuple[int, bytes]]:
    """Encode times and datetimes: the fields as Python packs them, and the UTC offset of a fixed-offset
    zone."""

    def encode(wire: Wire, value: Any) -> tuple[int, bytes]:
        packed, *zone = value.__reduce_ex__(4)[1]
        return code, packed + (_zone_bytes(zone[0]) if zone else _NO_ZONE)

    return encode


def _zone_bytes(zone: dt.tzinfo) -> bytes:
    # It has daylight saving rules, or a name, of which only pickle's method tells (typeshed has it not).
    if type(zone) is not dt.timezone or len(zone.__getinitargs__()) > 1:  # type: ignore[attr-defined]
        raise NotPlainError
    offset = zone.utcoffset(None)
    return _UTC_OFFSET.pack(offset.days * 86_400 + offset.seconds, offset.microseconds)


_ENCODERS: Final[dict[type, Callable[[Wire, Any], tuple[int, bytes]]]] = {
    list: _of_list,
    tuple: _of_tuple,
    dict: _of_dict,
    Row: _of_row,
    set: _of_set,
    frozenset: _of_frozenset,
    int: _of_integer,
    str: _of_text,
    type(None): lambda wire, value: (NONE, b""),
    bytearray: lambda wire, value: (BYTEARRAY, bytes(value)),
    dt.date: lambda wire, value: (DATE, value.__reduce__()[1][0]),
    dt.time: _of_moment(TIME),
    dt.datetime: _of_moment(DATETIME),
    dt.timedelta: lambda wire, value: (
        TIMEDELTA,
        _TIMEDELTA.pack(value.days, value.seconds, value.microseconds),
    ),
    Decimal: lambda wire, value: (DECIMAL, str(value).encode()),
    uuid.UUID: lambda wire, value: (UUID, value.bytes),
    Instant: lambda wire, value: (INSTANT, _INSTANT.pack(value.seconds, value.nanos)),
}


# ---- how each kind is read

Decode = Callable[[memoryview], Any]


def decoder(more: Callable[[Decode], dict[int, Decode]] | None = None) -> Callable[[int, memoryview], Any]:
    """Return the function that decodes a value from the code of its kind and its content.

    :param more: further kinds, each with the function that reads the MessagePack of its content.
    """

    def decoded(code: int, content: memoryview) -> Any:
        try:
            return kinds[code](content)
        except (LookupError, ValueError, TypeError, ArithmeticError, struct.error, MsgspecError) as error:
            raise StateCorruptionError(
                "A stored value cannot be read.", detail=f"of kind {code}: {type(error).__name__}: {error}"
            ) from error

    unpack = msgspec.msgpack.Decoder(ext_hook=decoded).decode
    kinds = _decoders(unpack) | ({} if more is None else more(unpack))
    return decoded


def _pairs(flat: list[Any]) -> dict[Any, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _moment(kind: type, size: int) -> Decode:
    def decode(content: memoryview) -> Any:
        packed, zone = bytes(content[:size]), content[size:]
        if not zone:
            return kind(packed)
        seconds, micros = _UTC_OFFSET.unpack(zone)
        return kind(packed, dt.timezone(dt.timedelta(seconds=seconds, microseconds=micros)))

    return decode


def _decoders(unpack: Decode) -> dict[int, Decode]:
    return {
        LIST: unpack,
        TUPLE: lambda content: tuple(unpack(content)),
        TUPLES: _unpack_tuples,
        TUPLE_OF_TUPLES: _unpack_tuple_of_tuples,
        DICT: unpack,
        PAIRS: lambda content: _pairs(unpack(content)),
        ROW: lambda content: _make_row(*unpack(content)),
        ROW_OF_KIND: lambda content: _make_row_of(*unpack(content)),
        SET: lambda content: set(unpack(content)),
        FROZENSET: lambda content: frozenset(unpack(content)),
        BYTEARRAY: bytearray,
        NONE: lambda content: None,
        INTEGER: lambda content: int.from_bytes(content, "big", signed=True),
        TEXT: lambda content: str(content, "utf-8", "surrogatepass"),
        DATE: lambda content: dt.date(bytes(content)),  # type: ignore[call-arg,arg-type]  # as pickle does
        TIME: _moment(dt.time, 6),
        DATETIME: _moment(dt.datetime, 10),
        TIMEDELTA: lambda content: dt.timedelta(*_TIMEDELTA.unpack(content)),
        DECIMAL: lambda content: Decimal(str(content, "ascii")),
        UUID: lambda content: uuid.UUID(bytes=bytes(content)),
        INSTANT: lambda content: Instant(*_INSTANT.unpack(content)),
    }


_decoded: Final = decoder()
