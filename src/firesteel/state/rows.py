"""The entries of a state as rows of keys and values: for whoever reads state as data.

What a row is follows from the kind of the state: one for each key (and window) of a keyed state, for each
session, for each element of a time buffer, for each timer, for each entry of an operator state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from firesteel.state._column import (
    COLUMN_ID_BYTES,
    OPERATOR_PREFIX,
    CanonicalKey,
    canonical_of,
    column_of,
    key_data,
    key_end,
)
from firesteel.state._ttl import STAMP_BYTES
from firesteel.state._value_codec import decode_value
from firesteel.state.catalog import CatalogEntry
from firesteel.state.keys import raw_key, split_canonical
from firesteel.state.kinds import kind_of
from firesteel.state.line import OPERATOR_GROUP

__all__ = [
    "Entry",
    "RowsOf",
    "StoredRow",
    "beside",
    "key_of_entry",
    "of_column",
    "operator_rows",
    "rows_by_key",
    "rows_by_key_in_group",
    "rows_of",
    "single",
]

Entry: TypeAlias = tuple[bytes, bytes]

_BIAS: Final = 1 << 63
_HEAD: Final = 3 + COLUMN_ID_BYTES  # of what lies beside the keys: group, 0, column id


class StoredRow(NamedTuple):
    """
    :param key: the user's key; None for what belongs to no key.
    :param window: namespace of a window in bytes, or its start and its end (None: not known); None: none.
    :param at: the time of a timer, the timestamp of an element, the number of a list entry, a map key.
    """

    key: Any
    window: bytes | tuple[int, int | None] | None
    at: Any
    value: Any


#: Entries of a state, in order -> its rows.
RowsOf: TypeAlias = Callable[[Iterable[Entry]], Iterator[StoredRow]]


def rows_of(state: CatalogEntry) -> RowsOf:
    """How the entries of a stored state become rows.

    :raises StateError: nothing that is imported knows its kind.
    """
    return kind_of(state).rows(state)


# ---- by key


def rows_by_key(decode: Callable[[list[Entry]], Any]) -> Callable[[CatalogEntry], RowsOf]:
    """Of kinds with one row for each key: ``decode`` makes its value of the entries, whose names are what
    follows the column id."""

    def rows(state: CatalogEntry) -> RowsOf:
        return partial(_keyed_rows, decode, STAMP_BYTES if state.ttl else 0)

    return rows


def _keyed_rows(
    decode: Callable[[list[Entry]], Any], cut: int, entries: Iterable[Entry]
) -> Iterator[StoredRow]:
    for head, parts in groupby(entries, key=_head):
        key, window = _key_of(head)
        start = len(head) + COLUMN_ID_BYTES
        yield StoredRow(key, window, None, decode([(name[start:], value[cut:]) for name, value in parts]))


def rows_by_key_in_group(
    decode: Callable[[list[Entry], list[Entry]], Any],
) -> Callable[[CatalogEntry], RowsOf]:
    """The same, of kinds that have something for each key group, too (``StateKind.beside_keys``): ``decode``
    is given the entries of the key, and those beside the keys of its group."""

    def rows(state: CatalogEntry) -> RowsOf:
        return partial(_rows_in_group, decode)

    return rows


def _rows_in_group(
    decode: Callable[[list[Entry], list[Entry]], Any], entries: Iterable[Entry]
) -> Iterator[StoredRow]:
    of_groups: dict[bytes, list[Entry]] = {}

    def of_keys() -> Iterator[Entry]:
        for name, value in entries:
            if name[2]:
                yield name, value
            else:  # before all keys of the group: they are in order
                of_groups.setdefault(name[:2], []).append((name[_HEAD:], value))

    for head, parts in groupby(of_keys(), key=_head):
        key, window = _key_of(head)
        start = len(head) + COLUMN_ID_BYTES
        of_key = [(name[start:], value) for name, value in parts]
        yield StoredRow(key, window, None, decode(of_key, of_groups.get(head[:2], [])))


def _head(entry: Entry) -> bytes:
    return entry[0][: key_end(entry[0])]


def _key_of(head: bytes) -> tuple[Any, bytes | None]:
    key, namespace = split_canonical(canonical_of(key_data(head, len(head))))
    return raw_key(key), namespace


def key_of_entry(name: bytes) -> Any:
    """The user's key of an entry that lies with its key."""
    return _key_of(name[: key_end(name)])[0]


def single(parts: list[Entry]) -> Any:
    """The value of a key that has one entry."""
    return decode_value(parts[0][1])


# ---- beside the keys


def beside(name: bytes) -> tuple[int, CanonicalKey, bytes | None]:
    """Instant, key and namespace of an entry that lies by time."""
    instant = int.from_bytes(name[_HEAD : _HEAD + 8], "big") - _BIAS
    rest = b"\0\0" + name[_HEAD + 8 :]
    stop = key_end(rest)
    return instant, canonical_of(key_data(rest, stop)), rest[stop + 1 :] if stop < len(rest) else None


# ---- of operators


def operator_rows(state: CatalogEntry) -> RowsOf:
    """A row for each entry of operator state."""
    return _operator_rows


def _operator_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    start = len(OPERATOR_PREFIX) + COLUMN_ID_BYTES
    for name, value in entries:
        yield StoredRow(None, None, raw_key(canonical_of(name[start:])), decode_value(value))


def of_column(slices: Iterable[tuple[list[bytes], list[bytes]]], column: bytes) -> Iterator[Entry]:
    """The entries of one state among others, in order."""
    return (
        (name, value)
        for keys, values in slices
        for name, value in zip(keys, values, strict=True)
        if column_of(name) == column and not (_is_of_operators(name) and not name.startswith(OPERATOR_PREFIX))
    )


def _is_of_operators(name: bytes) -> bool:
    return name[0] << 8 | name[1] == OPERATOR_GROUP
