"""Names of states and stages by number: a key stores numbers, and its key group what they stand for.

A table is only ever appended to, so what was stored with it stays what it is when a pattern gets other
stages. It lies with its key group, and so goes wherever the keys of the group go.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from firesteel.state.columns import decode_elements, decode_value, encode_elements

__all__ = ["NO_NAMES", "NameTable", "read_names", "written_names"]


class NameTable:
    """
    :ivar names: by number.
    :ivar numbers: by name.
    """

    __slots__ = ("names", "numbers")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: Final = tuple(names)
        self.numbers: Final = {name: number for number, name in enumerate(self.names)}

    def with_names(self, wanted: set[str]) -> NameTable:
        """Return a table that has these names, too; itself, where it has them."""
        if self.numbers.keys() >= wanted:
            return self
        return read_names(_written((*self.names, *sorted(wanted - self.numbers.keys()))))


NO_NAMES: Final = NameTable()


def written_names(table: NameTable) -> bytes:
    """Return the stored form of a table."""
    return _written(table.names)


def _written(names: tuple[str, ...]) -> bytes:
    return encode_elements(list(names))


@lru_cache(maxsize=4096)  # key groups mostly have the same names: they share one table
def read_names(stored: bytes) -> NameTable:
    """Return the table of its stored form."""
    found = decode_elements(stored)
    return NameTable(decode_value(name) if type(name) is bytes else name for name in found)
