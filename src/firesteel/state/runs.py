"""Sorted run files: the one format of deltas and segments.

A run holds entries sorted by key; the first two bytes of a key are its key group, so a run is sorted by group
too. An entry is a key and a value, and the value ``TOMBSTONE`` says that the key was deleted::

    block*                      msgpack [[keys], [values]], up to BLOCK_ENTRIES entries, about BLOCK_BYTES
    index                       msgpack [first keys, last key, offsets, lengths, counts, crc32s]
    footer                      index offset, index length, index crc32, entries, version, magic

All offsets are relative to the run's start, so a run may lie anywhere within a larger file. The blake2b-128
digest of all bytes names the run: two attempts that compute the same epoch write the same file.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final
from zlib import crc32

import msgspec

from firesteel.common.errors import StateCorruptionError
from firesteel.state._value_codec import TOMBSTONE

__all__ = ["TOMBSTONE", "Run", "encode_run", "group_bytes", "group_of"]

BLOCK_ENTRIES: Final = 128
BLOCK_BYTES: Final = 128 * 1024
_MAGIC: Final = b"FSRUN1"
_VERSION: Final = 1
_FOOTER: Final = struct.Struct("<QQIQH6s")

_pack = msgspec.msgpack.Encoder().encode
_unpack_block = msgspec.msgpack.Decoder(tuple[list[bytes], list[bytes]]).decode
_unpack_index = msgspec.msgpack.Decoder(tuple[list[bytes], bytes, bytes, bytes, bytes, bytes]).decode


def group_bytes(group: int) -> bytes:
    return group.to_bytes(2, "big")


def group_of(key: bytes) -> int:
    return key[0] << 8 | key[1]


def encode_run(keys: list[bytes], values: list[bytes]) -> tuple[bytes, str]:  # hot
    """The bytes of a run and its digest. ``keys`` must be sorted and distinct, and not empty."""
    blocks: list[bytes] = []
    firsts: list[bytes] = []
    counts = array("I")
    total = len(keys)
    for start in range(0, total, BLOCK_ENTRIES):
        stop = min(start + BLOCK_ENTRIES, total)
        for low, high in _cut(values, start, stop):
            blocks.append(_pack((keys[low:high], values[low:high])))
            firsts.append(keys[low])
            counts.append(high - low)
    lengths = array("Q", map(len, blocks))
    offsets = array("Q", accumulate(lengths, initial=0))
    index_offset = offsets.pop()
    crcs = array("I", map(crc32, blocks))
    arrays = [_little(a).tobytes() for a in (offsets, lengths, counts, crcs)]
    index = _pack((firsts, keys[-1], *arrays))
    footer = _FOOTER.pack(index_offset, len(index), crc32(index), total, _VERSION, _MAGIC)
    blocks += (index, footer)
    data = b"".join(blocks)
    return data, digest_of(data)


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _cut(values: list[bytes], start: int, stop: int) -> list[tuple[int, int]]:
    """Blocks of large values hold fewer entries, so that reading one entry stays cheap."""
    if sum(map(len, values[start:stop])) <= BLOCK_BYTES or stop - start == 1:
        return [(start, stop)]
    middle = (start + stop) // 2
    return _cut(values, start, middle) + _cut(values, middle, stop)


def _little(values: array[int]) -> array[int]:
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        values.byteswap()
    return values


def _array(code: str, data: bytes) -> array[int]:
    values = array(code)
    values.frombytes(data)
    return _little(values)


class Run:
    """An open run, or a view of its key groups ``first_group``..``last_group``.

    :param name: names the run in errors.
    :param length: its length in bytes.
    :param read: gives the bytes from an offset on, of a length.

    Nothing is read before it is needed. Raises StateCorruptionError when a checksum or a length is wrong.
    """

    __slots__ = (
        "_cached_block",
        "_cached_number",
        "_counts",
        "_crcs",
        "_entries",
        "_firsts",
        "_last",
        "_lengths",
        "_offsets",
        "_read",
        "length",
        "name",
    )

    def __init__(self, name: str, length: int, read: Callable[[int, int], bytes]) -> None:
        self.name = name
        self.length = length
        self._read = read
        self._firsts: list[bytes] | None = None
        self._last = b""
        self._entries = 0
        self._cached_number = -1
        self._cached_block: tuple[list[bytes], list[bytes]] = ([], [])

    @classmethod
    def of_bytes(cls, data: bytes | memoryview, name: str = "run in memory") -> Run:
        view = memoryview(data)
        return cls(name, len(data), lambda offset, length: bytes(view[offset : offset + length]))

    def _open(self) -> list[bytes]:
        if self._firsts is None:
            self._load_index()
        assert self._firsts is not None
        return self._firsts

    def _load_index(self) -> None:
        size = _FOOTER.size
        footer = self._read(self.length - size, size) if self.length >= size else b""
        if len(footer) != size:
            raise self._corrupt("the file is too short", "footer")
        offset, length, crc, entries, version, magic = _FOOTER.unpack(footer)
        if magic != _MAGIC:
            raise self._corrupt("this is no state file, or its end is damaged", "footer")
        if version != _VERSION:
            raise self._corrupt(f"the format has version {version}, this release reads {_VERSION}", "footer")
        data = self._read(offset, length)
        if len(data) != length or offset + length + size != self.length or crc32(data) != crc:
            raise self._corrupt("wrong checksum or length", "index")
        firsts, self._last, offsets, lengths, counts, crcs = _unpack_index(data)
        self._offsets = _array("Q", offsets)
        self._lengths = _array("Q", lengths)
        self._counts = _array("I", counts)
        self._crcs = _array("I", crcs)
        self._entries = entries
        self._firsts = firsts

    def _corrupt(self, what: str, where: str) -> StateCorruptionError:
        return StateCorruptionError(
            f"The state file {self.name} is damaged: {what}.",
            detail=f"in its {where}",
            hint="restore the job from an older checkpoint or savepoint",
        )

    @property
    def entries(self) -> int:
        self._open()
        return self._entries

    @property
    def blocks(self) -> int:
        return len(self._open())

    @property
    def first_key(self) -> bytes:
        return self._open()[0]

    @property
    def last_key(self) -> bytes:
        self._open()
        return self._last

    def block(self, number: int) -> tuple[list[bytes], list[bytes]]:
        """Keys and values of a block; the last one asked for is kept."""
        if number == self._cached_number:
            return self._cached_block
        self._open()
        length = self._lengths[number]
        data = self._read(self._offsets[number], length)
        if len(data) != length or crc32(data) != self._crcs[number]:
            raise self._corrupt("wrong checksum or length", f"block {number}")
        try:
            block = _unpack_block(data)
        except msgspec.MsgspecError as error:
            raise self._corrupt(str(error), f"block {number}") from error
        self._cached_number = number
        self._cached_block = block
        return block

    def get(self, key: bytes) -> bytes | None:  # hot
        """The value of ``key`` (``TOMBSTONE``: deleted here), None when the run does not know it."""
        firsts = self._firsts
        if firsts is None:
            firsts = self._open()
        number = bisect_right(firsts, key) - 1
        if number < 0 or key > self._last:
            return None
        keys, values = self.block(number) if number != self._cached_number else self._cached_block
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            return values[at]
        return None

    def slices(
        self, start: bytes | None = None, stop: bytes | None = None
    ) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """Keys and values from ``start`` on and before ``stop``, in order, a block at a time."""
        firsts = self._open()
        number = 0 if start is None else max(0, bisect_right(firsts, start) - 1)
        end = len(firsts) if stop is None else bisect_left(firsts, stop)
        while number < end:
            keys, values = self.block(number)
            low = bisect_left(keys, start) if start is not None and keys[0] < start else 0
            high = bisect_left(keys, stop) if stop is not None and keys[-1] >= stop else len(keys)
            if low or high != len(keys):
                keys, values = keys[low:high], values[low:high]
            if keys:
                yield keys, values
            number += 1

    def scan_all(self) -> Iterator[tuple[bytes, bytes]]:
        for keys, values in self.slices():
            yield from zip(keys, values, strict=True)

    def scan_groups(self, first: int, last: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """The slices of the key groups ``first``..``last``, both included."""
        return self.slices(group_bytes(first), prefix_end(group_bytes(last)))

    def count_groups(self, first: int, last: int) -> float:
        """About how many entries the key groups ``first``..``last`` have: of the blocks at the ends a share
        is counted, as if their entries were spread evenly over their groups."""
        firsts = self._open()
        low = max(0, bisect_left(firsts, group_bytes(first)) - 1)
        stop = prefix_end(group_bytes(last))
        high = len(firsts) if stop is None else bisect_left(firsts, stop)
        if high - low <= 2:
            return sum(self._share(number, first, last) for number in range(low, high))
        inner = sum(self._counts[low + 1 : high - 1])
        return inner + self._share(low, first, last) + self._share(high - 1, first, last)

    def _share(self, number: int, first: int, last: int) -> float:
        firsts = self._open()
        low = group_of(firsts[number])
        high = group_of(firsts[number + 1] if number + 1 < len(firsts) else self._last)
        common = min(high, last) - max(low, first) + 1
        return self._counts[number] * common / (high - low + 1) if common > 0 else 0.0

    def verify(self) -> None:
        """Read every block. Raises StateCorruptionError at the first that is damaged."""
        for number in range(self.blocks):
            self.block(number)


def prefix_end(prefix: bytes) -> bytes | None:
    """The smallest key above all keys that begin with ``prefix``; None when there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,)) if trimmed else None
