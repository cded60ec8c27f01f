"""The entries of a state as rows of keys and values: for whoever reads state as data.

What a row is follows from the kind of the state: one for each key (and window) of a keyed state, for each
session, for each element of a time buffer, for each timer, for each entry of an operator state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

from firesteel.state._column import (
    COLUMN_ID_BYTES,
    CanonicalKey,
    canonical_of,
    column_of,
    key_data,
    key_end,
)
from firesteel.state._list_state import decode_chunk
from firesteel.state._ttl import STAMP_BYTES
from firesteel.state._value_codec import decode_elements, decode_value, unpack
from firesteel.state.catalog import CatalogEntry
from firesteel.state.keys import raw_key, split_canonical
from firesteel.state.line import OPERATOR_GROUP
from firesteel.state.operator_state import OPERATOR_PREFIX
from firesteel.state.panes import pane_size_ms
from firesteel.state.sessions import session_fields

__all__ = ["StoredRow", "rows_of"]

Entry = tuple[bytes, bytes]

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


def rows_of(state: CatalogEntry) -> Callable[[Iterable[Entry]], Iterator[StoredRow]]:
    """Entries of the state, in order -> its rows."""
    if state.kind in _OF_OPERATORS:
        return _operator_rows
    if state.kind == "timers":
        return _timer_rows
    if state.kind == "panes":
        return lambda entries: _pane_rows(entries, pane_size_ms(state.window))
    if state.kind in _OF_KEY:
        return _OF_KEY[state.kind]
    decode = _DECODERS[state.kind]
    return lambda entries: _keyed_rows(entries, decode, STAMP_BYTES if state.ttl else 0)


# ---- by key


def _keyed_rows(
    entries: Iterable[Entry], decode: Callable[[list[tuple[bytes, bytes]]], Any], cut: int
) -> Iterator[StoredRow]:
    for head, parts in groupby(entries, key=_head):
        key, window = _key_of(head)
        start = len(head) + COLUMN_ID_BYTES
        yield StoredRow(key, window, None, decode([(name[start:], value[cut:]) for name, value in parts]))


def _head(entry: Entry) -> bytes:
    return entry[0][: key_end(entry[0])]


def _key_of(head: bytes) -> tuple[Any, bytes | None]:
    key, namespace = split_canonical(canonical_of(key_data(head, len(head))))
    return raw_key(key), namespace


def _single(parts: list[Entry]) -> Any:
    return decode_value(parts[0][1])


def _list(parts: list[Entry]) -> list[Any]:
    return [element for _, chunk in parts for element in decode_chunk(chunk)]


def _map(parts: list[Entry]) -> dict[Any, Any]:
    return {raw_key(canonical_of(name)): decode_value(value) for name, value in parts}


_DECODERS: Final[dict[str, Callable[[list[Entry]], Any]]] = {
    "value": _single,
    "reducing": _single,
    "aggregating": _single,
    "list": _list,
    "map": _map,
}


def _session_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for name, value in entries:
        key, _ = _key_of(name[: key_end(name)])
        for start, end, held in session_fields(value):
            yield StoredRow(key, (start, end), None, decode_value(held) if type(held) is bytes else held)


def _buffer_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for name, value in entries:
        key, _ = _key_of(name[: key_end(name)])
        _, stamps, packed = unpack(value)
        elements = decode_elements(packed)
        for stamp, element in zip(stamps, elements, strict=True):
            yield StoredRow(key, None, stamp, decode_value(element) if type(element) is bytes else element)


_OF_KEY: Final = {"sessions": _session_rows, "time buffer": _buffer_rows}


# ---- beside the keys


def _beside(name: bytes) -> tuple[int, CanonicalKey, bytes | None]:
    """Instant, key and namespace of an entry that lies by time."""
    instant = int.from_bytes(name[_HEAD : _HEAD + 8], "big") - _BIAS
    rest = b"\0\0" + name[_HEAD + 8 :]
    stop = key_end(rest)
    return instant, canonical_of(key_data(rest, stop)), rest[stop + 1 :] if stop < len(rest) else None


def _timer_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for name, _ in entries:
        instant, key, namespace = _beside(name)
        yield StoredRow(raw_key(key), namespace, instant, None)


def _pane_rows(entries: Iterable[Entry], size_ms: int | None) -> Iterator[StoredRow]:
    for name, value in entries:
        start, key, _ = _beside(name)
        end = None if size_ms is None else start + size_ms
        yield StoredRow(raw_key(key), (start, end), None, decode_value(value))


# ---- of operators

_OF_OPERATORS: Final = frozenset(("operator list", "union list", "broadcast"))


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
