"""Sorted run files: the one format of deltas and segments.

A run holds entries sorted by key; the first two bytes of a key are its key group, so a run is sorted by group
too. An entry is a key and a value, and the value ``TOMBSTONE`` says that the key was deleted::

    block*                      msgpack [[keys], [values]], up to BLOCK_ENTRIES entries, about BLOCK_BYTES
    index                       msgpack [first keys, last key, offsets, lengths, counts, crc32s, filter]
    footer                      index offset, index length, index crc32, entries, version, magic

All offsets are relative to the run's start, so a run may lie anywhere within a larger file. Its digest names
the run: two attempts that compute the same epoch write the same file. It is the blake2b-128 of all bytes, and
behind a hyphen the crc32 of the footer. That has the checksum of the index, which has those of the blocks: so
who knows the digest sees at once, without reading it all, that another run lies where this one belongs.

The filter (a Bloom filter with two bits for each key; empty when there is one block) says of 99 of 100 keys
that the run does not hold that it does not, without a look at a block. So many runs may lie over each other.
Beside each key it knows its head, where that is not all of it: of the entries that a key has in one column.
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

__all__ = ["TOMBSTONE", "Run", "RunWriter", "encode_run", "group_bytes", "group_of", "mark_of"]

#: What a run knows of each of its keys.
mark_of = crc32

BLOCK_ENTRIES: Final = 128
BLOCK_BYTES: Final = 32 * 1024
_READ_AHEAD: Final = 512 * 1024  # bytes
_FILTER_BITS: Final = 12  # for each key, at least; twice as many at most
_MIX: Final = 0x9E3779B1
_MARKED_AT_ONCE: Final = 1 << 20  # keys; some 30 bytes of memory for each
_MAGIC: Final = b"FSRUN1"
_VERSION: Final = 4
_WITHOUT_FILTER: Final = 1
_READ: Final = (_WITHOUT_FILTER, 2, 3, _VERSION)  # in 2, values that are plain are pickled
_COLUMN_BYTES: Final = 6
_FOOTER: Final = struct.Struct("<QQIQH6s")

_pack = msgspec.msgpack.Encoder().encode
_unpack_block = msgspec.msgpack.Decoder(tuple[list[bytes], list[bytes]]).decode
_unpack_old_index = msgspec.msgpack.Decoder(tuple[list[bytes], bytes, bytes, bytes, bytes, bytes]).decode
_unpack_index = msgspec.msgpack.Decoder(tuple[list[bytes], bytes, bytes, bytes, bytes, bytes, bytes]).decode


def group_bytes(group: int) -> bytes:
    return group.to_bytes(2, "big")


def group_of(key: bytes) -> int:
    return key[0] << 8 | key[1]


def _head_of(key: bytes) -> bytes:
    """Key group, typed key and column, as docs/state-format.md has them."""
    length, at = (key[2], 3) if key[2] < 0xFF else (int.from_bytes(key[3:7], "big"), 7)
    return key[: at + length + _COLUMN_BYTES]


class RunWriter:
    """Makes a run of entries that come in order; of each it holds 4 bytes, of the last ones all.

    :param write: takes the bytes of the run as they come.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._hash = hashlib.blake2b(digest_size=16)
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._firsts: list[bytes] = []
        self.last_key = b""
        self._lengths = array("Q")
        self._counts = array("I")
        self._crcs = array("I")
        self._marks = array("I")
        self._last_head = b""
        self.entries = 0
        self.length = 0

    def add(self, keys: list[bytes], values: list[bytes]) -> None:
        """Append entries, which must be sorted, distinct and greater than all that were added before."""
        self.entries += len(keys)
        if self._keys:
            keys, values = self._keys + keys, self._values + values
        whole = len(keys) - len(keys) % BLOCK_ENTRIES
        self._add_blocks(keys, values, whole)
        self._keys, self._values = keys[whole:], values[whole:]

    def _add_blocks(self, keys: list[bytes], values: list[bytes], end: int) -> None:  # hot
        for start in range(0, end, BLOCK_ENTRIES):
            for low, high in _cut(values, start, min(start + BLOCK_ENTRIES, end)):
                block = _pack((keys[low:high], values[low:high]))
                self._firsts.append(keys[low])
                self._counts.append(high - low)
                self._lengths.append(len(block))
                self._crcs.append(crc32(block))
                self._put(block)
        if end:
            self.last_key = keys[end - 1]
            self._mark(keys[:end])

    def _mark(self, keys: list[bytes]) -> None:  # hot
        self._marks.extend(map(crc32, keys))
        shortest = 3 + _COLUMN_BYTES
        heads = {
            key[: shortest + key[2]] if key[2] < 0xFF else _head_of(key)
            for key in keys
            if len(key) > shortest
        }
        heads.difference_update(keys)
        heads.discard(self._last_head)  # how often it is marked must not depend on where the entries are cut
        self._marks.extend(map(crc32, heads))
        self._last_head = _head_of(keys[-1]) if len(keys[-1]) > shortest else b""

    def _put(self, data: bytes) -> None:
        self._hash.update(data)
        self.length += len(data)
        self._write(data)

    def finish(self) -> str:
        """Write what is left, and the end of the run; there must be an entry. Returns the digest."""
        self._add_blocks(self._keys, self._values, len(self._keys))
        filter = _filter(self._marks) if len(self._lengths) > 1 else b""
        offsets = array("Q", accumulate(self._lengths, initial=0))
        offsets.pop()
        arrays = [_little(a).tobytes() for a in (offsets, self._lengths, self._counts, self._crcs)]
        index = _pack((self._firsts, self.last_key, *arrays, filter))
        offset = self.length
        self._put(index)
        footer = _FOOTER.pack(offset, len(index), crc32(index), self.entries, _VERSION, _MAGIC)
        self._put(footer)
        return f"{self._hash.hexdigest()}-{crc32(footer):08x}"


def encode_run(keys: list[bytes], values: list[bytes]) -> tuple[bytes, str]:
    """The bytes of a run and its digest. ``keys`` must be sorted and distinct, and not empty."""
    parts: list[bytes] = []
    writer = RunWriter(parts.append)
    writer.add(keys, values)
    digest = writer.finish()
    return b"".join(parts), digest


def _filter(marks: array[int]) -> bytes:  # hot
    import numpy as np  # tasks have it with Arrow; programs that only look at runs do without

    width = max(3, (_FILTER_BITS * len(marks) - 1).bit_length())
    bits = np.zeros(1 << (width - 3), np.uint8)
    every = np.frombuffer(marks, np.uint32)
    for start in range(0, len(marks), _MARKED_AT_ONCE):
        some = every[start : start + _MARKED_AT_ONCE]
        low = some & np.uint32((1 << width) - 1)
        high = some * np.uint32(_MIX) >> np.uint32(32 - width)
        for places in (low, high):
            in_byte = (places & np.uint32(7)).astype(np.uint8)
            np.bitwise_or.at(bits, places >> np.uint32(3), np.left_shift(np.uint8(1), in_byte))
    return bits.tobytes()


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


#: Keys and values of a block -> the values that are given in their place.
ConvertValues = Callable[[list[bytes], list[bytes]], list[bytes]]


class Run:
    """An open run, or a view of its key groups ``first_group``..``last_group``.

    :param name: names the run in errors.
    :param length: its length in bytes.
    :param read: gives the bytes from an offset on, of a length; fewer where the run ends before.
    :param digest: that it must have; without the part behind the hyphen, as older releases wrote it, any run
        will do.
    :param convert: what is done to the values of a block as it is read.
    :param will_read: is told of all bytes before they are read, of those of a scan some time before.

    Nothing is read before it is needed. Raises StateCorruptionError when a checksum or a length is wrong.
    """

    __slots__ = (
        "_cached_block",
        "_cached_number",
        "_convert",
        "_counts",
        "_crcs",
        "_digest",
        "_entries",
        "_filter",
        "_firsts",
        "_knows_heads",
        "_last",
        "_lengths",
        "_mask",
        "_offsets",
        "_read",
        "_shift",
        "_will_read",
        "length",
        "name",
    )

    def __init__(
        self,
        name: str,
        length: int,
        read: Callable[[int, int], bytes | memoryview],
        digest: str = "",
        convert: ConvertValues | None = None,
        will_read: Callable[[int, int], object] = lambda offset, length: None,
    ) -> None:
        self.name = name
        self._digest = digest
        self.length = length
        self._read = read
        self._will_read = will_read
        self._convert = convert
        self._firsts: list[bytes] | None = None
        self._last = b""
        self._entries = 0
        self._filter = b""
        self._knows_heads = False
        self._mask = self._shift = 0
        self._cached_number = -1
        self._cached_block: tuple[list[bytes], list[bytes]] = ([], [])

    @classmethod
    def of_bytes(cls, data: bytes | memoryview, name: str = "run in memory") -> Run:
        view = memoryview(data)
        return cls(name, len(data), lambda offset, length: view[offset : offset + length])

    def _open(self) -> list[bytes]:
        if self._firsts is None:
            self._load_index()
        assert self._firsts is not None
        return self._firsts

    def _load_index(self) -> None:
        size = _FOOTER.size
        footer = self._fetch(self.length - size, size) if self.length >= size else b""
        if len(footer) != size:
            raise self._corrupt("the file is too short", "footer")
        offset, length, crc, entries, version, magic = _FOOTER.unpack(footer)
        if magic != _MAGIC:
            raise self._corrupt("this is not a state file, or its end is damaged", "footer")
        if version not in _READ:
            raise self._corrupt(f"the format has version {version}, this release reads {_VERSION}", "footer")
        expected = self._digest.partition("-")[2]
        if expected and expected != f"{crc32(footer):08x}":
            raise self._corrupt("it is another state file than the one that belongs here", "footer")
        data = self._fetch(offset, length)
        if len(data) != length or offset + length + size != self.length or crc32(data) != crc:
            raise self._corrupt("wrong checksum or length", "index")
        try:
            if version != _WITHOUT_FILTER:
                firsts, self._last, offsets, lengths, counts, crcs, filter = _unpack_index(data)
            else:
                firsts, self._last, offsets, lengths, counts, crcs = _unpack_old_index(data)
                filter = b""
            self._offsets = _array("Q", offsets)
            self._lengths = _array("Q", lengths)
            self._counts = _array("I", counts)
            self._crcs = _array("I", crcs)
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._corrupt(str(error), "index") from error
        columns = (self._offsets, self._lengths, self._counts, self._crcs)
        if not firsts or {len(column) for column in columns} != {len(firsts)}:
            raise self._corrupt("its blocks are not all described", "index")
        if entries != sum(self._counts):
            raise self._corrupt(f"{entries} entries are not {sum(self._counts)}", "footer")
        self._entries = entries
        self._filter = filter
        self._knows_heads = version == _VERSION
        self._mask = 8 * len(filter) - 1
        self._shift = 32 - self._mask.bit_length()
        self._firsts = firsts

    def _fetch(self, offset: int, length: int) -> bytes | memoryview:
        self._will_read(offset, length)
        return self._read(offset, length)

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

    def block(self, number: int, announced: bool = False) -> tuple[list[bytes], list[bytes]]:
        """Keys and values of a block; the last one asked for is kept."""
        if number == self._cached_number:
            return self._cached_block
        self._open()
        length = self._lengths[number]
        data = (self._read if announced else self._fetch)(self._offsets[number], length)
        if len(data) != length or crc32(data) != self._crcs[number]:
            raise self._corrupt("wrong checksum or length", f"block {number}")
        try:
            block = _unpack_block(data)
        except msgspec.MsgspecError as error:
            raise self._corrupt(str(error), f"block {number}") from error
        if self._convert is not None:
            block = block[0], self._convert(*block)
        self._cached_number = number
        self._cached_block = block
        return block

    def may_hold(self, mark: int) -> bool:  # hot
        """Whether there may be a key with this mark (``mark_of``)."""
        if self._firsts is None:
            self._open()
        bits = self._filter
        if not bits:
            return True
        one = mark & self._mask
        if not bits[one >> 3] >> (one & 7) & 1:
            return False
        two = (mark * _MIX & 0xFFFFFFFF) >> self._shift
        return bool(bits[two >> 3] >> (two & 7) & 1)

    def may_hold_head(self, mark: int) -> bool:
        """Whether there may be a key with a head of this mark."""
        return self.may_hold(mark) or not self._knows_heads

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
        announced = number
        while number < end:
            if number >= announced:
                announced = self._announce(number, end)
            keys, values = self.block(number, True)
            low = bisect_left(keys, start) if start is not None and keys[0] < start else 0
            high = bisect_left(keys, stop) if stop is not None and keys[-1] >= stop else len(keys)
            if low or high != len(keys):
                keys, values = keys[low:high], values[low:high]
            if keys:
                yield keys, values
            number += 1

    def _announce(self, number: int, end: int) -> int:
        """Announce that blocks from ``number`` up to ``end`` will be read: some now, and as many after them,
        which the disk can fetch in the meantime. Return the block at which to announce more."""
        start = self._offsets[number]
        half = bisect_left(self._offsets, start + _READ_AHEAD, number, end)
        stop = bisect_left(self._offsets, start + 2 * _READ_AHEAD, half, end) - 1
        self._will_read(start, self._offsets[stop] + self._lengths[stop] - start)
        return max(half, number + 1)

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
