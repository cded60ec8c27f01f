"""Tables of a database that are asked for rows by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.connectors._column_families import family
from firesteel.connectors._kept_client import KeptClient
from firesteel.connectors.jdbc.connections import connected, retried
from firesteel.connectors.jdbc.databases import Database, database_of
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.statements import (
    equal_to_parameters,
    parse,
    quoted,
    quoted_table,
    select_statement,
)
from firesteel.sql.type_infos import type_info_of
from firesteel.sql.types import DataType

__all__ = ["JdbcLookup"]

_AT_ONCE: Final = 100  # keys in a query
_FETCH_ROWS: Final = 1000

Convert = Callable[[Any], Any] | None


@dataclass(slots=True)
class JdbcLookup:
    """Asks for many keys in one query, a SELECT for each: the database compares them as it always does.

    :param keys: columns that are asked by, and their types; *columns* likewise: those that are wanted.
    """

    connection: ConnectionOptions
    table: str
    keys: tuple[tuple[str, DataType], ...]
    columns: tuple[tuple[str, DataType], ...]
    max_retries: int
    _kept: KeptClient = field(default_factory=KeptClient, compare=False, repr=False)

    def open(self) -> None:
        """Connections are made when they are needed."""

    def close(self) -> None:
        self._kept.drop()

    def lookup(self, keys: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        found: list[list[tuple[Any, ...]]] = [[] for _ in keys]
        for start in range(0, len(keys), _AT_ONCE):
            for at, row in self._rows(keys[start : start + _AT_ONCE]):
                found[start + at].append(row)
        return found

    def every_row(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Yield the key and the wanted columns of each row of the table that has a key."""
        database = database_of(self.connection)
        fields = [*self.keys, *self.columns]
        sql = database.sql(parse(select_statement(self.table, [name for name, _ in fields])))
        read, keys = _converters(database.read, fields), len(self.keys)

        def ask() -> list[Any]:
            with (
                closing(database.connect()) as connection,
                closing(database.rows(connection, sql, (), _FETCH_ROWS)) as rows,
            ):
                return list(rows)

        for row in retried(database, self.max_retries, ask):
            values = tuple(v if c is None or v is None else c(v) for v, c in zip(row, read, strict=True))
            if None not in values[:keys]:
                yield values[:keys], values[keys:]

    def _rows(self, keys: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the rows of some keys, each with the place of its key."""
        database = database_of(self.connection)
        names = ", ".join(quoted(name) for name, _ in self.columns)
        where = (
            f"FROM {quoted_table(self.table)} WHERE {equal_to_parameters([name for name, _ in self.keys])}"
        )
        sql = " UNION ALL ".join(f"SELECT {at}, {names} {where}" for at in range(len(keys)))
        write = _converters(database.write, self.keys)
        parameters = [v if c is None else c(v) for key in keys for v, c in zip(key, write, strict=True)]
        read = _converters(database.read, self.columns)
        for at, *row in self._ask(database, database.sql(parse(sql)), parameters):
            values = (v if c is None or v is None else c(v) for v, c in zip(row, read, strict=True))
            yield at, tuple(values)

    def _ask(self, database: Database, sql: str, parameters: list[Any]) -> list[Any]:
        def ask() -> list[Any]:
            try:
                rows: list[Any] = connected(self._kept, database).execute(sql, parameters).fetchall()
                return rows
            except Exception:
                self._kept.drop()
                raise

        return retried(database, self.max_retries, ask)


def _converters(known: Any, columns: Sequence[tuple[str, DataType]]) -> list[Convert]:
    return [known.get(family(type_info_of(data_type))) for _, data_type in columns]
