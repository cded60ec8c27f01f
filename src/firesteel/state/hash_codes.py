"""Hash codes and key groups of many keys at once: those that ``state.keys`` gives one by one.

NumPy alone, which is there wherever Arrow is: a worker that never sees a column need not load more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from firesteel.state._key_codec import length_prefix

__all__ = [
    "Array",
    "bytes_of_ints",
    "codes_of_bytes",
    "codes_of_integers",
    "entry_starts",
    "groups_of_codes",
    "of_integers",
    "of_texts",
]

Array = np.ndarray[Any, Any]

_U32: Final = np.uint32


def of_texts(texts: Sequence[Any]) -> Array | None:
    """Java's ``String.hashCode`` of texts; None where one is not ASCII."""
    data = "".join(texts)
    if not data.isascii():
        return None
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return codes_of_bytes(np.frombuffer(data.encode("ascii"), np.uint8), lengths)


def of_integers(numbers: Sequence[Any]) -> Array | None:
    """Java's ``Long.hashCode`` of integers; None where one has more than 64 bits."""
    try:
        return codes_of_integers(np.array(numbers, np.int64))
    except OverflowError:
        return None


def codes_of_integers(numbers: Array) -> Array:
    """Java's ``Long.hashCode`` of numbers of 64 bits."""
    bits = numbers.view(np.uint64)
    return (bits ^ (bits >> np.uint64(32))).astype(_U32)


def codes_of_bytes(data: Array, lengths: Array) -> Array:
    """sum(byte[i] * 31 ** (n - 1 - i)), modulo 2 ** 32, of values whose bytes follow each other: of ASCII
    Java's ``String.hashCode``."""
    codes = np.zeros(len(lengths), _U32)
    if not len(data):
        return codes
    ends = np.cumsum(lengths, dtype=np.int64)
    units = data.astype(_U32)
    after = np.repeat(ends, lengths) - 1 - np.arange(len(units))
    units *= _powers(int(lengths.max()))[after]
    filled = lengths > 0
    codes[filled] = np.add.reduceat(units, (ends - lengths)[filled], dtype=_U32)
    return codes


def _powers(count: int) -> Array:
    global _known_powers
    if len(_known_powers) < count:
        powers = np.full(max(count, 256), 31, _U32)
        powers[0] = 1
        _known_powers = np.multiply.accumulate(powers, dtype=_U32)
    return _known_powers


_known_powers: Array = np.zeros(0, _U32)


def groups_of_codes(codes: Array, max_parallelism: int) -> Array:
    """The key group of each code, as Flink: one round of murmur3 and its finaliser, made non-negative."""
    code = codes * _U32(0xCC9E2D51)
    code = (code << _U32(15)) | (code >> _U32(17))
    code *= _U32(0x1B873593)
    code = (code << _U32(13)) | (code >> _U32(19))
    code = code * _U32(5) + _U32(0xE6546B64)
    code ^= _U32(4)
    code ^= code >> _U32(16)
    code *= _U32(0x85EBCA6B)
    code ^= code >> _U32(13)
    code *= _U32(0xC2B2AE35)
    code ^= code >> _U32(16)
    signed = np.abs(code.view(np.int32).astype(np.int64))
    signed[signed == 1 << 31] = 0
    return signed % max_parallelism


def entry_starts(groups: Array, keys: Sequence[bytes]) -> list[bytes]:  # hot
    """What stands before the typed bytes of keys in those of their entries: key group and length."""
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    if lengths.max(initial=0) >= 0xFF:
        pairs = zip(groups.tolist(), lengths.tolist(), strict=True)
        return [group.to_bytes(2, "big") + length_prefix(length) for group, length in pairs]
    starts = np.empty((len(keys), 3), np.uint8)
    starts[:, 0], starts[:, 1], starts[:, 2] = groups >> 8, groups & 0xFF, lengths
    found: list[bytes] = starts.view("V3").ravel().tolist()
    return found


_SIZES: Final = np.array([1 << (8 * size - 1) for size in range(1, 8)], np.uint64)


def bytes_of_ints(numbers: Sequence[int]) -> list[bytes] | None:  # hot
    """The typed bytes of each of many ints (``keys.encode_key``); None: some have more than 63 bits and a
    sign."""
    try:
        values = np.array(numbers, np.int64)
    except OverflowError:
        return None
    if values.min(initial=0) == -(2**63):
        return None
    sizes = np.searchsorted(_SIZES, np.abs(values).view(np.uint64), side="right") + 1
    big = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    out = np.empty(len(values), object)
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        data = np.empty((len(at), 2 + size), np.uint8)
        data[:, 0] = 0x69
        data[:, 1] = np.where(values[at] >= 0, 0x80 + size, 0x80 - size)
        data[:, 2:] = big[at, 8 - size :]
        out[at] = np.fromiter(data.view(f"V{2 + size}").ravel().tolist(), object, len(at))
    found: list[bytes] = out.tolist()
    return found
