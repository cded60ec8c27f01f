"""``'type' = 'jdbc'``: the databases of a PostgreSQL server as a catalog (Flink: ``PostgresCatalog``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from firesteel.connectors.jdbc.databases import DatabaseError, database_of
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.sql.catalog import CatalogError, CatalogTable
from firesteel.sql.connectors.jdbc.postgres_types import data_type_of
from firesteel.sql.read_only_catalog import ReadOnlyCatalog
from firesteel.sql.schema import DeclaredColumn, DeclaredSchema, PrimaryKey
from firesteel.util.exceptions import TableException

__all__ = ["JdbcCatalog", "jdbc_catalog"]

_DEFAULT_SCHEMA: Final = "public"
_SCHEME: Final = "jdbc:postgresql://"

_DATABASES: Final = (
    "SELECT datname FROM pg_database WHERE datname NOT IN ('template0', 'template1') ORDER BY datname"
)
_TABLES: Final = """
    SELECT table_schema || '.' || table_name FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
        AND table_schema NOT LIKE 'pg\\_temp\\_%' AND table_schema NOT LIKE 'pg\\_toast\\_temp\\_%'
    ORDER BY table_schema, table_name
"""
_COLUMNS: Final = """
    SELECT a.attname, y.typname, a.atttypmod, a.attnotnull
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_type y ON y.oid = a.atttypid
    WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
_KEY: Final = """
    SELECT k.conname, a.attname
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS p(number, place)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.number
    WHERE n.nspname = %s AND c.relname = %s AND k.contype = 'p'
    ORDER BY p.place
"""


@dataclass(frozen=True, slots=True)
class _Account:
    """:param server: the URL without a database."""

    server: str
    username: str
    password: str

    def url(self, database: str) -> str:
        return f"{self.server}/{database}"


class JdbcCatalog(ReadOnlyCatalog):
    """A table is called ``schema.table``; one of the schema ``public`` also ``table`` alone.

    Its options are those of the connector ``jdbc``, so it is read, looked up and written as such a table.
    """

    def __init__(self, name: str, default_database: str, account: _Account) -> None:
        super().__init__(name, "jdbc", "the database")
        self._default = default_database
        self._account = account

    @property
    def default_database(self) -> str:
        return self._default

    def open(self) -> None:
        """:raises DatabaseError: the server cannot be reached, or denies access to the default database."""
        self._ask(self._default, "SELECT 1")

    def list_databases(self) -> list[str]:
        return [name for (name,) in self._ask(self._default, _DATABASES)]

    def list_tables(self, database: str) -> list[str]:
        self.require_database(database)
        return [name for (name,) in self._ask(database, _TABLES)]

    def table_exists(self, database: str, name: str) -> bool:
        return self.database_exists(database) and ".".join(_place(name)) in self.list_tables(database)

    def get_table(self, database: str, name: str) -> CatalogTable:
        """:raises CatalogError: it is not there, or a column has a type that there is not in SQL."""
        if not self.table_exists(database, name):
            raise self._no_table(database, name)
        place = _place(name)
        columns = [self._column(name, *found) for found in self._ask(database, _COLUMNS, place)]
        key = self._ask(database, _KEY, place)
        primary_key = PrimaryKey(tuple(column for _, column in key), key[0][0]) if key else None
        options = {
            "connector": "jdbc",
            "url": self._account.url(database),
            "username": self._account.username,
            "password": self._account.password,
            "table-name": ".".join(place),
        }
        return CatalogTable(DeclaredSchema(tuple(columns), primary_key=primary_key), options=options)

    def _column(self, table: str, name: str, kind: str, modifier: int, required: bool) -> DeclaredColumn:
        data_type = data_type_of(kind, modifier)
        if data_type is None:
            raise CatalogError(
                f"Doesn't support Postgres type '{kind}' yet.",
                detail=f"column {name} of table {table} in catalog {self.name}",
                hint="CREATE TEMPORARY TABLE with the connector 'jdbc', without it, or with it as STRING",
            )
        return DeclaredColumn(name, data_type=data_type.not_null() if required else data_type)

    def _ask(self, database: str, query: str, parameters: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        account = self._account
        options = ConnectionOptions(account.url(database), None, account.username, account.password)
        with closing(database_of(options).connect()) as connection:
            try:
                rows: list[tuple[Any, ...]] = connection.execute(query, parameters or None).fetchall()
            except Exception as error:
                raise DatabaseError(
                    f"The catalog {self.name} cannot ask the database {database}.", detail=str(error).strip()
                ) from error
        return rows


def _place(name: str) -> tuple[str, str]:
    """Return schema and name of a table."""
    schema, dot, table = name.partition(".")
    return (schema, table) if dot else (_DEFAULT_SCHEMA, name)


def jdbc_catalog(name: str, options: Mapping[str, str]) -> JdbcCatalog:
    """Return the catalog of CREATE CATALOG.

    :param options: all that there are. :raises TableException: ``base-url`` is wrong.
    """
    server = options["base-url"].strip().rstrip("/")
    if not server.startswith(_SCHEME) or "/" in server.removeprefix(_SCHEME):
        raise TableException(
            f"Unable to create catalog '{name}'.",
            detail=f"'base-url' is {options['base-url']}",
            hint=f"{_SCHEME}host:port, without a database; only PostgreSQL's are catalogs",
        )
    account = _Account(server, options["username"], options["password"])
    return JdbcCatalog(name, options["default-database"], account)
