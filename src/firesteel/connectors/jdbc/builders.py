"""Sinks, source and lookup for relational databases (PyFlink: ``pyflink.datastream.connectors.jdbc``; the
source, the exactly-once sink and the lookup follow Flink's Java API).

Tested against PostgreSQL and SQLite. See ``docs/jdbc.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.common.types import Row
from firesteel.connectors.jdbc import sink as _sink, source as _source
from firesteel.connectors.jdbc.builders_options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
)
from firesteel.connectors.jdbc.lookup import LookupClient, LookupOptions
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.statements import parse
from firesteel.connectors.lookup_cache import CacheOptions, LookupCache
from firesteel.program.checks import WrongArgumentError
from firesteel.program.connector_wrappers import SourceWrapper
from firesteel.program.functions.asynchronous import AsyncFunction
from firesteel.program.functions.legacy_connectors import SinkFunction


class JdbcSink(SinkFunction):
    """Writes rows with a statement; for ``add_sink`` and ``sink_to``."""

    def __init__(self, sink: _sink.JdbcStatementSink) -> None:
        super().__init__(sink_func=sink)
        self._sink = sink

    def sink_for(self, type_info: TypeInformation | None) -> _sink.JdbcStatementSink:
        return self._sink

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Execute ``sql`` for each row, at least once. With an upsert (``upsert_statement``) each row ends up
        in the table exactly once.

        :param sql: an INSERT, UPDATE, DELETE or MERGE with one ``?`` per field of the row, in order.
        """
        return JdbcSink(_of(sql, type_info, jdbc_connection_options, jdbc_execution_options, None))

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_exactly_once_options: JdbcExactlyOnceOptions | None = None,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Execute ``sql`` for each row, exactly once. The rows of a checkpoint are written in one
        transaction, together with a marker that records it. (Flink: ``JdbcSink.exactlyOnceSink``.)"""
        options = jdbc_exactly_once_options or JdbcExactlyOnceOptions.defaults()
        return JdbcSink(_of(sql, type_info, jdbc_connection_options, jdbc_execution_options, options))


def _of(
    sql: str,
    type_info: RowTypeInfo,
    connection: JdbcConnectionOptions,
    execution: JdbcExecutionOptions | None,
    exactly_once: JdbcExactlyOnceOptions | None,
) -> _sink.JdbcStatementSink:
    if not isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        raise WrongArgumentError(
            "A JDBC sink needs the type of its rows.",
            detail=f"got {type_info!r}",
            hint="Types.ROW([...]) with the types of the fields, and the stream of that type",
        )
    return _sink.JdbcStatementSink(
        sql,
        tuple(type_info.get_field_types()),
        _connection(connection),
        (execution or JdbcExecutionOptions.defaults())._options,
        None if exactly_once is None else exactly_once._options,
    )


def _connection(options: JdbcConnectionOptions) -> ConnectionOptions:
    if not isinstance(options, JdbcConnectionOptions):
        raise WrongArgumentError(
            "A JDBC connector needs connection options.",
            detail=f"got {options!r}",
            hint="JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(...).build()",
        )
    return options._options


class JdbcNumericBetweenParametersProvider:
    """Cuts the numbers from ``min_val`` to ``max_val``, both inclusive, into ranges for ``BETWEEN ? AND ?``.
    Rows outside are not read. (Flink: ``JdbcNumericBetweenParametersProvider``.)"""

    def __init__(self, min_val: int, max_val: int) -> None:
        if type(min_val) is not int or type(max_val) is not int or min_val > max_val:
            raise ConfigurationError(
                "The bounds of a partitioned scan are two integers, the smaller one first.",
                detail=f"got {min_val!r} and {max_val!r}",
            )
        self._low, self._high, self._batches = min_val, max_val, 1

    def of_batch_num(self, batch_num: int) -> Self:
        """Make ``batch_num`` ranges, or fewer if there are fewer numbers."""
        self._batches = _positive("number of ranges", batch_num)
        return self

    def of_batch_size(self, batch_size: int) -> Self:
        """Make ranges of at most ``batch_size`` numbers."""
        self._batches = -(-(self._high - self._low + 1) // _positive("size of a range", batch_size))
        return self

    def get_parameter_values(self) -> list[list[int]]:
        return [list(pair) for pair in _source.between(self._low, self._high, self._batches)]


def _positive(what: str, value: int) -> int:
    if type(value) is not int or value < 1:
        raise ConfigurationError(f"The {what} is an integer of at least 1.", detail=f"got {value!r}")
    return value


class JdbcSource:
    """Reads the rows of a query once (Flink: ``JdbcSource``); created by ``JdbcSource.builder()``."""

    @staticmethod
    def builder() -> JdbcSourceBuilder:
        return JdbcSourceBuilder()


class JdbcSourceBuilder:
    """Builds the source for ``from_source``. SQL, type and URL are required."""

    def __init__(self) -> None:
        self._sql: str | None = None
        self._type: RowTypeInfo | None = None
        self._connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        self._parameters: Sequence[Sequence[Any]] = ((),)
        self._fetch_size = 1000

    def set_sql(self, sql: str) -> Self:
        """Set the SELECT, with one ``?`` for each parameter of a partition."""
        self._sql = sql
        return self

    def set_type_information(self, type_info: RowTypeInfo) -> Self:
        """Set the types of the columns: ``Types.ROW_NAMED`` or ``Types.ROW``."""
        self._type = type_info
        return self

    def set_db_url(self, url: str) -> Self:
        self._connection.with_url(url)
        return self

    def set_driver_name(self, driver_name: str) -> Self:
        self._connection.with_driver_name(driver_name)
        return self

    def set_username(self, username: str) -> Self:
        self._connection.with_user_name(username)
        return self

    def set_password(self, password: str) -> Self:
        self._connection.with_password(password)
        return self

    def set_jdbc_parameter_values_provider(self, provider: Any) -> Self:
        """Run the query once for each list of ``provider.get_parameter_values()``; each is a split."""
        self._parameters = provider.get_parameter_values()
        return self

    def set_result_set_fetch_size(self, fetch_size: int) -> Self:
        """Set how many rows are fetched from the database at once."""
        self._fetch_size = _positive("fetch size", fetch_size)
        return self

    def build(self) -> SourceWrapper:
        """Build the source.

        :raises ConfigurationError: something is missing, or the parameters do not match the query.
        """
        if self._sql is None or not isinstance(self._type, RowTypeInfo):
            raise ConfigurationError(
                "A JDBC source needs a query and the type of its rows.",
                detail=f"the query is {self._sql!r}, the type {self._type!r}",
                hint="call set_sql() and set_type_information(Types.ROW_NAMED(names, types))",
            )
        parameters = tuple(tuple(values) for values in self._parameters)
        connection = _connection(self._connection.build())
        return SourceWrapper(
            _source.JdbcQuerySource(self._sql, self._type, connection, parameters, self._fetch_size)
        )


class JdbcLookupFunction(AsyncFunction[Any, Any]):
    """Looks up rows for each element, for ``AsyncDataStream``, which adds timeout and capacity. (Flink: the
    lookup of the JDBC table connector.)

    :param sql: a SELECT with a ``?`` for each part of the key.
    :param key: returns the key of an element: a value, or a tuple if there are several ``?``.
    :param result: returns the output for an element and its rows; by default a pair of the element and the
        row for each row, or a pair with None if there is no row.
    :param cache_max_rows: number of keys whose rows each subtask caches in each worker process; 0: no cache.
    :param cache_ttl_ms: maximum age of a cached result; None: no limit.
    :param cache_missing_key: whether to cache that there is no row, too.
    :param max_connections: number of queries that a subtask runs concurrently.
    """

    def __init__(
        self,
        sql: str,
        jdbc_connection_options: JdbcConnectionOptions,
        key: Callable[[Any], Any],
        result: Callable[[Any, list[Row]], list[Any]] | None = None,
        *,
        cache_max_rows: int = 0,
        cache_ttl_ms: int | None = None,
        cache_missing_key: bool = True,
        max_retries: int = 3,
        max_connections: int = 4,
    ) -> None:
        self._sql = sql
        self._several = parse(sql).parameters != 1
        self._options = _connection(jdbc_connection_options)
        self._key = key
        self._result = _pairs if result is None else result
        if cache_ttl_ms is not None:
            _positive("time to live of a cached row, in milliseconds,", cache_ttl_ms)
        self._kept = CacheOptions(cache_max_rows, cache_ttl_ms, cache_missing_key)
        self._lookup = LookupOptions(max_retries, _positive("number of connections", max_connections))
        LookupClient(sql, self._options, self._lookup).close()  # rejects an invalid URL

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]  # may be async here
        self._client = LookupClient(self._sql, self._options, self._lookup)
        await self._client.check()
        self._cache = LookupCache(self._kept)

    async def async_invoke(self, value: Any) -> list[Any]:
        key = self._key(value)
        parameters = tuple(key) if self._several else (key,)
        rows = await self._cache.get(parameters, lambda: self._client.rows(parameters))
        return self._result(value, rows)

    async def close(self) -> None:  # type: ignore[override]  # may be async here
        self._client.close()


def _pairs(value: Any, rows: list[Row]) -> list[Any]:
    return [(value, row) for row in rows] or [(value, None)]
