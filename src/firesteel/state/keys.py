"""Keys of state: their typed bytes, their identity in dictionaries and their key group.

Python's own ``hash`` is salted for each process and takes ``1``, ``1.0`` and ``True`` for the same key, so
keys are told apart by *typed bytes* that are equal in every process. The key group follows Flink
(``KeyGroupRangeAssignment``): murmur over Java's hash code.
"""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Any, Final

from firesteel.common.key_groups import default_max_parallelism, key_group_range, subtask_of
from firesteel.state._key_codec import decode_key, encode_key, join_bytes, split_namespace

__all__ = [
    "NO_KEY",
    "SELF_CANONICAL",
    "are_canonical",
    "canonical",
    "canonical_keys",
    "decode_key",
    "default_max_parallelism",
    "encode_key",
    "group_of_canonical",
    "key_group",
    "key_group_range",
    "key_hash",
    "raw_key",
    "settled",
    "split_canonical",
    "subtask_of",
    "with_namespace",
]

_MASK: Final = 0xFFFFFFFF
_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1


class _NoKey:
    """Stands where no key is current. It cannot be hashed, so any access to keyed state through it fails
    with a clear error and the hot paths need no check of their own."""

    __slots__ = ()

    def __hash__(self) -> int:
        # Imported here: the error is rare, and the codec stays free of the state package's errors.
        from firesteel.common.errors import StateError

        raise StateError(
            "Keyed state and timers belong to a key, and there is no current key here.",
            hint="use them while an element or a timer is processed (not in open() or close()), "
            "on a stream that was keyed with key_by()",
        )

    def __repr__(self) -> str:
        return "NO_KEY"


NO_KEY: Final = _NoKey()


def canonical(obj: Any) -> str | int | bytes:  # hot
    """The identity of a key in dictionaries: a str or an int itself, of everything else its typed bytes.

    Raises UnstableKeyError for what has no stable identity.
    """
    kind = type(obj)
    if kind is str or kind is int:
        plain: str | int = obj
        return plain
    data = encode_key(obj)
    return decode_key(data) if data[0] in b"si" else data  # NumPy: text and numbers


#: The classes of keys that are their own identity.
SELF_CANONICAL: Final = frozenset((str, int))

#: The classes of keys that nobody can change and that are read back as they were.
_SETTLED: Final = frozenset(
    (
        str,
        int,
        float,
        bool,
        type(None),
        bytes,
        dt.date,
        dt.datetime,
        dt.time,
        dt.timedelta,
        Decimal,
        uuid.UUID,
    )
)


def canonical_keys(keys: list[Any]) -> list[Any]:  # hot
    """The identities of ``keys``: the same list where each key is its own identity."""
    return keys if are_canonical(keys) else [canonical(key) for key in keys]


def are_canonical(keys: list[Any]) -> bool:  # hot
    """Whether each of ``keys`` is its own identity."""
    return SELF_CANONICAL.issuperset(map(type, keys))


def settled(keys: list[Any], canon: list[Any]) -> list[Any]:  # hot
    """The keys as functions see them: what reading ``canon``, their identities, gives back.

    A key that may change, as a list or an object, becomes a copy of its own, and a NumPy scalar its Python
    value: what a key is that comes back from a snapshot.
    """
    kinds = set(map(type, keys))
    parts = keys
    while tuple in kinds:
        kinds.discard(tuple)
        parts = list(chain.from_iterable(part for part in parts if type(part) is tuple))
        kinds.update(map(type, parts))
    if _SETTLED.issuperset(kinds) or all(kind in _SETTLED or issubclass(kind, Enum) for kind in kinds):
        return keys
    return [raw_key(key) for key in canon]


def raw_key(key: str | int | bytes) -> Any:
    """The user's key for a canonical one."""
    return decode_key(key) if type(key) is bytes else key


def with_namespace(key: str | int | bytes, namespace: bytes) -> bytes:
    """The canonical key of what is kept for a key *and* a namespace, such as a window; set as the current
    key it gives that state. Its key group is the key's."""
    return b"w" + join_bytes(encode_key(key) if type(key) is not bytes else key, namespace)


def split_canonical(key: str | int | bytes) -> tuple[str | int | bytes, bytes | None]:
    """The key and the namespace of what ``with_namespace`` gave; the namespace is None for any other key."""
    if type(key) is not bytes or key[0] != 0x77:
        return key, None
    inner, namespace = split_namespace(key)
    return (decode_key(inner) if inner[0] in b"si" else inner), namespace


def group_of_canonical(key: str | int | bytes, max_parallelism: int) -> int:
    """The key group of a canonical key."""
    if type(key) is str:
        return _murmur(_string_hash(key)) % max_parallelism
    if type(key) is bytes:
        if key[0] == 0x77:
            return group_of_canonical(split_canonical(key)[0], max_parallelism)
        if key[0] == 0x68:  # of columns: it has its hash code with it (``column_keys``)
            return _murmur(int.from_bytes(key[1:5], "big")) % max_parallelism
        return _murmur(_bytes_hash(key)) % max_parallelism
    return _murmur(key_hash(key)) % max_parallelism


def key_group(obj: Any, max_parallelism: int) -> int:  # hot
    """The key group of a key, equal in every process; for str and int the one that Flink gives it.

    >>> [key_group(k, 128) for k in ("a", "b", "c")]
    [81, 22, 62]
    """
    return _murmur(key_hash(obj)) % max_parallelism


def key_hash(obj: Any) -> int:
    """A stable 32-bit hash: Java's ``String.hashCode`` and ``Long.hashCode``, else one over typed bytes."""
    kind = type(obj)
    if kind is str:
        return _string_hash(obj)
    if kind is int and _INT64_MIN <= obj <= _INT64_MAX:
        bits: int = obj & 0xFFFFFFFFFFFFFFFF
        return (bits ^ (bits >> 32)) & _MASK
    name = encode_key(obj) if kind is int else canonical(obj)
    return _bytes_hash(name) if type(name) is bytes else key_hash(name)


def _bytes_hash(data: bytes) -> int:
    value = 0
    for piece in _pieces(data):
        for byte in piece:
            value = value * 31 + byte
        value &= _MASK
    return value


def _string_hash(text: str) -> int:
    value = 0
    if text.isascii():
        data = text.encode("ascii")
        if len(data) <= 64:  # one big sum is faster than a mask for each character
            for unit in data:
                value = value * 31 + unit
            return value & _MASK
        return _bytes_hash(data)
    wide = text.encode("utf-16-le", "surrogatepass")  # Java hashes UTF-16 code units
    for low, high in zip(wide[::2], wide[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & _MASK
    return value


def _pieces(data: bytes) -> list[bytes]:
    return [data[i : i + 64] for i in range(0, len(data), 64)]


def _murmur(code: int) -> int:
    """One round of murmur3 on a 32-bit code and its finaliser, made non-negative as Flink does it."""
    code = code * 0xCC9E2D51 & _MASK
    code = (code << 15 | code >> 17) & _MASK
    code = code * 0x1B873593 & _MASK
    code = (code << 13 | code >> 19) & _MASK
    code = (code * 5 + 0xE6546B64) & _MASK
    code ^= 4
    code ^= code >> 16
    code = code * 0x85EBCA6B & _MASK
    code ^= code >> 13
    code = code * 0xC2B2AE35 & _MASK
    code ^= code >> 16
    if code < 0x80000000:
        return code
    return 0x100000000 - code if code != 0x80000000 else 0
