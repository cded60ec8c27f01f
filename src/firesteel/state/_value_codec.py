"""How values of state become bytes, and what the cache may keep as it is.

*Atoms* cannot be changed by anybody, so the cache holds the object itself; of everything else it holds the
bytes. In the cache ``type(v) is bytes`` therefore always means "encoded", also for the user's own bytes.

Simple values are msgpack, plain ones as ``plain_values`` has them, all others pickle (protocol 5). The first
byte tells: a pickle begins with 0x80, with which msgpack begins an empty map alone, never written here; and
plain values begin with a byte that msgpack never uses. What earlier releases have pickled is read as it is.
"""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import cloudpickle
import msgspec

from firesteel.common._map_all import map_all
from firesteel.common.errors import StateError
from firesteel.storage import old_names
from firesteel.storage.plain_values import MARK, NotPlainError, decode_plain, encode_plain

#: What a deleted entry holds, in the cache and in runs. It is msgpack's nil, so encoding "no value" in bulk
#: needs no branch; a None that is a value is a plain value.
TOMBSTONE: Final = b"\xc0"
NONE_VALUE: Final = encode_plain(None)
_PICKLED_NONE: Final = pickle.dumps(None, 5)  # of earlier releases

#: Types that msgpack gives back exactly (but for ints outside 64 bits and half surrogate pairs).
PLAIN: Final = frozenset((int, str, float, bool, type(None)))
_SCALARS: Final = frozenset((int, str, float, bool))
#: Types whose values nobody can change. A tuple is one when all of its items are.
ATOMS: Final = _SCALARS | {dt.date, dt.datetime, dt.time, dt.timedelta, Decimal, uuid.UUID}
_TUPLE_ITEMS: Final = ATOMS | {type(None), bytes}

pack: Final = msgspec.msgpack.Encoder().encode
unpack: Final = msgspec.msgpack.Decoder().decode
_unpack_tuple: Final = msgspec.msgpack.Decoder(tuple).decode
_dumps: Final = pickle.dumps
_loads: Final = old_names.loads
_ELEMENTS: Final = PLAIN | {bytes}


def dumps(value: Any) -> bytes:
    """Pickle; by cloudpickle what pickle refuses (classes and functions of the user's script)."""
    try:
        return _dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    try:
        data: bytes = cloudpickle.dumps(value, 5)
    except Exception as error:
        raise StateError(
            f"A value of type {type(value).__module__}.{type(value).__qualname__} cannot be stored in state.",
            detail=str(error),
            hint="store plain data; keep connections, locks and models in attributes made in open()",
        ) from error
    return data


def encode_value(value: Any) -> bytes:
    """The bytes of a value (None: as a value of its own, not as absence)."""
    kind = type(value)
    if kind in _SCALARS or (kind is tuple and value and PLAIN.issuperset(map(type, value))):
        try:
            return pack(value)
        except (OverflowError, UnicodeEncodeError):
            pass
    elif kind is bytes:
        return pack(value)
    try:
        return encode_plain(value)
    except NotPlainError:
        return dumps(value)


def _reader_of(first: int) -> Callable[[bytes], Any]:
    """What reads the bytes of a value that begin with *first*."""
    if first == MARK:
        return decode_plain
    if first == 0x80:
        return _loads
    return _unpack_tuple if 0x90 <= first <= 0x9F or first in (0xDC, 0xDD) else unpack


_READERS: Final = tuple(map(_reader_of, range(256)))


def decode_value(data: bytes) -> Any:  # hot
    return _READERS[data[0]](data)


def is_none(cached: Any) -> bool:
    """Whether what the cache keeps is a None that is a value."""
    return cached in (NONE_VALUE, _PICKLED_NONE) if type(cached) is bytes else cached is None


def is_atom(value: Any) -> bool:
    """Whether the cache may keep the object itself. ``bytes`` never: there they mean "encoded"."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is tuple:
        return _TUPLE_ITEMS.issuperset(map(type, value)) or all(
            type(item) in _TUPLE_ITEMS or is_atom(item) for item in value
        )
    return False


def to_cached(value: Any) -> Any:
    """What the cache keeps of a user's value: an atom itself, else bytes."""
    return value if is_atom(value) else encode_value(value)


def encode_cached(cached: Any) -> bytes:
    """The bytes of what the cache keeps; None gives the tombstone."""
    if type(cached) is bytes:
        return cached
    if type(cached) in PLAIN:
        try:
            return pack(cached)
        except (OverflowError, UnicodeEncodeError):
            return encode_plain(cached)
    return encode_value(cached)


def encode_all(cached: list[Any]) -> list[bytes]:  # hot
    """``encode_cached`` of each, fast when all are plain."""
    if PLAIN.issuperset(map(type, cached)):
        try:
            return list(map(pack, cached))
        except (OverflowError, UnicodeEncodeError):
            pass
    return map_all(encode_cached, cached)


def encode_elements(cached: list[Any]) -> bytes:
    """The bytes of several values as the cache holds them, together."""
    if _ELEMENTS.issuperset(map(type, cached)):
        try:
            return pack(cached)
        except (OverflowError, UnicodeEncodeError):
            pass
    return pack([value if type(value) is bytes else encode_value(value) for value in cached])


def decode_elements(data: bytes) -> list[Any]:
    """Several values as the cache holds them: bytes are encoded."""
    elements: list[Any] = _loads(data) if data[0] == 0x80 else unpack(data)
    return elements
