"""SQL and the Table API (PyFlink: ``pyflink.table``)."""

from __future__ import annotations

from firesteel.common.types import Row, RowKind
from firesteel.table.changelog_mode import ChangelogMode
from firesteel.table.compiled_plan import CompiledPlan
from firesteel.table.data_view import DataView, ListView, MapView
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.explain_detail import ExplainDetail
from firesteel.table.expression import Expression
from firesteel.table.module import Module, ModuleEntry
from firesteel.table.plan_reference import PlanReference
from firesteel.table.result_kind import ResultKind
from firesteel.table.schema import Schema
from firesteel.table.sql_dialect import SqlDialect
from firesteel.table.statement_set import StatementSet
from firesteel.table.table import (
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    Table,
    WindowGroupedTable,
)
from firesteel.table.table_config import TableConfig
from firesteel.table.table_descriptor import FormatDescriptor, TableDescriptor
from firesteel.table.table_environment import StreamTableEnvironment, TableEnvironment
from firesteel.table.table_pipeline import TablePipeline
from firesteel.table.table_result import TableResult
from firesteel.table.table_schema import TableSchema
from firesteel.table.types import DataType, DataTypes, RowField, RowType, UserDefinedType
from firesteel.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataType",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "Row",
    "RowField",
    "RowKind",
    "RowType",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]
