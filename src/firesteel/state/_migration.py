"""Stored entries of earlier types, converted as they are read.

A run keeps what it holds; whoever reads it - a cache, a compaction, a savepoint - sees every entry in the
newest type of its state. So a change of type costs nothing for what nobody reads, and what is compacted or
copied has it for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from firesteel.common._coerce_values import Mismatch
from firesteel.common._coercion import compile_value_coercion, shown
from firesteel.common._type_text import shown_type, type_of_text
from firesteel.common.errors import StateError, TypeMismatchError
from firesteel.common.typeinfo import TypeInformation
from firesteel.state._column import column_of
from firesteel.state._ttl import STAMP_BYTES, stamp
from firesteel.state._type_evolution import evolution
from firesteel.state._value_codec import TOMBSTONE
from firesteel.state.catalog import CatalogEntry, Step
from firesteel.state.kinds import kind_of
from firesteel.state.line import RunRef
from firesteel.storage import old_names

__all__ = ["Migrations", "part_type"]

#: What a stored value becomes; the tombstone: it is dropped.
Recode = Callable[[bytes], bytes]


class Migrations:
    """What has to be done to the entries of runs, as of a catalog."""

    def __init__(self, catalog: Mapping[bytes, CatalogEntry]) -> None:
        self._entries = {column: entry for column, entry in catalog.items() if entry.steps}
        self._recodes: dict[tuple[bytes, int], Recode] = {}
        #: What a run has that is written now.
        self.versions = tuple(sorted((column, len(entry.steps)) for column, entry in self._entries.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Migrations) and self._entries == other._entries

    @property
    def name(self) -> str:
        """Tells them apart from others that the same subtask may have; "" when there are none."""
        data = repr(sorted(self._entries.items())).encode()
        return hashlib.blake2b(data, digest_size=6).hexdigest() if self._entries else ""

    def of_run(self, ref: RunRef) -> Callable[[list[bytes], list[bytes]], list[bytes]] | None:
        """Keys and values of a block -> the values as they are today; None: they are that already."""
        if ref.versions == self.versions:
            return None
        written = dict(ref.versions)
        recodes = {
            column: self._recode(column, written.get(column, 0))
            for column, entry in self._entries.items()
            if written.get(column, 0) < len(entry.steps)
        }
        if not recodes:
            return None

        def convert(keys: list[bytes], values: list[bytes]) -> list[bytes]:
            result = list(values)
            for number, key in enumerate(keys):
                recode = recodes.get(column_of(key))
                if recode is not None and values[number] != TOMBSTONE and not _is_catalog(key):
                    result[number] = recode(values[number])
            return result

        return convert

    def last_step(self, column: bytes) -> Recode:
        """What the newest step does to a value."""
        return self._recode(column, len(self._entries[column].steps) - 1)

    def _recode(self, column: bytes, version: int) -> Recode:
        """From that version to the newest."""
        known = self._recodes.get((column, version))
        if known is None:
            entry = self._entries[column]
            known = self._recodes[column, version] = _chain(entry, version)
        return known


def _is_catalog(key: bytes) -> bool:
    return not key[2] and key[3:4] == b"C" and key[:2] == b"\xff\xff"


def _chain(entry: CatalogEntry, version: int) -> Recode:
    after = [(step.type, step.ttl) for step in entry.steps[1:]] + [(entry.type, entry.ttl)]
    recodes = [
        _of_step(entry, step, *becomes)
        for step, becomes in list(zip(entry.steps, after, strict=True))[version:]
    ]
    if len(recodes) == 1:
        return recodes[0]
    return lambda value: reduce(lambda v, recode: v if v == TOMBSTONE else recode(v), recodes, value)


def _of_step(entry: CatalogEntry, step: Step, type_: str, ttl: bool) -> Recode:
    convert, recoding = _converter(entry, step, type_), kind_of(entry).recoding
    recode = None if convert is None or recoding is None else recoding(convert)
    cut = STAMP_BYTES if step.ttl else 0
    new_stamp = stamp(step.at_ms)

    def step_of(value: bytes) -> bytes:
        body = value[cut:]
        if recode is not None:
            body = recode(body)
            if body == TOMBSTONE:
                return body
        if not ttl:
            return body
        return (value[:STAMP_BYTES] if step.ttl else new_stamp) + body

    return step_of


def _converter(entry: CatalogEntry, step: Step, type_: str) -> Callable[[Any], Any] | None:
    """The function of a step, which says whose it is when it fails; None: the values stay what they are."""
    new = part_type(entry, type_)
    if not step.function:
        old = part_type(entry, step.type)
        return evolution(old, new) if old is not None and new is not None else None
    function = _load(entry, step)
    check = compile_value_coercion(new, _misfit(entry, type_))

    def convert(value: Any) -> Any:
        try:
            converted = function(value)
        except Exception as error:
            raise StateError(
                f"The migration function of state {entry.name!r} failed: {type(error).__name__}: {error}",
                detail=f"for {shown(value)}, stored as {shown_type(step.type)}",
                hint="the function gets each value that was stored with the type it was registered for",
                uid=entry.uid,
            ) from error
        if check is not None and converted is not None:
            check(converted)
        return converted

    return convert


def _misfit(entry: CatalogEntry, type_: str) -> Callable[..., TypeMismatchError]:
    def error(value: Any, index: int, declared: TypeInformation, mismatch: Mismatch) -> TypeMismatchError:
        return TypeMismatchError(
            f"The migration function of state {entry.name!r} gave {shown(value)}, "
            f"declared is {shown_type(type_)}: {mismatch.reason}",
            uid=entry.uid,
        )

    return error


def _load(entry: CatalogEntry, step: Step) -> Callable[[Any], Any]:
    try:
        function: Callable[[Any], Any] = old_names.loads(step.function)
    except Exception as error:
        raise StateError(
            f"The migration function of state {entry.name!r} cannot be loaded: {error}",
            detail=f"it converts what was stored as {shown_type(step.type)}; not all of it is converted yet",
            hint="keep the function where the job had it, until a savepoint was taken",
            uid=entry.uid,
        ) from error
    return function


def part_type(state: CatalogEntry, text: str) -> TypeInformation | None:
    """The declared type of what an entry of the state holds when the state is of type *text*; None: not
    known."""
    type_info = type_of_text(text) if text else None
    return None if type_info is None else kind_of(state).part(type_info)
