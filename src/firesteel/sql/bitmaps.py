"""BITMAP: sets of 32-bit integers, as bytes in Roaring's portable form.

Numbers are unsigned in here and in the text; ``INT -1`` is 4294967295.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

__all__ = ["BitmapError", "build", "cardinality", "numbers_of", "text_of", "to_bytes"]

_COOKIE: Final = 12346  # without run containers
_RUNS: Final = 12347
_ARRAY_MOST: Final = 4096
_OFFSETS_FROM: Final = 4

Numbers = np.ndarray[Any, np.dtype[np.uint32]]


class BitmapError(ValueError):
    """Bytes are no bitmap."""


def build(values: Iterable[int]) -> bytes:
    """The bitmap of signed or unsigned numbers."""
    return to_bytes(np.unique(np.fromiter((v & 0xFFFFFFFF for v in values), np.uint32)))


def to_bytes(numbers: Numbers) -> bytes:
    """The bitmap of numbers in order, each once."""
    keys = (numbers >> np.uint32(16)).astype(np.uint16)
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.empty(0, np.int64)
    ends = np.append(starts[1:], len(keys))[: len(starts)]
    head: list[bytes] = [struct.pack("<II", _COOKIE, len(starts))]
    bodies = [_container(numbers[a:b].astype(np.uint16)) for a, b in zip(starts, ends, strict=True)]
    for a, b in zip(starts, ends, strict=True):
        head.append(struct.pack("<HH", int(keys[a]), int(b - a - 1)))
    position = 8 + 8 * len(bodies)
    for body in bodies:
        head.append(struct.pack("<I", position))
        position += len(body)
    return b"".join([*head, *bodies])


def _container(low: np.ndarray[Any, np.dtype[np.uint16]]) -> bytes:
    if len(low) <= _ARRAY_MOST:
        return low.astype("<u2").tobytes()
    bits = np.zeros(65_536, np.uint8)
    bits[low] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def numbers_of(data: bytes) -> Numbers:
    """The numbers of a bitmap in order.

    :raises BitmapError: the bytes are none.
    """
    try:
        return _read(memoryview(data))
    except (struct.error, ValueError, IndexError) as error:
        raise BitmapError(f"The bytes are not a bitmap in Roaring's portable form: {error}") from error


def _read(data: memoryview) -> Numbers:
    cookie: int = struct.unpack_from("<I", data)[0]
    position = 4
    runs = b""
    if cookie & 0xFFFF == _RUNS:
        count = (cookie >> 16) + 1
        runs = bytes(data[position : position + (count + 7) // 8])
        position += len(runs)
    elif cookie == _COOKIE:
        count = struct.unpack_from("<I", data, position)[0]
        position += 4
    else:
        raise ValueError(f"unknown cookie {cookie}")
    if count > 65_536:
        raise ValueError(f"{count} containers")
    heads = [struct.unpack_from("<HH", data, position + 4 * i) for i in range(count)]
    position += 4 * count
    if not runs or count >= _OFFSETS_FROM:
        position += 4 * count
    parts: list[Any] = [np.empty(0, np.uint32)]
    for i, (key, less) in enumerate(heads):
        is_run = bool(runs) and runs[i // 8] >> (i % 8) & 1
        low, position = _numbers(data, position, less + 1, bool(is_run))
        parts.append(low.astype(np.uint32) + np.uint32(key << 16))
    return np.concatenate(parts)


def _numbers(data: memoryview, position: int, count: int, is_run: bool) -> tuple[Any, int]:
    if is_run:
        amount = struct.unpack_from("<H", data, position)[0]
        pairs = np.frombuffer(data, "<u2", amount * 2, position + 2).reshape(-1, 2).astype(np.uint32)
        return np.concatenate([np.arange(a, a + n + 1) for a, n in pairs]), position + 2 + 4 * amount
    if count <= _ARRAY_MOST:
        return np.frombuffer(data, "<u2", count, position), position + 2 * count
    bits = np.unpackbits(np.frombuffer(data, np.uint8, 8_192, position), bitorder="little")
    return np.flatnonzero(bits), position + 8_192


def cardinality(data: bytes) -> int:
    return len(numbers_of(data))


def text_of(data: bytes) -> str:
    return "{" + ",".join(map(str, numbers_of(data).tolist())) + "}"
