"""Tables next to streams: generated tables that become streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from firesteel.common.errors import ConfigurationError, ProgramError, UnsupportedFeatureError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.plugins import connector_named
from firesteel.connectors.registry import CONNECTORS
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.table.table import Table
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.util.exceptions import (
    TableAlreadyExistException,
    TableException,
    TableNotExistException,
)

__all__ = ["StreamTableEnvironment"]


class StreamTableEnvironment:
    """Tables of one environment (Flink: ``StreamTableEnvironment``).

    Tables of the connector ``datagen``, and of connectors that other packages add with tables, can be created
    and turned into streams; there is no SQL.
    """

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._env = environment
        self._tables: dict[str, Table] = {}

    @staticmethod
    def create(
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: Any = None,
    ) -> StreamTableEnvironment:
        """Tables for an environment; None: for a new one."""
        if environment_settings is not None:
            raise UnsupportedFeatureError(
                "Settings of a table environment are not available.",
                hint="configure the StreamExecutionEnvironment and pass that",
            )
        env = stream_execution_environment
        if env is None:
            env = StreamExecutionEnvironment.get_execution_environment()
        return StreamTableEnvironment(env)

    def create_temporary_table(self, path: str, descriptor: TableDescriptor) -> None:
        """Give a table a name. Its options are checked here."""
        if path in self._tables:
            raise TableAlreadyExistException(
                f"There is a table {path!r} already.", hint="choose another name"
            )
        if not isinstance(descriptor, TableDescriptor):
            raise ProgramError("Not a TableDescriptor.", detail=f"got {descriptor!r}")
        _table_source(descriptor.connector)(descriptor)
        self._tables[path] = Table(path, descriptor)

    def from_path(self, path: str) -> Table:
        """The table of this name."""
        table = self._tables.get(path)
        if table is None:
            raise TableNotExistException(
                f"There is no table {path!r}.",
                detail=f"tables: {', '.join(self._tables) or 'none'}",
                hint="create it with create_temporary_table()",
            )
        return table

    def to_data_stream(self, table: Table) -> DataStream:
        """The rows of a table as Rows with the names of its columns."""
        if not isinstance(table, Table):
            raise ProgramError("to_data_stream() takes a Table.", detail=f"got {table!r}")
        source, type_info = _table_source(table.descriptor.connector)(table.descriptor)
        return self._env.from_source(source, WatermarkStrategy.no_watermarks(), table.name, type_info)

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Any) -> NoReturn:
        raise UnsupportedFeatureError(
            "A stream cannot be turned into a table.", hint="go on with the DataStream API"
        )

    def execute_sql(self, stmt: str) -> NoReturn:
        _refuse_sql(stmt)

    def sql_query(self, query: str) -> NoReturn:
        _refuse_sql(query)


def _table_source(connector: str) -> Callable[[TableDescriptor], tuple[Any, Any]]:
    """What reads tables of a connector, and checks their options."""
    try:
        create = connector_named(connector).table_source()
    except ConfigurationError as error:
        raise TableException(
            f"There is no table connector {connector!r}.", detail=error.detail, hint=error.hint
        ) from error
    if create is None:
        with_tables = ", ".join(record.name for record in CONNECTORS.all() if record.table is not None)
        raise TableException(
            f"There is no table connector {connector!r}.",
            detail=f"the connector {connector} has no tables",
            hint=f"available: {with_tables}; other systems are read with env.from_source() "
            "or env.from_spark()",
        )
    return create


def _refuse_sql(statement: str) -> NoReturn:
    raise UnsupportedFeatureError(
        "SQL is not available.",
        detail=statement,
        hint="use the DataStream API, or Spark SQL with env.from_spark(spark.sql(...)) for bounded data",
    )
