"""CREATE, ALTER, DROP, USE: statements that change the catalogs of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.sql.binder.errors import place_in
from firesteel.sql.binder.expressions import name_of
from firesteel.sql.binder.tables import resolve_schema
from firesteel.sql.catalog import CatalogDatabase, CatalogModel, CatalogTable, ObjectPath, TableKind
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.sql.schema import ColumnKind, DeclaredColumn, DeclaredSchema
from firesteel.table import _running as running
from firesteel.table._collections import ok
from firesteel.table._likes import merged_like
from firesteel.table.table_result import TableResult
from firesteel.util.exceptions import TableException

__all__ = ["EXECUTORS"]


def _catalogs(env: Any) -> Any:
    return env._session.catalogs


# ---- tables


def _create_table(env: Any, statement: s.CreateTable, sql: str) -> TableResult:
    session = env._session
    path = _catalogs(env).path(statement.path)
    table = CatalogTable(
        schema=statement.schema,
        options=dict(statement.options),
        partition_keys=statement.partition_keys,
        distribution=statement.distribution,
        comment=statement.comment,
    )
    if statement.like is not None:
        found = _found(env, statement.like.path)
        table = merged_like(found.table, table, statement.like.options)
    query = None
    if statement.query is not None:
        query = session.binder(sql).bind_query(statement.query.tree)
        table = replace(table, schema=_schema_of_query(statement, query))
    resolved = resolve_schema(session.binder(sql), table.schema)
    _check_partition_keys(table, resolved)
    _check_distribution(table)
    if statement.replace:
        existing = _catalogs(env).find_table(statement.path)
        if existing is not None:
            _catalogs(env).drop_table(existing.path, True)
        elif statement.replace == "REPLACE":
            raise TableException(
                f"The table {path} to be replaced doesn't exist.", hint="use CREATE OR REPLACE TABLE"
            )
    if statement.temporary:
        _catalogs(env).create_temporary_table(path, table, statement.if_not_exists)
    else:
        _catalogs(env).create_table(path, table, statement.if_not_exists)
    if query is None:
        return ok(env)
    from firesteel.sql.binder.tables import resolve

    found = _catalogs(env).find_table(statement.path)
    sink = running.insert_node(session, query, resolve(session.binder(), found))
    result: TableResult = env._execute_sinks([replace(sink, statement=sql)])
    return result


def _check_partition_keys(table: CatalogTable, schema: Any) -> None:
    for key in table.partition_keys:
        if key not in schema.names:
            raise TableException(
                f"Partition column '{key}' not defined in the table schema. Available columns: "
                f"{list(schema.names)}"
            )


def _check_distribution(table: CatalogTable) -> None:
    """:raises TableException: no buckets, or buckets by what is not a column of the data."""
    made = table.distribution
    if made is None:
        return
    if made.buckets is not None and made.buckets < 1:
        raise TableException(
            f"Invalid bucket count '{made.buckets}'. The number of buckets for a distributed table must be "
            "at least 1."
        )
    physical = [c.name for c in table.schema.columns if c.kind is ColumnKind.PHYSICAL]
    for key in made.columns:
        if key not in physical:
            raise TableException(
                f"Invalid bucket key '{key}'. A bucket key for a distribution must reference a physical "
                "column in the schema.",
                detail=f"Available columns are: [{', '.join(physical)}]",
            )


def _schema_of_query(statement: s.CreateTable, query: Any) -> DeclaredSchema:
    """CTAS: the columns of the query, with what the statement says of columns beside them."""
    own = {f.name: DeclaredColumn(f.name, data_type=f.data_type) for f in running.plain_row(query.row).fields}
    if statement.names:
        own = {name: own[name] for name in statement.names}
    columns = [c for c in statement.schema.columns if c.name not in own]
    for column in statement.schema.columns:
        if column.name in own and column.kind is ColumnKind.PHYSICAL:
            own[column.name] = column
    return replace(statement.schema, columns=(*columns, *own.values()))


def _create_view(env: Any, statement: s.CreateView, sql: str) -> TableResult:
    session = env._session
    path = _catalogs(env).path(statement.path)
    binder = session.binder(sql)
    plan = binder.bind_query(statement.query.tree)
    names = statement.columns or plan.row.names
    if len(names) != len(plan.row.fields):
        raise TableException(
            "VIEW definition and input fields not match:",
            detail=f"Def fields: [{', '.join(names)}]. Input fields: [{', '.join(plan.row.names)}].",
        )
    _check_names(statement.query.tree, statement.columns, sql)
    comments = statement.comments or (None,) * len(names)
    columns = tuple(
        DeclaredColumn(n, data_type=d, comment=c)
        for n, d, c in zip(names, running.plain_row(plan.row).types, comments, strict=True)
    )
    view = CatalogTable(
        schema=DeclaredSchema(columns),
        kind=TableKind.VIEW,
        comment=statement.comment,
        query=statement.query.text,
        expanded_query=binder.expanded(statement.query),
    )
    if statement.temporary:
        _catalogs(env).create_temporary_table(path, replace(view, plan=plan), statement.if_not_exists)
    else:
        _catalogs(env).create_table(path, view, statement.if_not_exists)
    return ok(env)


def _check_names(query: exp.Expr, names: Sequence[str], sql: str) -> None:
    """Names of a view that are written twice; those that a * gives twice are told apart."""
    items = query.expressions if isinstance(query, exp.Select) else []
    if any(item.find(exp.Star) is not None for item in items if not isinstance(item, exp.Alias)):
        items = []
    said = list(names) or [name_of(item, i) for i, item in enumerate(items)]
    twice = next((name for i, name in enumerate(said) if name in said[:i]), None)
    if twice is None:
        return
    place = place_in(sql, items[said.index(twice)]) if items else None
    line, column = (0, 0) if place is None else place.line_and_column
    where = "" if place is None else f" at line {line}, column {column}"
    raise SqlValidationError(
        f"SQL validation failed. A column with the same name `{twice}` has been defined{where}.",
        line=line,
        column=column,
        detail=None if place is None else place.marked,
        hint="name the columns apart: CREATE VIEW v (a, b) AS ..., or AS in the query",
    )


def _found(env: Any, path: Sequence[str]) -> Any:
    found = _catalogs(env).find_table(path)
    if found is None:
        raise env._no_table(".".join(path))
    return found


def _alter_table(env: Any, statement: s.AlterTable, sql: str) -> TableResult:
    found = _catalogs(env).find_table(statement.path)
    if found is None:
        if statement.if_exists:
            return ok(env)
        raise env._no_table(".".join(statement.path))
    if found.table.kind is TableKind.VIEW:
        raise TableException("ALTER TABLE for a view is not allowed", hint=f"ALTER VIEW {found.path} ...")
    if found.temporary:
        raise TableException(
            f"The table {found.path} is temporary: it cannot be altered.", hint="create it anew"
        )
    from firesteel.table._alterations import altered

    action = statement.action
    if isinstance(action, s.RenameTo):
        _catalogs(env).rename_table(found.path, action.path[-1])
    elif isinstance(action, s.AddPartitions):
        catalog = _catalogs(env).catalog(found.path.catalog)
        for spec, properties in action.partitions:
            catalog.create_partition(
                found.path.database, found.path.name, spec, properties, action.if_not_exists
            )
    elif isinstance(action, s.DropPartitions):
        catalog = _catalogs(env).catalog(found.path.catalog)
        for spec in action.partitions:
            catalog.drop_partition(found.path.database, found.path.name, spec, action.if_exists)
    else:
        table = altered(found.table, action)
        _check_distribution(table)
        resolve_schema(env._session.binder(sql), table.schema)
        _catalogs(env).alter_table(found.path, table)
    return ok(env)


def _alter_view(env: Any, statement: s.AlterView, sql: str) -> TableResult:
    found = _found(env, statement.path)
    if found.table.kind is not TableKind.VIEW:
        raise TableException(f"{found.path} is not a view.")
    if isinstance(statement.action, s.RenameTo):
        _catalogs(env).rename_table(found.path, statement.action.path[-1])
        return ok(env)
    query = statement.action
    binder = env._session.binder(sql)
    plan = binder.bind_query(query.tree)
    _check_names(query.tree, (), sql)
    schema = DeclaredSchema.of(running.plain_row(plan.row))
    expanded = binder.expanded(query)
    view = replace(found.table, schema=schema, query=query.text, expanded_query=expanded, plan=None)
    _catalogs(env).alter_table(found.path, view)
    return ok(env)


# ---- DROP


def _drop(env: Any, statement: s.Drop, sql: str) -> TableResult:
    dropper = _DROPPERS.get(statement.what)
    if dropper is None:
        raise UnsupportedFeatureError(f"DROP {statement.what} is not available.")
    dropper(env, statement)
    return ok(env)


def _drop_table(env: Any, statement: s.Drop) -> None:
    path = _catalogs(env).path(statement.path)
    view = statement.what == "VIEW"
    if statement.temporary:
        _catalogs(env).drop_temporary_table(path, statement.if_exists, view=view)
    else:
        _catalogs(env).drop_table(path, statement.if_exists, view=view)


def _drop_catalog(env: Any, statement: s.Drop) -> None:
    _catalogs(env).unregister_catalog(statement.path[-1], statement.if_exists)


def _drop_database(env: Any, statement: s.Drop) -> None:
    catalog, name = _database(env, statement.path)
    catalogs = _catalogs(env)
    if (catalog, name) == (catalogs.current_catalog, catalogs.current_database):
        raise TableException("Cannot drop a database which is currently in use.", hint="USE another one")
    catalogs.catalog(catalog).drop_database(name, statement.if_exists, statement.cascade)


def _drop_function(env: Any, statement: s.Drop) -> None:
    catalogs = _catalogs(env)
    if statement.system:
        catalogs.drop_temporary_system_function(statement.path[-1], statement.if_exists)
        return
    path = catalogs.path(statement.path)
    if statement.temporary:
        catalogs.drop_temporary_function(path, statement.if_exists)
    else:
        catalogs.catalog(path.catalog).drop_function(path.database, path.name.lower(), statement.if_exists)


def _drop_model(env: Any, statement: s.Drop) -> None:
    catalogs = _catalogs(env)
    path = catalogs.path(statement.path)
    if statement.temporary:
        catalogs.drop_temporary_model(path, statement.if_exists)
    else:
        catalogs.catalog(path.catalog).drop_model(path.database, path.name, statement.if_exists)


_DROPPERS: Final[dict[str, Callable[[Any, s.Drop], None]]] = {
    "TABLE": _drop_table,
    "VIEW": _drop_table,
    "CATALOG": _drop_catalog,
    "DATABASE": _drop_database,
    "FUNCTION": _drop_function,
    "MODEL": _drop_model,
}


# ---- catalogs


def _create_catalog(env: Any, statement: s.CreateCatalog, sql: str) -> TableResult:
    from firesteel.sql.connectors.catalogs import make_catalog

    if _catalogs(env).find_catalog(statement.name) is not None:
        if statement.if_not_exists:
            return ok(env)
        raise TableException(f"Catalog {statement.name} already exists.")
    _catalogs(env).register_catalog(
        statement.name, make_catalog(statement.name, statement.options, env._session.environment)
    )
    env._session.catalog_options[statement.name] = (dict(statement.options), statement.comment)
    return ok(env)


def _alter_catalog(env: Any, statement: s.AlterCatalog, sql: str) -> TableResult:
    from firesteel.sql.connectors.catalogs import make_catalog

    catalogs, kept = _catalogs(env), env._session.catalog_options
    catalogs.catalog(statement.name)
    options, comment = kept.get(statement.name, ({}, ""))
    action = statement.action
    if isinstance(action, s.SetComment):
        comment = action.comment
    elif isinstance(action, s.SetOptions):
        options = {**options, **action.options}
        make_catalog(statement.name, options, env._session.environment)
    elif not action.keys or "type" in action.keys:
        what = "changing 'type'" if action.keys else "empty key"
        raise TableException(f"ALTER CATALOG RESET does not support {what}")
    else:
        options = {k: v for k, v in options.items() if k not in action.keys}
        make_catalog(statement.name, options, env._session.environment)
    kept[statement.name] = (options, comment)
    return ok(env)


def _database(env: Any, path: Sequence[str]) -> tuple[str, str]:
    catalogs = _catalogs(env)
    if len(path) == 1:
        return catalogs.current_catalog, path[0]
    if len(path) == 2:
        return path[0], path[1]
    raise ProgramError("The name of a database has at most two parts.", detail=".".join(path))


def _create_database(env: Any, statement: s.CreateDatabase, sql: str) -> TableResult:
    catalog, name = _database(env, statement.path)
    made = CatalogDatabase(dict(statement.options), statement.comment)
    _catalogs(env).catalog(catalog).create_database(name, made, statement.if_not_exists)
    return ok(env)


def _alter_database(env: Any, statement: s.AlterDatabase, sql: str) -> TableResult:
    catalog, name = _database(env, statement.path)
    home = _catalogs(env).catalog(catalog)
    known = home.get_database(name)
    home.alter_database(name, replace(known, properties={**known.properties, **statement.options}), False)
    return ok(env)


def _use_catalog(env: Any, statement: s.UseCatalog, sql: str) -> TableResult:
    _catalogs(env).use_catalog(statement.name)
    return ok(env)


def _use_database(env: Any, statement: s.UseDatabase, sql: str) -> TableResult:
    catalog, name = _database(env, statement.path)
    _catalogs(env).use_database(name, catalog)
    return ok(env)


def _use_modules(env: Any, statement: s.UseModules, sql: str) -> TableResult:
    _catalogs(env).use_modules(statement.names)
    return ok(env)


def _load_module(env: Any, statement: s.LoadModule, sql: str) -> TableResult:
    _catalogs(env).load_module(statement.name)
    return ok(env)


def _unload_module(env: Any, statement: s.UnloadModule, sql: str) -> TableResult:
    _catalogs(env).unload_module(statement.name)
    return ok(env)


# ---- functions, models


def _function(env: Any, class_name: str, language: str) -> Any:
    """The function of the user that a statement names.

    :raises UnsupportedFeatureError: it is one of Java.
    """
    from firesteel.table.udf import load_function

    if language != "PYTHON":
        raise UnsupportedFeatureError(
            f"Functions of {language} are not available.",
            detail=class_name,
            hint="CREATE FUNCTION f AS 'module.name' LANGUAGE PYTHON, or create_temporary_function()",
        )
    return load_function(class_name)


def _create_function(env: Any, statement: s.CreateFunction, sql: str) -> TableResult:
    wrapper = _function(env, statement.class_name, statement.language)
    catalogs = _catalogs(env)
    made = wrapper._catalog_function(statement.path[-1], statement.class_name)
    if statement.system:
        catalogs.create_temporary_system_function(statement.path[-1], made, statement.if_not_exists)
        return ok(env)
    path = catalogs.path(statement.path)
    if statement.temporary:
        catalogs.create_temporary_function(path, made, statement.if_not_exists)
    else:
        catalogs.catalog(path.catalog).create_function(
            path.database, path.name.lower(), made, statement.if_not_exists
        )
    return ok(env)


def _alter_function(env: Any, statement: s.AlterFunction, sql: str) -> TableResult:
    wrapper = _function(env, statement.class_name, statement.language)
    if statement.temporary or statement.system:
        raise TableException(
            "Alter temporary functions is not supported.", hint="drop it, and create it anew"
        )
    catalogs = _catalogs(env)
    path = catalogs.path(statement.path)
    made = wrapper._catalog_function(path.name, statement.class_name)
    catalogs.catalog(path.catalog).alter_function(path.database, path.name.lower(), made, statement.if_exists)
    return ok(env)


def _create_model(env: Any, statement: s.CreateModel, sql: str) -> TableResult:
    catalogs = _catalogs(env)
    path = catalogs.path(statement.path)
    if not statement.options:
        raise TableException(
            "Model property list can not be empty.", hint="WITH ('provider' = ...) names who answers"
        )
    if bool(statement.input.columns) is not bool(statement.output.columns):
        empty, other = ("Output", "input") if statement.input.columns else ("Input", "output")
        raise TableException(f"{empty} column list can not be empty with non-empty {other} column list.")
    model = CatalogModel(statement.input, statement.output, dict(statement.options), statement.comment)
    if statement.temporary:
        catalogs.create_temporary_model(path, model, statement.if_not_exists)
    else:
        catalogs.catalog(path.catalog).create_model(path.database, path.name, model, statement.if_not_exists)
    return ok(env)


def _alter_model(env: Any, statement: s.AlterModel, sql: str) -> TableResult:
    catalogs = _catalogs(env)
    path: ObjectPath = catalogs.path(statement.path)
    home = catalogs.catalog(path.catalog)
    if not home.model_exists(path.database, path.name):
        if statement.if_exists:
            return ok(env)
        raise TableException(f"Model {path} doesn't exist.")
    action = statement.action
    if isinstance(action, s.RenameTo):
        home.rename_model(path.database, path.name, action.path[-1], statement.if_exists)
        return ok(env)
    given = action.options if isinstance(action, s.SetOptions) else action.keys
    if not given:
        what = (
            "SET does not support empty option"
            if isinstance(action, s.SetOptions)
            else ("RESET does not support empty key")
        )
        raise TableException(f"ALTER MODEL {what}.")
    model = home.get_model(path.database, path.name)
    options: Mapping[str, str] = model.options
    if isinstance(action, s.SetOptions):
        options = {**options, **action.options}
    else:
        options = {k: v for k, v in options.items() if k not in action.keys}
    home.alter_model(path.database, path.name, replace(model, options=options), statement.if_exists)
    return ok(env)


EXECUTORS: Final[dict[type[Any], Callable[[Any, Any, str], TableResult]]] = {
    s.CreateTable: _create_table,
    s.CreateView: _create_view,
    s.CreateCatalog: _create_catalog,
    s.CreateDatabase: _create_database,
    s.CreateFunction: _create_function,
    s.CreateModel: _create_model,
    s.AlterTable: _alter_table,
    s.AlterView: _alter_view,
    s.AlterCatalog: _alter_catalog,
    s.AlterDatabase: _alter_database,
    s.AlterFunction: _alter_function,
    s.AlterModel: _alter_model,
    s.Drop: _drop,
    s.UseCatalog: _use_catalog,
    s.UseDatabase: _use_database,
    s.UseModules: _use_modules,
    s.LoadModule: _load_module,
    s.UnloadModule: _unload_module,
}
