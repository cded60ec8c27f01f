"""Option classes of PyFlink's JDBC connector."""

from __future__ import annotations

from typing import Any, Self

from firesteel.common.errors import ConfigurationError
from firesteel.connectors.jdbc.options import ConnectionOptions, ExactlyOnceOptions, ExecutionOptions


class JdbcConnectionOptions:
    """The database and the credentials (PyFlink: ``JdbcConnectionOptions``); created by its builder."""

    def __init__(self, options: ConnectionOptions) -> None:
        self._options = options

    def get_db_url(self) -> str:
        return self._options.url

    def get_driver_name(self) -> str | None:
        return self._options.driver

    def get_user_name(self) -> str | None:
        return self._options.user

    def get_password(self) -> str | None:
        return self._options.password

    class JdbcConnectionOptionsBuilder:
        """Requires ``with_url``: ``jdbc:postgresql://host:port/database`` or ``jdbc:sqlite:/path``. The name
        of a Java driver is accepted but not used; Python has its own."""

        def __init__(self) -> None:
            self._given: dict[str, Any] = {}

        def _with(self, name: str, value: str) -> Self:
            if not isinstance(value, str):
                raise ConfigurationError(
                    f"The {name} of a JDBC connection is a text.", detail=f"got {value!r}"
                )
            self._given[name] = value
            return self

        def with_url(self, url: str) -> Self:
            return self._with("url", url)

        def with_driver_name(self, driver_name: str) -> Self:
            return self._with("driver", driver_name)

        def with_user_name(self, user_name: str) -> Self:
            return self._with("user", user_name)

        def with_password(self, password: str) -> Self:
            return self._with("password", password)

        def build(self) -> JdbcConnectionOptions:
            """Build the options.

            :raises ConfigurationError: the URL is missing.
            """
            if "url" not in self._given:
                raise ConfigurationError("A JDBC connection needs a URL.", hint="call with_url()")
            return JdbcConnectionOptions(ConnectionOptions(**self._given))


class JdbcExecutionOptions:
    """Batch sizes and retries (PyFlink: ``JdbcExecutionOptions``)."""

    def __init__(self, options: ExecutionOptions) -> None:
        self._options = options

    def get_batch_interval_ms(self) -> int:
        return self._options.batch_interval_ms

    def get_batch_size(self) -> int:
        return self._options.batch_size

    def get_max_retries(self) -> int:
        return self._options.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the defaults: batches of 5000 rows, three retries."""
        return JdbcExecutionOptions(ExecutionOptions())

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        return JdbcExecutionOptions.Builder()

    class Builder:
        def __init__(self) -> None:
            self._given: dict[str, int] = {}

        def with_batch_size(self, size: int) -> Self:
            """Set the number of rows per batch; 0: all rows of an epoch."""
            self._given["batch_size"] = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> Self:
            """Set how long a row may wait for its batch to fill, in real time; 0: until the batch is full or
            the epoch ends. A row never waits longer than its epoch."""
            self._given["batch_interval_ms"] = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> Self:
            self._given["max_retries"] = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            return JdbcExecutionOptions(ExecutionOptions(**self._given))


class JdbcExactlyOnceOptions:
    """Where the markers of ``JdbcSink.exactly_once_sink`` are stored, and for how long. Flink's class of this
    name configures XA transactions, which are not used here."""

    def __init__(self, options: ExactlyOnceOptions) -> None:
        self._options = options

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """Return the defaults: the table ``firesteel_commits``, one week."""
        return JdbcExactlyOnceOptions(ExactlyOnceOptions())

    @staticmethod
    def builder() -> JdbcExactlyOnceOptions.Builder:
        return JdbcExactlyOnceOptions.Builder()

    class Builder:
        def __init__(self) -> None:
            self._given: dict[str, Any] = {}

        def with_marker_table(self, table: str) -> Self:
            """Set the table, ``table`` or ``schema.table``. It is created when the job starts if it does not
            exist."""
            if not isinstance(table, str) or not table:
                raise ConfigurationError("The name of a marker table is a text.", detail=f"got {table!r}")
            self._given["marker_table"] = table
            return self

        def with_marker_retention_ms(self, retention_ms: int) -> Self:
            """Set how long markers are kept. A job restored from an older checkpoint writes its rows
            again."""
            if type(retention_ms) is not int or retention_ms <= 0:
                raise ConfigurationError("The retention is in milliseconds.", detail=f"got {retention_ms!r}")
            self._given["retention_ms"] = retention_ms
            return self

        def build(self) -> JdbcExactlyOnceOptions:
            return JdbcExactlyOnceOptions(ExactlyOnceOptions(**self._given))
