"""ALTER TABLE: the table that an action makes of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.sql.catalog import CatalogTable
from firesteel.sql.parser import statements as s
from firesteel.sql.schema import DeclaredColumn
from firesteel.util.exceptions import TableException

__all__ = ["altered"]


def altered(table: CatalogTable, action: Any) -> CatalogTable:
    """:raises TableException: it cannot be done to this table."""
    return _ACTIONS[type(action)](table, action)


def _with(table: CatalogTable, **changes: Any) -> CatalogTable:
    return replace(table, schema=replace(table.schema, **changes))


def _position(columns: Sequence[DeclaredColumn], name: str) -> int:
    for i, column in enumerate(columns):
        if column.name == name:
            return i
    raise TableException(
        f"The column `{name}` does not exist in the base table.",
        detail=f"columns are {', '.join(c.name for c in columns)}",
    )


def _rename(table: CatalogTable, action: s.RenameColumn) -> CatalogTable:
    name = action.name[-1]
    columns = list(table.schema.columns)
    place = _position(columns, name)
    if any(c.name == action.new_name for c in columns):
        raise TableException(f"The column `{action.new_name}` already existed in table schema.")
    if name in table.partition_keys:
        raise TableException(f"Can not rename column `{name}`: it is used as a partition key.")
    if any(w.column == name for w in table.schema.watermarks):
        raise TableException(f"Can not rename column `{name}`: it is referenced by the watermark.")
    columns[place] = replace(columns[place], name=action.new_name)
    key = table.schema.primary_key
    if key is not None:
        key = replace(key, columns=tuple(action.new_name if c == name else c for c in key.columns))
    return _with(table, columns=tuple(columns), primary_key=key)


def _placed(
    columns: list[DeclaredColumn], column: DeclaredColumn, position: Any, at: int | None = None
) -> None:
    if position is None:
        columns.insert(len(columns) if at is None else at, column)
    elif position == "FIRST":
        columns.insert(0, column)
    else:
        columns.insert(_position(columns, position[1]) + 1, column)


def _add(table: CatalogTable, action: s.AddColumns) -> CatalogTable:
    columns = list(table.schema.columns)
    for column, position in zip(action.columns, action.positions, strict=True):
        if any(c.name == column.name for c in columns):
            raise TableException(f"Try to add a column `{column.name}` which already exists in the table.")
        _placed(columns, column, position)
    if action.primary_key is not None and table.schema.primary_key is not None:
        known = ", ".join(f"`{c}`" for c in table.schema.primary_key.columns)
        raise TableException(
            f"The base table has already defined the primary key constraint [{known}].",
            hint="DROP PRIMARY KEY first, or MODIFY it",
        )
    if action.watermark is not None and table.schema.watermarks:
        raise TableException("The base table has already defined the watermark strategy.", hint="MODIFY it")
    if action.distribution is not None and table.distribution is not None:
        raise TableException("The base table has already defined a distribution.", hint="MODIFY it")
    return _changed(table, columns, action)


def _modify(table: CatalogTable, action: s.ModifyColumns) -> CatalogTable:
    columns = list(table.schema.columns)
    for column, position in zip(action.columns, action.positions, strict=True):
        place = _position(columns, column.name)
        if column.comment is None:
            column = replace(column, comment=columns[place].comment)
        del columns[place]
        _placed(columns, column, position, place)
    if action.watermark is not None and not table.schema.watermarks:
        raise TableException("The base table does not define any watermark strategy.", hint="ADD it")
    if action.primary_key is not None and table.schema.primary_key is None:
        raise TableException("The base table does not define any primary key constraint.", hint="ADD it")
    if action.distribution is not None and table.distribution is None:
        raise TableException("The base table does not define any distribution.", hint="ADD it")
    return _changed(table, columns, action)


def _changed(table: CatalogTable, columns: list[DeclaredColumn], action: Any) -> CatalogTable:
    watermarks = table.schema.watermarks if action.watermark is None else (action.watermark,)
    made = _with(
        table,
        columns=tuple(columns),
        watermarks=watermarks,
        primary_key=action.primary_key or table.schema.primary_key,
    )
    return replace(made, distribution=action.distribution or table.distribution)


def _drop(table: CatalogTable, action: s.DropColumns) -> CatalogTable:
    columns = list(table.schema.columns)
    for name in action.names:
        place = _position(columns, name)
        key = table.schema.primary_key
        for used, what in (
            (key.columns if key is not None else (), "primary key"),
            (table.partition_keys, "partition key"),
            (tuple(w.column for w in table.schema.watermarks), "watermark"),
        ):
            if name in used:
                raise TableException(
                    f"The column `{name}` is used as the {what}.", hint=f"drop the {what} first"
                )
        del columns[place]
    return _with(table, columns=tuple(columns))


def _drop_constraint(table: CatalogTable, action: s.DropConstraint) -> CatalogTable:
    what = action.what.upper()
    if "WATERMARK" in what:
        if not table.schema.watermarks:
            raise TableException("The base table does not define any watermark strategy.")
        return _with(table, watermarks=())
    if "DISTRIBUTION" in what:
        if table.distribution is None:
            raise TableException("The base table does not define a distribution.")
        return replace(table, distribution=None)
    key = table.schema.primary_key
    if key is None:
        raise TableException("The base table does not define any primary key.")
    name = key.name or "PK_" + "_".join(key.columns)
    if action.name is not None and action.name != name:
        raise TableException(
            f"The base table does not define a primary key constraint named '{action.name}'.",
            detail=f"Available constraint name: ['{name}'].",
        )
    return _with(table, primary_key=None)


def _set(table: CatalogTable, action: s.SetOptions) -> CatalogTable:
    return table.with_options({**table.options, **action.options})


def _reset(table: CatalogTable, action: s.ResetOptions) -> CatalogTable:
    if not action.keys:
        raise TableException("ALTER TABLE RESET does not support empty key", hint="name the keys of options")
    if "connector" in action.keys:
        raise TableException("ALTER TABLE RESET does not support changing 'connector'.")
    return table.with_options({k: v for k, v in table.options.items() if k not in action.keys})


_ACTIONS: Final[dict[type[Any], Callable[[CatalogTable, Any], CatalogTable]]] = {
    s.RenameColumn: _rename,
    s.AddColumns: _add,
    s.ModifyColumns: _modify,
    s.DropColumns: _drop,
    s.DropConstraint: _drop_constraint,
    s.SetOptions: _set,
    s.ResetOptions: _reset,
}
