"""Whether a job may go on with a stored state: what is stored about it against what the program declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from firesteel.common._composite_types import MapTypeInfo
from firesteel.common._type_text import shown_type, type_of_text
from firesteel.common.errors import StateError
from firesteel.state._migration import part_type
from firesteel.state._type_evolution import Incompatible, evolution
from firesteel.state._value_codec import dumps
from firesteel.state.catalog import CatalogEntry, Step
from firesteel.state.kinds import kind_of

__all__ = ["agreed"]

_TIME_WINDOW: Final = "TimeWindow"

#: Migration functions of a descriptor, by the type that they migrate from.
Functions = Mapping[str, Callable[[Any], Any]]


def agreed(stored: CatalogEntry, declared: CatalogEntry, functions: Functions, now_ms: int) -> CatalogEntry:
    """What is stored about the state from now on: with one more step where its entries must be converted.

    Where its kind is another one, the operator takes its entries over.

    :raises StateError: the state cannot be what the program declares.
    """
    if (stored.uid, stored.name) != (declared.uid, declared.name):
        raise StateError(
            f"State {declared.name!r} cannot be told apart from state {stored.name!r} of {stored.uid}.",
            hint="give the state another name",
            uid=declared.uid,
        )
    if stored.kind != declared.kind and not _takes_over(stored, declared):
        raise StateError(
            f"State {declared.name!r} was stored as a {stored.kind} state and is now asked for as a "
            f"{declared.kind} state.",
            hint="use the kind it was stored as, or give the new state a name of its own",
            uid=declared.uid,
        )
    _check_key(stored, declared)
    if stored.kind != declared.kind:
        return msgspec.structs.replace(declared, key=declared.key or stored.key)
    known = msgspec.structs.replace(
        stored,
        type=stored.type or declared.type,
        key=stored.key or declared.key,
        window=stored.window or declared.window,
    )
    changed = bool(declared.type) and declared.type != known.type
    if not changed and declared.ttl == known.ttl:
        return known
    function = _function(known, declared, functions) if changed else b""
    step = Step(known.type, known.ttl, function, now_ms)
    return msgspec.structs.replace(
        known, ttl=declared.ttl, type=declared.type or known.type, steps=(*known.steps, step)
    )


def _takes_over(stored: CatalogEntry, declared: CatalogEntry) -> bool:
    """Whether the operator of a state puts what was stored as another kind into its own: contents of time
    windows (``runtime.windowing.inherited``)."""
    takes = stored.kind in kind_of(declared).takes_over
    return takes and declared.window.startswith(_TIME_WINDOW) and not stored.ttl


def _may_be_same(stored: CatalogEntry, declared: CatalogEntry) -> bool:
    """Whether the windows are those of before, as far as it is known. Contents that a ``value`` state has do
    not say how long their windows are."""
    if not stored.window or not declared.window or stored.window == declared.window:
        return True
    return stored.kind != declared.kind and stored.window.startswith(_TIME_WINDOW)


def _check_key(stored: CatalogEntry, declared: CatalogEntry) -> None:
    if stored.key and declared.key and stored.key != declared.key:
        raise StateError(
            f"State {declared.name!r} was stored under keys of type {shown_type(stored.key)}, and the "
            f"stream now has keys of type {shown_type(declared.key)}.",
            detail="with another type a key has other bytes and may belong to another subtask",
            hint="declare the key_type that the state was stored with, or write a savepoint with "
            "other keys (docs/state-processor.md)",
            uid=declared.uid,
        )
    if not _may_be_same(stored, declared):
        raise StateError(
            f"State {declared.name!r} was stored for windows {stored.window}, and the operator now has "
            f"windows {declared.window}.",
            hint="give the operator another uid: it begins with no window open",
            uid=declared.uid,
        )


def _function(stored: CatalogEntry, declared: CatalogEntry, functions: Functions) -> bytes:
    """The pickled function of the user's for the change, b"" where the types say what to do."""
    same_keys = _map_keys(stored.type) == _map_keys(declared.type)
    converts = kind_of(stored).recoding is not None
    function = functions.get(stored.type)
    if function is not None and same_keys and converts:
        return dumps(function)
    old, new = part_type(stored, stored.type), part_type(stored, declared.type)
    difference = "the keys of a map state cannot be converted" if converts else "such state keeps its type"
    if old is not None and new is not None and same_keys and converts:
        try:
            evolution(old, new)
        except Incompatible as error:
            difference = str(error)
        else:
            return b""
    raise StateError(
        f"State {declared.name!r} was stored as {shown_type(stored.type)} and is now declared as "
        f"{shown_type(declared.type)}.",
        detail=difference,
        hint="declare the type it was stored with, or register a function that converts it: "
        "descriptor.migrate_from(old_type, function); see docs/state.md"
        if converts
        else "declare the type it was stored with, or give the new state a name of its own",
        uid=declared.uid,
    )


def _map_keys(text: str) -> Any:
    type_info = type_of_text(text)
    return type_info._key_type_info if isinstance(type_info, MapTypeInfo) else None
