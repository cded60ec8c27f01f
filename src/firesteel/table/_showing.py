"""SHOW and DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import types as t
from firesteel.sql.binder.tables import resolve, resolve_schema
from firesteel.sql.catalog import CatalogFunction, CatalogModel, TableKind
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.parser import statements as s
from firesteel.sql.schema import Column, ResolvedSchema
from firesteel.table._collections import rows_result
from firesteel.table._jobs import describe_job, show_jobs
from firesteel.table.table_result import TableResult
from firesteel.util.exceptions import TableException

__all__ = ["describe", "show"]

_TEXT: Final = t.VarCharType()


def _like(names: Iterable[str], pattern: s.Pattern | None) -> list[str]:
    if pattern is None:
        return list(names)
    parts = re.split(r"(\\.|%|_)", pattern.text)
    expression = "".join(
        {"%": ".*", "_": "."}.get(p, re.escape(p[1:] if p.startswith("\\") else p)) for p in parts
    )
    fits = re.compile(expression, re.DOTALL | (re.IGNORECASE if pattern.ignore_case else 0))
    return [n for n in names if bool(fits.fullmatch(n)) is not pattern.negated]


def _names(env: Any, title: str, names: Iterable[str], statement: s.Show) -> TableResult:
    row = t.RowType.of([title], [_TEXT])
    return rows_result(env, row, [(n,) for n in _like(names, statement.like)])


def show(env: Any, statement: s.Show, sql: str) -> TableResult:
    """The answer of a SHOW statement."""
    shower = _SHOW.get(statement.what)
    if shower is None:
        raise UnsupportedFeatureError(f"SHOW {statement.what} is not available.", detail=sql)
    return shower(env, statement)


def _where(env: Any, path: Sequence[str]) -> tuple[str | None, str | None]:
    """Catalog and database behind FROM."""
    if not path:
        return None, None
    return (None, path[0]) if len(path) == 1 else (path[0], path[1])


def _existing(env: Any, path: Sequence[str]) -> tuple[str | None, str | None]:
    """As ``_where``, of a database that exists."""
    catalog, database = _where(env, path)
    if database is not None:
        catalogs = env._session.catalogs
        home = catalog or catalogs.current_catalog
        if not catalogs.catalog(home).database_exists(database):
            raise TableException(f"Database '{home}'.'{database}' doesn't exist.")
    return catalog, database


def _tables(env: Any, statement: s.Show) -> TableResult:
    catalog, database = _existing(env, statement.path)
    return _names(env, "table name", env._session.catalogs.list_tables(catalog, database), statement)


def _views(env: Any, statement: s.Show) -> TableResult:
    catalog, database = _existing(env, statement.path)
    return _names(env, "view name", env._session.catalogs.list_views(catalog, database), statement)


def _databases(env: Any, statement: s.Show) -> TableResult:
    catalogs = env._session.catalogs
    home = catalogs.catalog(statement.path[-1] if statement.path else catalogs.current_catalog)
    return _names(env, "database name", home.list_databases(), statement)


def _functions(env: Any, statement: s.Show) -> TableResult:
    catalogs = env._session.catalogs
    return _names(env, "function name", [n.lower() for n in catalogs.function_names()], statement)


def _columns(env: Any, statement: s.Show) -> TableResult:
    table = _table(env, statement.path)
    names = set(_like(table.schema.names, statement.like))
    return _schema_rows(env, table, [c for c in table.schema.columns if c.name in names])


def _partitions(env: Any, statement: s.Show) -> TableResult:
    found = env._session.catalogs.find_table(statement.path)
    if found is None:
        raise env._no_table(".".join(statement.path))
    if not found.table.partition_keys:
        raise TableException(f"Table {found.path.summary()} is not partitioned.")
    home = env._session.catalogs.catalog(found.path.catalog)
    specs = home.list_partitions(found.path.database, found.path.name, dict(statement.partition) or None)
    shown = ["/".join(f"{k}={v}" for k, v in spec.items()) for spec in specs]
    return _names(env, "partition name", shown, statement)


def _full_modules(env: Any, statement: s.Show) -> TableResult:
    row = t.RowType.of(["module name", "used"], [_TEXT, t.BooleanType()])
    return rows_result(env, row, [(m, True) for m in env._session.catalogs.list_modules()])


def _models(env: Any, statement: s.Show) -> TableResult:
    catalogs = env._session.catalogs
    catalog, database = _where(env, statement.path)
    home = catalogs.catalog(catalog or catalogs.current_catalog)
    return _names(env, "model name", home.list_models(database or catalogs.current_database), statement)


def _create_table(env: Any, statement: s.Show) -> TableResult:
    found = env._session.catalogs.find_table(statement.path)
    if found is None:
        raise TableException(
            "Could not execute SHOW CREATE TABLE. Table with identifier "
            f"{env._session.catalogs.path(statement.path)} does not exist."
        )
    view = statement.what == "CREATE VIEW"
    if view is not (found.table.kind is TableKind.VIEW):
        what, other = ("VIEW", "TABLE") if view else ("TABLE", "VIEW")
        raise TableException(
            f"SHOW CREATE {what} is only supported for {what.lower()}s, but {found.path} is a "
            f"{other.lower()}.",
            hint=f"Please use SHOW CREATE {other} instead.",
        )
    if view and found.table.is_of_program:
        raise TableException(
            "SHOW CREATE VIEW is not supported for views registered by Table API.",
            hint=f"DESCRIBE {found.path} shows its columns",
        )
    from firesteel.table._create_texts import create_table_text, create_view_text

    table = resolve(env._session.binder(), found)
    text = create_view_text(found, table) if view else create_table_text(found, table)
    return rows_result(env, t.RowType.of(["result"], [_TEXT]), [(text,)])


def _create_catalog(env: Any, statement: s.Show) -> TableResult:
    name = statement.path[-1]
    env._session.catalogs.catalog(name)
    options, comment = env._session.catalog_options.get(name, ({"type": "generic_in_memory"}, ""))
    from firesteel.table._create_texts import create_catalog_text

    text = create_catalog_text(name, options, comment)
    return rows_result(env, t.RowType.of(["result"], [_TEXT]), [(text,)])


def _create_model(env: Any, statement: s.Show) -> TableResult:
    from firesteel.table._create_texts import create_model_text

    path = env._session.catalogs.path(statement.path)
    found = env._session.catalogs.find_model(path)
    if found is None:
        raise TableException(
            f"Could not execute SHOW CREATE MODEL. Model with identifier {path} does not exist."
        )
    model, temporary = found
    text = create_model_text(path, model, *_model_columns(env, model), temporary)
    return rows_result(env, t.RowType.of(["result"], [_TEXT]), [(text,)])


def _model_columns(env: Any, model: CatalogModel) -> tuple[Sequence[Column], Sequence[Column]]:
    """Those of its input, those of its output."""
    binder = env._session.binder()
    return resolve_schema(binder, model.input).columns, resolve_schema(binder, model.output).columns


_SHOW: Final[dict[str, Callable[[Any, s.Show], TableResult]]] = {
    "TABLES": _tables,
    "VIEWS": _views,
    "MATERIALIZED TABLES": lambda e, st: _names(e, "materialized table name", [], st),
    "DATABASES": _databases,
    "CATALOGS": lambda e, st: _names(e, "catalog name", e._session.catalogs.list_catalogs(), st),
    "CURRENT CATALOG": lambda e, st: _names(
        e, "current catalog name", [e._session.catalogs.current_catalog], st
    ),
    "CURRENT DATABASE": lambda e, st: _names(
        e, "current database name", [e._session.catalogs.current_database], st
    ),
    "FUNCTIONS": _functions,
    "USER FUNCTIONS": lambda e, st: _names(e, "function name", e._session.catalogs.list_user_functions(), st),
    "PROCEDURES": lambda e, st: _names(e, "procedure name", [], st),
    "MODULES": lambda e, st: _names(e, "module name", e._session.catalogs.list_modules(), st),
    "FULL MODULES": _full_modules,
    "MODELS": _models,
    "COLUMNS": _columns,
    "PARTITIONS": _partitions,
    "JARS": lambda e, st: _names(e, "jars", [], st),
    "JOBS": show_jobs,
    "CREATE TABLE": _create_table,
    "CREATE VIEW": _create_table,
    "CREATE CATALOG": _create_catalog,
    "CREATE MODEL": _create_model,
}


# ---- DESCRIBE


def describe(env: Any, statement: s.Describe, sql: str) -> TableResult:
    """The answer of a DESCRIBE statement."""
    describer = _DESCRIBE.get(statement.what)
    if describer is None:
        raise UnsupportedFeatureError(f"DESCRIBE {statement.what} is not available.", detail=sql)
    return describer(env, statement)


def _table(env: Any, path: Sequence[str]) -> Any:
    found = env._session.catalogs.find_table(path)
    if found is None:
        raise TableException(
            f"Tables or views with the identifier '{env._session.catalogs.path(path).summary()}' "
            "doesn't exist."
        )
    return resolve(env._session.binder(), found)


def _describe_table(env: Any, statement: s.Describe) -> TableResult:
    table = _table(env, statement.path)
    return _schema_rows(env, table, table.schema.columns)


def _schema_rows(env: Any, table: Any, columns: Sequence[Column]) -> TableResult:
    schema: ResolvedSchema = table.schema
    names = ["name", "type", "null", "key", "extras", "watermark"]
    types: list[t.DataType] = [_TEXT, _TEXT, t.BooleanType(), _TEXT, _TEXT, _TEXT]
    comments = any(c.comment for c in schema.columns)
    if comments:
        names, types = [*names, "comment"], [*types, _TEXT]
    key = schema.primary_key.columns if schema.primary_key is not None else ()
    marks = {w.column: w.text for w in schema.watermarks}
    rows = []
    for c in columns:
        row: list[Any] = [
            c.name,
            c.data_type.text(),
            c.data_type.nullable,
            f"PRI({', '.join(key)})" if c.name in key else None,
            c.extras,
            marks.get(c.name),
        ]
        rows.append([*row, c.comment] if comments else row)
    return rows_result(env, t.RowType.of(names, types), rows, null="")


def _info(env: Any, rows: Sequence[tuple[str, str]]) -> TableResult:
    return rows_result(env, t.RowType.of(["info name", "info value"], [_TEXT, _TEXT]), rows)


def _describe_catalog(env: Any, statement: s.Describe) -> TableResult:
    name = statement.path[-1]
    env._session.catalogs.catalog(name)
    options, comment = env._session.catalog_options.get(name, ({"type": "generic_in_memory"}, ""))
    rows = [("name", name), ("type", options.get("type", "generic_in_memory")), ("comment", comment)]
    if statement.extended:
        rows += [(f"option:{k}", v) for k, v in options.items() if k != "type"]
    return _info(env, rows)


def _describe_database(env: Any, statement: s.Describe) -> TableResult:
    catalogs = env._session.catalogs
    catalog = statement.path[0] if len(statement.path) > 1 else catalogs.current_catalog
    database = catalogs.catalog(catalog).get_database(statement.path[-1])
    rows = [("name", statement.path[-1]), ("comment", database.comment or "")]
    if statement.extended and database.properties:
        rows.append(
            ("properties", "(" + "),(".join(f"{k},{v}" for k, v in database.properties.items()) + ")")
        )
    return _info(env, rows)


def _describe_function(env: Any, statement: s.Describe) -> TableResult:
    found = env._session.catalogs.find_function(statement.path)
    if found is None:
        raise TableException(f"Function {'.'.join(statement.path)} doesn't exist.")
    kept = env._session.catalogs.find_permanent_function(statement.path)
    if kept is not None:
        return _info(env, _kept_function(env, statement, kept, found))
    rows = [
        ("is system function", str(not found.name.islower()).lower()),
        ("is temporary", "false"),
        ("kind", found.kind.name),
        ("is deterministic", str(found.deterministic).lower()),
    ]
    if statement.extended:
        rows += [("signature", signature) for signature in found.signatures]
    return _info(env, rows)


def _kept_function(
    env: Any, statement: s.Describe, kept: CatalogFunction, found: FunctionDefinition
) -> list[tuple[str, str]]:
    """What is known of a function in a catalog."""
    rows = [
        ("is system function", "false"),
        ("is temporary", "false"),
        ("class name", kept.class_name),
        ("function language", kept.language),
        ("resource uris", "[]"),
    ]
    if statement.extended:
        rows += [
            ("kind", found.kind.name),
            ("requirements", "[]"),
            ("is deterministic", str(found.deterministic).lower()),
            ("supports constant folding", str(found.deterministic).lower()),
            ("signature", f"{env._session.catalogs.path(statement.path).summary()}(*)"),
        ]
    return rows


def _describe_model(env: Any, statement: s.Describe) -> TableResult:
    path = env._session.catalogs.path(statement.path)
    found = env._session.catalogs.find_model(path)
    if found is None:
        raise TableException(f"Model with the identifier '{path.summary()}' doesn't exist.")
    model, _ = found
    row = t.RowType.of(["name", "type", "null", "is input"], [_TEXT, _TEXT, t.BooleanType(), t.BooleanType()])
    given, made = _model_columns(env, model)
    columns = [*((c, True) for c in given), *((c, False) for c in made)]
    rows = [(c.name, c.data_type.text(), c.data_type.nullable, of_input) for c, of_input in columns]
    return rows_result(env, row, rows)


_DESCRIBE: Final[dict[str, Callable[[Any, s.Describe], TableResult]]] = {
    "TABLE": _describe_table,
    "CATALOG": _describe_catalog,
    "DATABASE": _describe_database,
    "FUNCTION": _describe_function,
    "JOB": describe_job,
    "MODEL": _describe_model,
}
