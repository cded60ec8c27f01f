"""How values of state become bytes, and what the cache may keep as it is.

*Atoms* cannot be changed by anybody, so the cache holds the object itself; of everything else it holds the
bytes. In the cache ``type(v) is bytes`` therefore always means "encoded", also for the user's own bytes.

Simple values are msgpack, all others pickle (protocol 5). The first byte tells: a pickle begins with 0x80,
msgpack begins with it only for an empty map, which is never written here.
"""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from decimal import Decimal
from typing import Any, Final

import cloudpickle
import msgspec

from firesteel.common._map_all import map_all
from firesteel.common.errors import StateError

#: What a deleted entry holds, in the cache and in runs. It is msgpack's nil, so encoding "no value" in bulk
#: needs no branch; a None that is a value is pickled.
TOMBSTONE: Final = b"\xc0"
NONE_VALUE: Final = pickle.dumps(None, 5)

#: Types that msgpack gives back exactly (ints outside 64 bits are pickled instead).
PLAIN: Final = frozenset((int, str, float, bool, type(None)))
_SCALARS: Final = frozenset((int, str, float, bool))
#: Types whose values nobody can change. A tuple is one when all of its items are.
ATOMS: Final = _SCALARS | {dt.date, dt.datetime, dt.time, dt.timedelta, Decimal, uuid.UUID}
_TUPLE_ITEMS: Final = ATOMS | {type(None), bytes}

pack: Final = msgspec.msgpack.Encoder().encode
unpack: Final = msgspec.msgpack.Decoder().decode
_unpack_tuple: Final = msgspec.msgpack.Decoder(tuple).decode
_dumps: Final = pickle.dumps
_loads: Final = pickle.loads


def dumps(value: Any) -> bytes:
    """Pickle; by cloudpickle what pickle refuses (classes and functions of the user's script)."""
    try:
        return _dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    try:
        return cloudpickle.dumps(value, 5)  # type: ignore[no-any-return]
    except Exception as error:
        raise StateError(
            f"A value of type {type(value).__module__}.{type(value).__qualname__} cannot be stored in state.",
            detail=str(error),
            hint="store plain data; keep connections, locks and models in attributes made in open()",
        ) from error


def encode_value(value: Any) -> bytes:
    """The bytes of a value that is not None (None: as a value of its own, not as absence)."""
    kind = type(value)
    if kind in _SCALARS or (kind is tuple and value and PLAIN.issuperset(map(type, value))):
        try:
            return pack(value)
        except (OverflowError, UnicodeEncodeError):
            return _dumps(value, 5)
    return dumps(value)


def decode_value(data: bytes) -> Any:
    first = data[0]
    if first == 0x80:
        return _loads(data)
    if 0x90 <= first <= 0x9F or first == 0xDC or first == 0xDD:
        return _unpack_tuple(data)
    return unpack(data)


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
    kind = type(cached)
    if kind is bytes:
        return cached  # type: ignore[no-any-return]
    if kind in PLAIN:
        try:
            return pack(cached)
        except (OverflowError, UnicodeEncodeError):
            return _dumps(cached, 5)
    return encode_value(cached)


def encode_all(cached: list[Any]) -> list[bytes]:  # hot
    """``encode_cached`` of each, fast when all are plain."""
    if PLAIN.issuperset(map(type, cached)):
        try:
            return list(map(pack, cached))
        except (OverflowError, UnicodeEncodeError):
            pass
    return map_all(encode_cached, cached)
