"""Catalogs and plans for the tests of parser, binder and rules."""

from __future__ import annotations

from firesteel.sql import functions
from firesteel.sql.binder.binder import Binder, Settings
from firesteel.sql.binder.inserts import bind_insert
from firesteel.sql.catalog import CatalogFunction, CatalogTable, TableKind
from firesteel.sql.catalog_manager import CatalogManager
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind, Typing
from firesteel.sql.logical import Node
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.statement_parser import parse_statement
from firesteel.sql.types import DataType

TABLES = (
    """CREATE TABLE t (a INT, b BIGINT, c STRING, d DECIMAL(10, 2), r ROW<x INT, y ROW<z STRING>>,
       arr ARRAY<INT NOT NULL>, m MAP<STRING, INT>, ts TIMESTAMP(3), p AS PROCTIME(),
       arow ARRAY<ROW<f1 INT, f2 STRING>>, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)""",
    "CREATE TABLE s (a INT, e STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)",
    "CREATE TABLE ver (k INT, v STRING, ts TIMESTAMP(3), PRIMARY KEY (k) NOT ENFORCED, "
    "WATERMARK FOR ts AS ts)",
    "CREATE TABLE snk (a INT NOT NULL, b STRING)",
)


def catalog(*statements: str) -> CatalogManager:
    """A session with the built-in functions and tables made by *statements* (``TABLES`` if there are
    none)."""
    manager = CatalogManager(builtin=functions.find, builtin_names=functions.sql_names)
    for statement in statements or TABLES:
        create(manager, statement)
    return manager


def create(manager: CatalogManager, sql: str) -> None:
    """CREATE TABLE or CREATE VIEW, as temporary objects."""
    statement = parse_statement(sql)
    path = manager.path(statement.path)
    if isinstance(statement, s.CreateView):
        table = CatalogTable(
            kind=TableKind.VIEW, query=statement.query.text, expanded_query=statement.query.text
        )
    else:
        assert isinstance(statement, s.CreateTable)
        table = CatalogTable(
            schema=statement.schema, options=statement.options, partition_keys=statement.partition_keys
        )
    manager.replace_temporary_table(path, table)


def bind(manager: CatalogManager, sql: str, *, streaming: bool = True) -> Node:
    """The plan of a query or an INSERT, as the binder makes it."""
    statement = parse_statement(sql)
    binder = Binder(manager, sql, Settings(streaming=streaming))
    if isinstance(statement, s.Insert):
        return bind_insert(binder, statement)
    assert isinstance(statement, s.Query)
    return binder.bind_query(statement.tree)


def add_function(
    manager: CatalogManager, name: str, result: DataType, kind: FunctionKind = FunctionKind.SCALAR
) -> FunctionDefinition:
    """A function of the user that takes anything."""
    definition = FunctionDefinition(
        name=name,
        kind=kind,
        rule=lambda call: Typing(result, tuple(call.types)),
        value=lambda *values: values,
    )
    manager.create_temporary_system_function(name, CatalogFunction(definition=definition))
    return definition
