"""Collections that are asked for documents by key."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.errors import ConnectorError
from firesteel.connectors._kept_client import KeptClient
from firesteel.connectors.mongodb.sink import MongoOptions, load_client
from firesteel.connectors.mongodb.source import projection
from firesteel.sql.connectors.mongodb.values import ID, object_id, reader, writer
from firesteel.sql.types import DataType

__all__ = ["MongoLookup"]

_AT_ONCE: Final = 100  # keys in a query
Key = tuple[Any, ...]


@dataclass(slots=True)
class MongoLookup:
    """Asks for many keys in one query.

    :param keys: columns that are asked by, and their types; *columns* likewise: those that are wanted.
    :param retry_ms: the pause before a query that failed is repeated.
    """

    options: MongoOptions
    keys: tuple[tuple[str, DataType], ...]
    columns: tuple[tuple[str, DataType], ...]
    max_retries: int
    retry_ms: int
    _kept: KeptClient = field(default_factory=KeptClient, compare=False, repr=False)

    def open(self) -> None:
        """A client is made when it is needed."""

    def close(self) -> None:
        self._kept.drop()

    def lookup(self, keys: list[Key]) -> list[list[Key]]:
        found: dict[Key, list[Key]] = {key: [] for key in keys}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            for key, row in self._rows({"$or": [self._filter(key) for key in some]}):
                if key in found:
                    found[key].append(row)
        return [found[key] for key in keys]

    def every_row(self) -> Iterator[tuple[Key, Key]]:
        """Yield the key and the wanted columns of each document that has a key."""
        yield from self._rows({})

    def _filter(self, key: Key) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for (name, data_type), value in zip(self.keys, key, strict=True):
            made[name] = writer(data_type)(value)
            found = object_id(value) if name == ID and isinstance(value, str) else None
            if found is not None:
                made[name] = {"$in": [found, value]}
        return made

    def _rows(self, condition: dict[str, Any]) -> Iterator[tuple[Key, Key]]:
        keys, columns = ([(name, reader(kind)) for name, kind in of] for of in (self.keys, self.columns))
        names = tuple(dict.fromkeys(name for name, _ in (*self.keys, *self.columns)))
        for document in self._ask(condition, names):
            key = tuple(read(document.get(name)) for name, read in keys)
            if None not in key:
                yield key, tuple(read(document.get(name)) for name, read in columns)

    def _ask(self, condition: dict[str, Any], names: tuple[str, ...]) -> Sequence[dict[str, Any]]:
        options = self.options
        for retry in range(self.max_retries + 1):
            client = self._kept.client or self._kept.keep(options.client(tz_aware=True))
            try:
                found = client[options.database][options.collection].find(condition, projection(names))
                return list(found)
            except load_client().errors.PyMongoError as error:
                self._kept.drop()
                if retry == self.max_retries:
                    raise ConnectorError(
                        f"MongoDB at {options.address} cannot be asked.",
                        detail=f"{options.namespace}: {error}"[:500],
                        hint="check host, port, user and password, and that the server runs",
                    ) from error
                time.sleep(self.retry_ms / 1000)
        raise AssertionError("unreachable")
