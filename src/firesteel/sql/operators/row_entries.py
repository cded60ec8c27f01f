"""How the rows of a ``RowsColumn`` become entries and come back: by their fields, or as an operator says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np

from firesteel.state._value_codec import encode_value
from firesteel.state.columns import decode_value

__all__ = ["EntryForm", "Field", "FieldsForm"]

Array = np.ndarray[Any, Any]
_pack: Final = msgspec.msgpack.Encoder().encode
_NO_FIELDS: Final = _pack(())
_OBJECT: Final = np.dtype(object)


class Field(NamedTuple):
    """A field of the rows: its NumPy type and what it is for a key that has no row.

    :ivar packs: whether the objects of an ``object`` field are such that msgpack gives them back as they are.
    :ivar encode: what is stored of an object that goes on changing. :ivar decode: the inverse.
    """

    dtype: str
    initial: Any = 0
    packs: bool = False
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None


class EntryForm(Protocol):
    """Entries are values of state (``state._value_codec``): who knows no more of them can show them."""

    def encode(self, columns: Sequence[Array], count: int) -> list[bytes]:
        """The entries of *count* rows. :param columns: their fields."""

    def decode(self, entries: list[bytes]) -> Sequence[Any]:
        """The fields of the rows in some entries, at least one: a sequence or array for each."""

    def tidy(self, fields: Sequence[Array], alive: Array) -> None:
        """Rows may have been added or forgotten. A form that keeps something for each row may change what
        the fields say of it.

        :param fields: over slots. :param alive: which slots have a row.
        """


class FieldsForm:
    """An entry is the tuple of the fields, as a value state has it."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._fields = tuple(fields)
        self._plain = all(f.packs or np.dtype(f.dtype) != _OBJECT for f in fields)

    def encode(self, columns: Sequence[Array], count: int) -> list[bytes]:
        if not columns:
            return [_NO_FIELDS] * count
        values = [
            column.tolist() if of.encode is None else list(map(of.encode, column.tolist()))
            for column, of in zip(columns, self._fields, strict=True)
        ]
        return list(map(_pack if self._plain else encode_value, zip(*values, strict=True)))

    def decode(self, entries: list[bytes]) -> Sequence[Any]:
        columns = zip(*map(decode_value, entries), strict=True)
        return [
            column if of.decode is None else tuple(map(of.decode, column))
            for of, column in zip(self._fields, columns, strict=True)
        ]

    def tidy(self, fields: Sequence[Array], alive: Array) -> None:
        """Fields are all there is."""
