"""The rows of a key in an order, as Top-N keeps them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any, Final

import msgspec
import numpy as np

from firesteel.sql.operators.kept_rows import KeptRows
from firesteel.sql.operators.sort_keys import SortKeys
from firesteel.sql.types import RowType
from firesteel.state.columns import decode_value

__all__ = ["Ranks", "RanksForm"]

Array = np.ndarray[Any, Any]
_pack: Final = msgspec.msgpack.Encoder().encode
_PARTS: Final = 4  # of an entry


class Ranks:
    """The rows of one key, in order; it lives in the state.

    :ivar items: the numbers of the rows. :ivar keys: what they are compared by.
    :ivar ids: what they are found by; None: they are never looked for, or by all that they are.
    :ivar end: how many rows count, where the rows say it themselves; 0: they have not yet.
    """

    __slots__ = ("end", "ids", "items", "keys")

    def __init__(self, items: list[int], keys: list[Any], ids: list[bytes] | None, end: int) -> None:
        self.items = items
        self.keys = keys
        self.ids = ids
        self.end = end

    def insert(self, key: Any, name: bytes | None, item: int) -> int:
        """Insert a row behind those that are equal; its place."""
        at = bisect_right(self.keys, key)
        self.keys.insert(at, key)
        self.items.insert(at, item)
        if self.ids is not None:
            assert name is not None
            self.ids.insert(at, name)
        return at

    def remove(self, at: int) -> None:
        del self.keys[at], self.items[at]
        if self.ids is not None:
            del self.ids[at]

    def equal(self, key: Any) -> list[int]:
        """The numbers of the rows that are in order where *key* is."""
        start = bisect_left(self.keys, key)
        return self.items[start : bisect_right(self.keys, key, start)]

    def find(self, key: Any, name: bytes, name_of: Callable[[int], bytes]) -> int:
        """The place of a row; -1: it is not there.

        :param name_of: the bytes of a row by its number.
        """
        start = bisect_left(self.keys, key)
        for at, item in enumerate(self.equal(key), start):
            if name_of(item) == name:
                return at
        return -1


class RanksForm:
    """An entry is (end, ids, how many rows there are, the packed rows). Of earlier releases it is a tuple of
    (rows by ``RowCodec``, ids, end).

    :param strategy: that of ``Rank``.
    """

    def __init__(self, row: RowType, sort_keys: SortKeys, strategy: str) -> None:
        self.kept = KeptRows(row)
        self._sort_keys = sort_keys
        self._has_ids = strategy == "update_fast"

    def encode(self, columns: Sequence[Array], count: int) -> list[bytes]:
        ranks: list[Ranks] = columns[0].tolist()
        lengths = [len(of_key.items) for of_key in ranks]
        pieces = self.kept.pack(_items(ranks), np.cumsum(lengths))
        ids: Iterable[Any] = [of_key.ids for of_key in ranks] if self._has_ids else repeat(())
        ends = [of_key.end for of_key in ranks]
        return list(map(_pack, zip(ends, ids, lengths, pieces, strict=False)))

    def decode(self, entries: list[bytes]) -> list[list[Ranks]]:
        stored: list[Any] = list(map(decode_value, entries))
        packed = [entry for entry in stored if len(entry) == _PARTS]
        numbers = self.kept.unpack([piece for _, _, _, piece in packed])
        made = self._made(numbers, [(end, ids, length) for end, ids, length, _ in packed])
        if len(packed) == len(stored):
            return [made]
        listed = [entry[0] for entry in stored if len(entry) != _PARTS]
        numbers = self.kept.decode([row for rows, _, _ in listed for row in rows])
        others = self._made(numbers, [(end, ids, len(rows)) for rows, ids, end in listed])
        in_order = iter(made), iter(others)
        return [[next(in_order[len(entry) != _PARTS]) for entry in stored]]

    def _made(self, numbers: Array, parts: list[tuple[int, Sequence[bytes], int]]) -> list[Ranks]:
        """:param numbers: of the rows of all keys. :param parts: end, ids and number of rows of each."""
        arrays = self.kept.take(numbers)
        keys = self._sort_keys.of_columns(arrays, len(numbers))
        items = numbers.tolist()
        made, start = [], 0
        for end, ids, length in parts:
            of_key = slice(start, start + length)
            made.append(Ranks(items[of_key], keys[of_key], list(ids) if self._has_ids else None, end))
            start += length
        return made

    def tidy(self, fields: Sequence[Array], alive: Array) -> None:
        kept = self.kept
        if not alive.any():
            kept.clear()
        elif kept.may_be_tidied:
            ranks: list[Ranks] = fields[0][alive].tolist()
            if kept.keep(_items(ranks)):
                at = 0
                for of_key in ranks:
                    of_key.items = list(range(at, at + len(of_key.items)))
                    at += len(of_key.items)


def _items(ranks: list[Ranks]) -> Array:
    return np.fromiter(chain.from_iterable(of_key.items for of_key in ranks), np.int64)
