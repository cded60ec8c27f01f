"""The values of pairs in arrays, and their bytes in entries. ``state.column_keys`` has them one by one, as
identities.

A value has a *word*, a number of 64 bits: a number is its own word; of anything else it is a hash, and the
identity is kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from firesteel.common.columns import objects
from firesteel.state.column_keys import has_numbers, identities, is_bare, number_identities

__all__ = ["Values", "ValuesForm", "form_of"]

Array = np.ndarray[Any, Any]
_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder().decode
_unpack_tuple: Final = msgspec.msgpack.Decoder(tuple).decode
_NULL: Final = _pack((None,))


class Values(NamedTuple):
    """
    :ivar words: a number for each value. :ivar nulls: which numbers are null; None: none of them.
    :ivar objects: the identities; None: the words say all.
    """

    words: Array
    nulls: Array | None = None
    objects: Array | None = None


class ValuesForm(Protocol):
    """
    :ivar has_objects: whether identities are kept beside the words.
    """

    has_objects: bool

    def of(self, arrays: Sequence[pa.Array], length: int) -> Values:
        """The values of rows. :param arrays: one for each column."""

    def packed(self, values: Values) -> list[bytes]:
        """The bytes of each, as keys of entries have them."""

    def unpacked(self, inners: Sequence[bytes]) -> Values:
        """The inverse."""


class Numbers:
    """Of one column of numbers.

    :param bare: whether an identity is the number itself, not a tuple; a null is always a tuple.
    """

    has_objects = False

    def __init__(self, bare: bool) -> None:
        self._bare = bare

    def of(self, arrays: Sequence[pa.Array], length: int) -> Values:
        numbers, valid = number_identities(arrays[0])
        return Values(numbers, None if valid is None else ~valid)

    def packed(self, values: Values) -> list[bytes]:
        numbers: list[Any] = values.words.tolist()
        packed = list(map(_pack, numbers if self._bare else zip(numbers)))
        if values.nulls is not None:
            for at in np.flatnonzero(values.nulls).tolist():
                packed[at] = _NULL
        return packed

    def unpacked(self, inners: Sequence[bytes]) -> Values:
        decode = _number if self._bare else _in_tuple
        nulls = np.array([inner == _NULL for inner in inners], bool)
        words = np.array([0 if inner == _NULL else decode(inner) for inner in inners], np.int64)
        return Values(words, nulls)


_number: Final = msgspec.msgpack.Decoder(int).decode
_numbers: Final = msgspec.msgpack.Decoder(tuple[int]).decode


def _in_tuple(inner: bytes) -> int:
    return _numbers(inner)[0]


class Identities:
    """Of everything else: text, bytes, several columns."""

    has_objects = True

    def of(self, arrays: Sequence[pa.Array], length: int) -> Values:
        return _with_hashes(identities(arrays, length))

    def packed(self, values: Values) -> list[bytes]:
        assert values.objects is not None
        return list(map(_pack, values.objects))

    def unpacked(self, inners: Sequence[bytes]) -> Values:
        return _with_hashes([_unpack_tuple(i) if _is_tuple(i[0]) else _unpack(i) for i in inners])


def _with_hashes(found: Sequence[Any]) -> Values:
    return Values(np.fromiter(map(hash, found), np.int64, len(found)), None, objects(found))


def _is_tuple(first: int) -> bool:
    return 0x90 <= first <= 0x9F or first in (0xDC, 0xDD)


def form_of(kinds: Sequence[pa.DataType]) -> ValuesForm:
    """How the values of columns are kept. :param kinds: the type of each."""
    if len(kinds) == 1 and has_numbers(kinds[0]):
        return Numbers(is_bare(kinds[0]))
    return Identities()
