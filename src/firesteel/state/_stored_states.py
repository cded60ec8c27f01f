"""What a subtask knows about its stored states: the entries of the catalog on its line, and those that the
running epoch adds or changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from firesteel.state import catalog
from firesteel.state._column import Column
from firesteel.state._compatibility import agreed
from firesteel.state._migration import Migrations
from firesteel.state._value_codec import TOMBSTONE
from firesteel.state.catalog import CATALOG_PREFIX, CatalogEntry

__all__ = ["Inherited", "StoredStates"]


class Inherited(NamedTuple):
    """What is stored of a state that was of another kind when it was written.

    :param stored: what was stored about it.
    :param entries: the entries as they are stored; they go with the epoch.
    """

    stored: CatalogEntry
    entries: dict[bytes, bytes]


class StoredStates:
    """The catalog of a subtask, by column id.

    :param given: what is stored, for lines that are a part of others; None: the line says.
    """

    def __init__(self, given: Mapping[bytes, CatalogEntry] | None) -> None:
        self._given = given
        self._entries: dict[bytes, CatalogEntry] = {}
        self._changed: set[bytes] = set()  # columns whose entry is not committed
        #: By column, in the epoch that converts it.
        self.inherited: dict[bytes, Inherited] = {}

    @property
    def entries(self) -> Collection[CatalogEntry]:
        return self._entries.values()

    @property
    def migrations(self) -> Migrations:
        return Migrations(self._entries)

    # ---- from the line

    def start_over(self, operator_group: Mapping[bytes, bytes]) -> None:
        """Forget what was known; ``operator_group`` has the entries of the line's operator group."""
        given = self._given
        self._entries = dict(given) if given is not None else catalog.of_entries(operator_group)
        self._changed.clear()
        self.inherited.clear()

    def load(self, key: bytes, value: bytes) -> bool:
        """Take an entry that another process has committed; False: it is not one of the catalog."""
        if not key.startswith(CATALOG_PREFIX):
            return False
        column_id = key[len(CATALOG_PREFIX) :]
        if column_id not in self._changed:
            self._entries[column_id] = catalog.decode(value)
        return True

    # ---- from the program

    def agree(self, column: Column, now_ms: int) -> bool:
        """Check a state against what is stored about it; whether its entries must be converted.

        :raises StateError: the job cannot go on with what is stored.
        """
        stored = self._entries.get(column.id)
        if stored is None:
            return False
        entry = agreed(stored, column.declared, column.migrations, now_ms)
        if entry == stored:
            return False
        self._set(column.id, entry)
        if entry.kind != stored.kind:
            self.inherited[column.id] = Inherited(stored, {})
        return len(entry.steps) > len(stored.steps)

    def add(self, column: Column) -> None:
        """The state has its first entries."""
        if column.id not in self._entries:
            self._set(column.id, column.declared)

    def _set(self, column_id: bytes, entry: CatalogEntry) -> None:
        self._entries[column_id] = entry
        self._changed.add(column_id)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        """Append what the epoch has changed, as ``Column.collect`` does."""
        for left in self.inherited.values():
            keys += left.entries
            values += [TOMBSTONE] * len(left.entries)
        self.inherited.clear()
        for column_id in sorted(self._changed):
            keys.append(CATALOG_PREFIX + column_id)
            values.append(catalog.encode(self._entries[column_id]))
        self._changed.clear()
