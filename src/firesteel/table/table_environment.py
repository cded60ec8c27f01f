"""Table environments: catalogs, statements, tables (PyFlink: ``pyflink.table.table_environment``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.options import execution, table as options
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.program.execution import get_executor
from firesteel.program.execution_mode import RuntimeExecutionMode
from firesteel.sql import logical as l, types as t
from firesteel.sql.arrow import logical_of_arrow
from firesteel.sql.binder.tables import (
    plan_of_table,
    resolve,
    resolve_anonymous,
    resolve_schema,
    scan_of,
    schema_of,
)
from firesteel.sql.catalog import CatalogTable, ResolvedTable, TableKind
from firesteel.sql.expressions import identity
from firesteel.sql.planner.sinks import EVERY
from firesteel.sql.schema import DeclaredSchema
from firesteel.table import _collections as collections, _running as running
from firesteel.table._catalog_methods import CatalogMethods
from firesteel.table._plans import projected
from firesteel.table._session import Session
from firesteel.table._statements import execute_statement, explained
from firesteel.table._streams import StreamTable, stream_row
from firesteel.table.changelog_mode import ChangelogMode
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.explain_detail import ExplainDetail
from firesteel.table.expression import Expression
from firesteel.table.schema import Schema
from firesteel.table.statement_set import StatementSet
from firesteel.table.table import Table
from firesteel.table.table_config import TableConfig
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataType

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(CatalogMethods):
    """Where tables are made, described and asked (Flink: ``TableEnvironment``)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._config = TableConfig(session.configuration)

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """An environment of its own for tables alone."""
        return TableEnvironment(_session(None, environment_settings))

    def get_config(self) -> TableConfig:
        return self._config

    # ---- SQL

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement: a query, INSERT, or one about catalogs, options, plans.

        :raises FiresteelError: it cannot be read, or means nothing.
        """
        return execute_statement(self, stmt)

    def sql_query(self, query: str) -> Table:
        """The table of a query."""
        return Table(self._session.query(query), self)

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """How a query, INSERT or STATEMENT SET is computed."""
        return explained(self, stmt, extra_details)

    def create_statement_set(self) -> StatementSet:
        """INSERTs that become one job."""
        return StatementSet(self)

    def compile_plan_sql(self, stmt: str) -> Any:
        """The plan of an INSERT, to be kept and run later."""
        from firesteel.table.compiled_plan import compile_statement

        return compile_statement(self, stmt)

    def load_plan(self, plan_reference: Any) -> Any:
        """A plan that was compiled."""
        from firesteel.table.compiled_plan import load_plan

        return load_plan(self, plan_reference)

    def execute_plan(self, plan_reference: Any) -> TableResult:
        """Run a plan that was compiled."""
        result: TableResult = self.load_plan(plan_reference).execute()
        return result

    # ---- tables

    def from_path(self, path: str) -> Table:
        """The table or view of this name."""
        parts = self._parts(path)
        found = self._session.catalogs.find_table(parts)
        if found is None:
            raise self._no_table(path)
        binder = self._session.binder()
        return Table(plan_of_table(binder, found), self, schema_of(binder, found))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """A table without a name."""
        _require_descriptor(descriptor)
        table = resolve_anonymous(self._session.binder(), descriptor._catalog_table())
        return Table(scan_of(table), self, table.schema)

    def from_elements(
        self, elements: Iterable[Any], schema: DataType | list[str] | None = None, verify_schema: bool = True
    ) -> Table:
        """A table of some rows. Types are those of *schema*, or are found in the rows."""
        return self._table_of(collections.of_elements(elements, schema, verify_schema))

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """The rows of a pandas DataFrame."""
        if not isinstance(splits_num, int) or splits_num < 1:
            raise ProgramError("splits_num must be at least 1.", detail=f"got {splits_num!r}")
        return self._table_of(collections.of_pandas(pdf, schema))

    def from_arrow(self, table: Any) -> Table:
        """The rows of an Arrow table or record batch."""
        return self._table_of(collections.of_arrow(table))

    def from_spark(self, data_frame: Any) -> Table:
        """The rows of a Spark DataFrame, as a bounded table: Spark writes them once, into files of columns.

        A TIMESTAMP of Spark's is a TIMESTAMP_LTZ here, a TIMESTAMP_NTZ a TIMESTAMP.
        """
        staged = get_executor().from_spark(self._session.environment, data_frame)
        fields = tuple(t.RowField(f.name, logical_of_arrow(f.type)) for f in staged.schema)
        where = {
            "connector": "filesystem",
            "format": "parquet",
            "path": staged.directory,
            "parquet.utc-timezone": "true",
        }
        table = CatalogTable(schema=DeclaredSchema.of(t.RowType(fields=fields)), options=where)
        return Table(scan_of(resolve_anonymous(self._session.binder(), table)), self)

    def _table_of(self, made: tuple[DeclaredSchema, Any]) -> Table:
        schema, stream = made
        return Table(self._scan(schema, stream), self)

    def _scan(self, schema: DeclaredSchema, stream: Any) -> l.Node:
        return scan_of(self._resolved(schema, stream))

    def _resolved(self, schema: DeclaredSchema, stream: Any) -> ResolvedTable:
        return resolve_anonymous(self._session.binder(), CatalogTable(schema=schema, stream=stream))

    def _stream_table(self, stream: StreamTable, schema: Schema | None) -> Table:
        declared = DeclaredSchema() if schema is None else schema._declared
        if not any(c.data_type is not None and c.kind.name == "PHYSICAL" for c in declared.columns):
            own = DeclaredSchema.of(stream.fields).columns
            declared = DeclaredSchema((*own, *declared.columns), declared.watermarks, declared.primary_key)
            table = self._resolved(declared, stream)
            return Table(scan_of(table), self, table.schema)
        # Expressions may be of fields that are not among the columns.
        names = [c.name for c in declared.columns]
        more = [c for c in DeclaredSchema.of(stream.fields).columns if c.name not in names]
        every = DeclaredSchema((*declared.columns, *more), declared.watermarks, declared.primary_key)
        table = self._resolved(every, stream)
        node = scan_of(table)
        if more:
            return Table(projected(node, identity(node.row)[: len(names)], names), self)
        return Table(node, self, table.schema)

    def _name_of(self, table: Table) -> str:
        """A name under which the table can be asked for in SQL."""
        names = self.__dict__.setdefault("_named", {})
        key = id(table)
        if key not in names:
            name = f"UnnamedTable${len(names)}"
            names[key] = (name, table)
            path = self._session.catalogs.path((name,))
            self._session.catalogs.create_temporary_table(path, _view(table))
        return str(names[key][0])

    # ---- running

    def _execute_query(self, node: l.Node, statement: str = "") -> TableResult:
        row, parts = running.collected(self._session, node, statement)
        return self._result(row, parts, client=parts.client)

    def _result(self, row: Any, parts: Any, **more: Any) -> TableResult:
        session = self._session
        more.setdefault("streaming", not session.batch)
        return TableResult(
            row,
            parts,
            width=session.configuration.get(options.DISPLAY_WIDTH) or 30,
            zone=self._zone(),
            **more,
        )

    def _zone(self) -> str:
        from firesteel.sql.session import session_zone

        return session_zone(self._session.configuration)

    def _insert(self, node: l.Node, target: Any, overwrite: bool = False, **more: Any) -> l.Sink:
        """INSERT of a plan into a table of a name, or of a descriptor."""
        binder = self._session.binder()
        if isinstance(target, TableDescriptor):
            declared = target._catalog_table()
            if not declared.schema.columns:
                from dataclasses import replace

                declared = replace(declared, schema=DeclaredSchema.of(running.plain_row(node.row)))
            table = resolve_anonymous(binder, declared)
        else:
            found = self._session.catalogs.find_table(self._parts(target))
            if found is None:
                raise self._no_table(target)
            if found.table.kind is TableKind.VIEW:
                raise ProgramError(f"{target} is a view, and rows cannot be written to it.")
            table = resolve(binder, found)
        return running.insert_node(self._session, node, table, overwrite=overwrite, **more)

    def _execute_sinks(self, sinks: Sequence[l.Sink]) -> TableResult:
        """Start one job, and say how many rows each sink has got: -1, as nobody counts them."""
        if not sinks:
            raise ProgramError("There is nothing to execute: no INSERT was added.")
        names = [f"{sink.table.name}" for sink in sinks]
        client = running.started(self._session, sinks, f"insert-into_{','.join(names)}")
        if self._session.configuration.get(options.DML_SYNC):
            client.get_job_execution_result().result()
        return collections.counts(self, names, client)

    def _explain(self, nodes: Sequence[l.Node], details: Sequence[ExplainDetail] = ()) -> str:
        from firesteel.table._explaining import explain

        return explain(self._session, nodes, details)

    def _to_arrow(self, table: Table) -> Any:
        return collections.final_arrow(*running.collected(self._session, table._node))

    def _to_pandas(self, table: Table) -> Any:
        from firesteel.sql.session import session_zone

        row, parts = running.collected(self._session, table._node)
        return collections.to_pandas(row, parts, session_zone(self._session.configuration))

    def _to_spark(self, table: Table) -> Any:
        return running.to_spark(self._session, table._node)

    # ---- what goes to the workers with the program

    def add_python_file(self, file_path: str) -> None:
        """Make a module, a directory of modules or a zip importable, here and in the workers."""
        self._session.environment.add_python_file(file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install the packages of a requirements file for the workers."""
        self._session.environment.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the workers."""
        self._session.environment.add_python_archive(archive_path, target_dir)


class StreamTableEnvironment(TableEnvironment):
    """Tables beside the streams of an environment (Flink: ``StreamTableEnvironment``)."""

    @staticmethod
    def create(  # type: ignore[override]  # as in PyFlink: of an environment of streams
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Tables for an environment; None: for a new one."""
        return StreamTableEnvironment(_session(stream_execution_environment, environment_settings))

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Schema | Expression[Any]) -> Table:
        """A stream of new rows as a table, with a schema or with names of its columns."""
        stream = _require_stream(data_stream)
        found = StreamTable(stream, stream_row(stream.output_type))
        if len(fields_or_schema) == 1 and isinstance(fields_or_schema[0], Schema):
            return self._stream_table(found, fields_or_schema[0])
        if not fields_or_schema:
            return self._stream_table(found, None)
        from firesteel.table._stream_fields import with_fields

        made: Table = with_fields(self, found, list(fields_or_schema))
        return made

    def from_changelog_stream(
        self,
        data_stream: DataStream,
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """A stream of changes as a table: rows have their kinds (``Row.of_kind``)."""
        stream = _require_stream(data_stream)
        mode = (changelog_mode or ChangelogMode.all())._kinds
        return self._stream_table(StreamTable(stream, stream_row(stream.output_type), mode), schema)

    def to_data_stream(self, table: Table) -> DataStream:
        """The rows of a table as a stream; the table must not change rows."""
        return running.stream_of(self._session, _require_table(table)._node, frozenset(("+I",)))

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> DataStream:
        """The changes of a table as a stream of rows with kinds.

        :param target_schema: columns for those of the table, by their places. A metadata column ``rowtime``
            is the timestamp of the records.
        """
        from firesteel.table._stream_fields import to_schema

        node = _require_table(table)._node
        mode = (changelog_mode or ChangelogMode.all())._kinds
        if target_schema is None:
            return running.stream_of(self._session, node, mode)
        schema = resolve_schema(self._session.binder(), target_schema._declared)
        node, schema, stamp = to_schema(node, schema)
        return running.stream_of(self._session, node, mode, schema, stamp=stamp)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The rows of a table as records of a type; the table must not change rows."""
        from firesteel.table._stream_fields import as_records

        return as_records(self.to_data_stream(table), type_info, retract=False)

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """Pairs of whether a row is added (else it is taken back), and the row."""
        from firesteel.table._stream_fields import as_records

        stream = running.stream_of(self._session, _require_table(table)._node, EVERY)
        return as_records(stream, type_info, retract=True)


def _session(environment: StreamExecutionEnvironment | None, settings: Any) -> Session:
    if settings is not None and not isinstance(settings, EnvironmentSettings | Configuration):
        raise ProgramError("Not EnvironmentSettings.", detail=f"got {settings!r}")
    if isinstance(settings, EnvironmentSettings):
        settings = settings.get_configuration()
    if environment is None:
        environment = StreamExecutionEnvironment.get_execution_environment()
    elif not isinstance(environment, StreamExecutionEnvironment):
        raise ProgramError("Not a StreamExecutionEnvironment.", detail=f"got {environment!r}")
    if settings is not None:
        if environment.configuration.get(execution.RUNTIME_MODE) == RuntimeExecutionMode.AUTOMATIC.name:
            raise UnsupportedFeatureError("A table environment needs a mode: STREAMING or BATCH.")
        environment.configuration.add_all(settings)
    return Session(environment)


def _view(table: Table) -> CatalogTable:
    """A table as a view of the catalog."""
    schema = table.get_resolved_schema()._as_declared()
    return CatalogTable(schema=schema, kind=TableKind.VIEW, plan=table._node)


def _require_stream(stream: Any) -> Any:
    if not isinstance(stream, DataStream):
        raise ProgramError("Not a DataStream.", detail=f"got {stream!r}")
    return stream._transformation


def _require_table(table: Any) -> Table:
    if not isinstance(table, Table):
        raise ProgramError("Not a Table.", detail=f"got {table!r}")
    return table


def _require_descriptor(descriptor: Any) -> TableDescriptor:
    if not isinstance(descriptor, TableDescriptor):
        raise ProgramError("Not a TableDescriptor.", detail=f"got {descriptor!r}")
    return descriptor
