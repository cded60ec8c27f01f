"""Where rows that are only added are stored: in *buckets*, parts of a key group by the hash of the key.

What an epoch adds to a bucket is one entry, so there are few entries, and the rows of a key are found by
reading its buckets. A group begins with one bucket. As the state grows new rows go to more and smaller ones,
so that a bucket stays about as large as what is worth reading for one key; what is stored already stays where
it is, so a key has a bucket for each *width* (bits of the hash) that its group has had.

An entry lies under a typed key of its own, which stands for the bucket::

    "p" | width (1) | the first bits of the hash, as a number (4)

and "p" alone has the width that new rows of the group go by, where it is not 0. The rest of the name is the
number of the epoch and of the entry within that (8), and how often it was put together of others (1). So the
names of the entries of a key are in the order in which its rows came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from firesteel.sql.operators.hash_index import mixed

__all__ = [
    "NAME_BYTES",
    "WIDTHS",
    "EntryTails",
    "Placed",
    "bucket_start",
    "hashes_of",
    "is_width",
    "level_of",
    "placed",
    "prefixes_of",
    "width_for",
    "width_start",
]

Array = np.ndarray[Any, Any]
_TAG: Final = b"p"
_HASH_BITS: Final = 32
#: All there may be.
WIDTHS: Final = tuple(range(0, 25, 3))
#: A bucket is about so large at most, unless it has many rows of few keys.
BUCKET_BYTES: Final = 128 << 10
#: So many entries of a bucket that follow each other and are alike become one.
TOGETHER: Final = 8
#: Entries of so many bytes stay as they are.
LARGE_BYTES: Final = 32 << 10
NAME_BYTES: Final = 9


def hashes_of(codes: Array) -> Array:
    """Hashes of 32 bits of keys, of which *codes* are the hash codes: key groups depend on those, too."""
    hashes: Array = mixed(codes) >> np.uint64(64 - _HASH_BITS)
    return hashes


def prefixes_of(hashes: Array, widths: Array | int) -> Array:
    """The first bits of hashes, as many as *widths* say."""
    found: Array = hashes >> (np.uint64(_HASH_BITS) - np.asarray(widths, np.uint64))
    return found.astype(np.int64)


def width_for(group_bytes: float) -> int:
    """The width for a key group of so many bytes."""
    return next((w for w in WIDTHS if group_bytes <= BUCKET_BYTES << w), WIDTHS[-1])


def bucket_start(group: int, width: int, prefix: int) -> bytes:
    """How the names of the entries of a bucket begin, up to the id of the state."""
    return group.to_bytes(2, "big") + b"\6" + _TAG + bytes((width,)) + prefix.to_bytes(4, "big")


def width_start(group: int) -> bytes:
    """How the name of the entry begins that has the width of a group, up to the id of the state."""
    return group.to_bytes(2, "big") + b"\1" + _TAG


def is_width(name: bytes) -> bool:
    """Whether an entry has the width of its group; all others have rows."""
    return name[2] == 1


def level_of(name: bytes) -> int:
    """How often an entry was put together of others."""
    return name[-1]


class Placed(NamedTuple):
    """Rows in the order of their buckets.

    :ivar order: their numbers. :ivar starts: where each bucket begins in that.
    :ivar heads: group, width and prefix of each bucket.
    """

    order: Array
    starts: Array
    heads: list[tuple[int, int, int]]


def placed(groups: Array, hashes: Array, width_of: Mapping[int, int]) -> Placed:
    """Put rows, at least one, into the buckets of their key groups and hashes; of each they stay in order."""
    low = int(groups.min())
    widths = np.zeros(int(groups.max()) - low + 1, np.int64)
    for group in np.unique(groups).tolist():
        widths[group - low] = width_of.get(group, 0)
    most = int(widths.max())
    of_rows = widths[groups - low]
    prefixes = prefixes_of(hashes, of_rows)
    places = (groups - low << most) | (prefixes << (most - of_rows))
    if len(widths) << most <= 1 << 16:
        order = np.argsort(places.astype(np.uint16), kind="stable")  # a radix sort
    else:
        order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    firsts = order[starts]
    columns = (groups[firsts], of_rows[firsts], prefixes[firsts])
    return Placed(order, starts, list(zip(*(c.tolist() for c in columns), strict=True)))


class EntryTails:
    """The entries of each bucket, as far as a process has seen them: all from some epoch on."""

    def __init__(self) -> None:
        self._of: dict[bytes, list[tuple[bytes, int]]] = {}  # rest of the name, size

    def add(self, bucket: bytes, name: bytes, size: int) -> None:
        """:param bucket: how the names of its entries begin. :param name: the rest. :param size: in bytes."""
        self._of.setdefault(bucket, []).append((name, size))

    def remove(self, bucket: bytes, name: bytes) -> None:
        """An entry was deleted. It may never have been seen."""
        tail = self._of.get(bucket, [])
        tail[:] = [entry for entry in tail if entry[0] != name]

    def due(self, bucket: bytes) -> list[bytes]:
        """Return entries that are to become one: enough of one level that follow each other, none large."""
        tail = self._of.get(bucket, [])
        if len(tail) < TOGETHER:
            return []
        tail.sort()
        large = [at for at, (_, size) in enumerate(tail) if size >= LARGE_BYTES]
        if large:
            del tail[: large[-1] + 1]
        stop = len(tail)
        while stop:
            start, level = stop, level_of(tail[stop - 1][0])
            while start and level_of(tail[start - 1][0]) == level:
                start -= 1
            if stop - start >= TOGETHER:
                return [name for name, _ in tail[start:stop]]
            stop = start
        return []

    def size_of(self, bucket: bytes, names: list[bytes]) -> int:
        """The bytes of some entries."""
        wanted = set(names)
        return sum(size for name, size in self._of.get(bucket, ()) if name in wanted)

    def join(self, bucket: bytes, names: list[bytes], size: int) -> bytes:
        """Some entries that ``due`` gave have become one of *size* bytes; its name."""
        joined = names[-1][:-1] + bytes((level_of(names[-1]) + 1,))
        gone = set(names)
        tail = self._of[bucket]
        tail[:] = [entry for entry in tail if entry[0] not in gone]
        tail.append((joined, size))
        return joined
