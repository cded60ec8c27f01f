"""The supported databases: how to connect, check a statement, and stream the rows of a query."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol

from firesteel.common.errors import (
    ConfigurationError,
    FiresteelError,
    PathNotFoundError,
    TypeMismatchError,
    UnsupportedFeatureError,
)
from firesteel.common.extras import extra
from firesteel.common.masking import remember_address, remember_secret
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._column_families import family
from firesteel.connectors.jdbc import types
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.statements import Statement
from firesteel.connectors.jdbc.types import Convert

CONNECT_S: Final = 5
_BUSY_S: Final = 60.0  # SQLite has one writer at a time: the others wait
_CHECKED: Final = "firesteel_check"


class DatabaseError(FiresteelError):
    """Raised when a database rejects a request. The driver's error is the ``__cause__``."""


class Database(Protocol):
    """Access to one kind of database. Connections are in autocommit mode; ``begin`` starts a transaction and
    ``COMMIT`` ends it."""

    begin: str
    write: Mapping[str, Convert]
    read: Mapping[str, Convert]

    def connect(self) -> Any:
        """:raises FiresteelError: the database cannot be reached or denies access."""

    def sql(self, statement: Statement) -> str:
        """Return the statement in the driver's syntax."""

    def check(
        self, connection: Any, statement: Statement, types_: Sequence[TypeInformation] | None = None
    ) -> None:
        """Reject a statement that cannot work with parameters of ``types_``, where the types are known.

        :raises FiresteelError: a table or column is unknown, the syntax is wrong, or types do not match.
        """

    def columns(self, connection: Any, query: str, parameters: Sequence[Any]) -> list[tuple[str, str | None]]:
        """Return the names of a query's columns and, where the database knows them, their types."""

    def rows(self, connection: Any, query: str, parameters: Sequence[Any], fetch: int) -> Any:
        """Return a cursor that streams the rows of a query, ``fetch`` at a time."""

    def is_transient(self, error: BaseException) -> bool:
        """Return true if retrying over a new connection may succeed."""

    def is_alive(self, connection: Any) -> bool: ...


def database_of(options: ConnectionOptions) -> Database:
    """Return the database of a JDBC URL.

    :raises ConfigurationError: the URL is invalid.
    :raises UnsupportedFeatureError: this kind of database is not supported.
    """
    scheme, _, rest = options.url.partition(":") if isinstance(options.url, str) else ("", "", "")
    kind, _, where = rest.partition(":")
    if scheme != "jdbc" or not where:
        raise ConfigurationError(
            "Not a JDBC URL.",
            detail=f"got {options.url!r}",
            hint="jdbc:postgresql://host:port/database or jdbc:sqlite:/path",
        )
    found = _KINDS.get(kind)
    if found is None:
        raise UnsupportedFeatureError(
            f"There is no support for databases of the kind {kind!r}.",
            detail=f"the URL is {options.url!r}",
            hint=f"supported are: {', '.join(sorted(_KINDS))}",
        )
    make, drivers = found
    if options.driver is not None and options.driver not in drivers:
        raise ConfigurationError(
            f"The driver {options.driver!r} is not one for {kind}.",
            hint=f"leave the driver name out, or give {drivers[0]!r}",
        )
    database: Database = make(options, where)
    return database


# ---- PostgreSQL


@dataclass(frozen=True, slots=True)
class Postgres:
    """PostgreSQL through psycopg. ``where`` is the URL without ``jdbc:postgresql:``."""

    options: ConnectionOptions
    where: str
    begin = "BEGIN"
    write = types.POSTGRES_WRITE
    read = types.POSTGRES_READ

    def connect(self) -> Any:
        psycopg = _psycopg()
        target = f"postgresql:{self.where}" if self.where.startswith("//") else f"postgresql:///{self.where}"
        login = {"user": self.options.user, "password": self.options.password}
        given = {name: value for name, value in login.items() if value is not None}
        remember_secret(self.options.password)
        remember_address(self.options.url)
        try:
            made = psycopg.connect(target, autocommit=True, connect_timeout=CONNECT_S, **given)
            made.adapters.register_loader("uuid", psycopg.types.string.TextLoader)  # declared as a text
            return made
        except psycopg.Error as e:
            raise DatabaseError(
                f"No connection to {self.options.url}",
                detail=str(e).strip(),
                hint="check host, port, database, user and password, and that the server runs",
            ) from e

    def sql(self, statement: Statement) -> str:
        return statement.render(lambda number: "%s", lambda text: text.replace("%", "%%"))

    def check(
        self, connection: Any, statement: Statement, types_: Sequence[TypeInformation] | None = None
    ) -> None:
        numbered = statement.render(lambda number: f"${number}")
        with self._explained(statement.sql):
            connection.execute(f"PREPARE {_CHECKED} AS {numbered}")
            (found,) = connection.execute(
                f"SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = '{_CHECKED}'"
            ).fetchone()
            connection.execute(f"DEALLOCATE {_CHECKED}")
        pairs = [] if types_ is None else zip(types_, found, strict=True)
        for number, (declared, wanted) in enumerate(pairs, 1):
            _require_fit(declared, wanted, f"parameter {number} of {statement.sql!r}")

    def columns(self, connection: Any, query: str, parameters: Sequence[Any]) -> list[tuple[str, str | None]]:
        with self._explained(query):
            description = connection.execute(query, parameters).description
        if not description:
            return []
        oids = [column.type_code for column in description]
        names = connection.execute(
            "SELECT format_type(o, NULL) FROM unnest(%s::oid[]) WITH ORDINALITY AS t(o, n) ORDER BY n", [oids]
        ).fetchall()
        return [(column.name, name) for column, (name,) in zip(description, names, strict=True)]

    def rows(self, connection: Any, query: str, parameters: Sequence[Any], fetch: int) -> Any:
        connection.execute("BEGIN TRANSACTION READ ONLY")  # a server-side cursor lives in a transaction
        cursor = connection.cursor(name="firesteel_scan")
        cursor.itersize = fetch
        cursor.execute(query, parameters)
        return cursor

    def is_transient(self, error: BaseException) -> bool:
        psycopg = _psycopg()
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) or (
            isinstance(error, DatabaseError) and isinstance(error.__cause__, psycopg.OperationalError)
        )

    def is_alive(self, connection: Any) -> bool:
        return not connection.closed

    @contextmanager
    def _explained(self, sql: str) -> Iterator[None]:
        try:
            yield
        except _psycopg().Error as e:
            _refuse(sql, str(e).strip(), e)


def _psycopg() -> Any:
    return extra("psycopg", "JDBC for PostgreSQL", "jdbc")


# ---- SQLite


@dataclass(frozen=True, slots=True)
class Sqlite:
    """SQLite through Python's module. ``where`` is the path of the file, which all tasks must be able to
    access."""

    options: ConnectionOptions
    where: str
    begin = "BEGIN IMMEDIATE"
    write = types.SQLITE_WRITE
    read = types.SQLITE_READ

    def connect(self) -> Any:
        if self.where == ":memory:":
            raise UnsupportedFeatureError(
                "A SQLite database in memory belongs to one process; tasks run in several.",
                hint="give the path of a file: jdbc:sqlite:/path",
            )
        if not os.path.isfile(self.where):
            raise PathNotFoundError(
                f"There is no SQLite database at {self.where}", hint="create it, with its tables, first"
            )
        # Only one thread uses a connection at a time, but not always the one that opened it.
        return sqlite3.connect(self.where, _BUSY_S, isolation_level=None, check_same_thread=False)

    def sql(self, statement: Statement) -> str:
        return statement.render(lambda number: "?")

    def check(
        self, connection: Any, statement: Statement, types_: Sequence[TypeInformation] | None = None
    ) -> None:
        for declared in types_ or ():
            if family(declared) == "array":
                raise UnsupportedFeatureError(
                    f"A column of SQLite cannot hold {declared}.", hint="make a text of it: json.dumps"
                )
        with self._explained(statement.sql):
            connection.execute(f"EXPLAIN {self.sql(statement)}", [None] * statement.parameters).close()

    def columns(self, connection: Any, query: str, parameters: Sequence[Any]) -> list[tuple[str, str | None]]:
        with self._explained(query):
            return [(column[0], None) for column in connection.execute(query, parameters).description or ()]

    def rows(self, connection: Any, query: str, parameters: Sequence[Any], fetch: int) -> Any:
        cursor = connection.execute(query, parameters)
        cursor.arraysize = fetch
        return cursor

    def is_transient(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)

    def is_alive(self, connection: Any) -> bool:
        return True

    @contextmanager
    def _explained(self, sql: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as e:
            _refuse(sql, str(e), e)


_KINDS: Final[dict[str, tuple[Any, tuple[str, ...]]]] = {
    "postgresql": (Postgres, ("org.postgresql.Driver", "psycopg")),
    "sqlite": (Sqlite, ("org.sqlite.JDBC", "sqlite3")),
}


def _refuse(sql: str, reason: str, error: BaseException) -> NoReturn:
    raise DatabaseError(
        "The database refuses a statement.",
        detail=f"{reason}; the statement: {sql}",
        hint="correct the statement, or create what it names",
    ) from error


def _require_fit(declared: TypeInformation, column: str, what: str) -> None:
    if not types.fits_postgres(family(declared), column):
        raise TypeMismatchError(
            f"The declared type {declared} does not fit {what}: there it is {column}.",
            hint="declare the type that goes with the column, or convert in the statement",
        )


def check_columns(
    found: Sequence[tuple[str, str | None]], declared: Sequence[TypeInformation], query: str
) -> None:
    """Raise if the columns of a query do not match the declared row type."""
    if len(found) != len(declared):
        raise ConfigurationError(
            f"The query gives {len(found)} columns, the declared row has {len(declared)} fields.",
            detail=f"columns {[name for name, _ in found]}; the query: {query}",
        )
    for type_info, (name, column) in zip(declared, found, strict=True):
        if column is not None:
            _require_fit(type_info, column, f"column {name!r} of {query!r}")
