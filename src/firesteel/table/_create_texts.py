"""SHOW CREATE TABLE, VIEW, CATALOG and MODEL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.sql.catalog import CatalogModel, ObjectPath
from firesteel.sql.schema import Column, ColumnKind

__all__ = [
    "create_catalog_text",
    "create_model_text",
    "create_table_text",
    "create_view_text",
    "literal",
    "quoted",
]


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


def _type(column: Column) -> str:
    data_type: Any = column.data_type
    if getattr(data_type, "attribute", "none") != "none":
        from firesteel.sql.schema import with_attribute
        from firesteel.sql.types import TimeAttribute

        data_type = with_attribute(data_type, TimeAttribute.NONE)
    return str(data_type).replace("STRING", "VARCHAR(2147483647)").replace("BYTES", "VARBINARY(2147483647)")


def _column(column: Column) -> str:
    shown = f"  {quoted(column.name)} "
    if column.kind is ColumnKind.COMPUTED:
        shown += f"AS {column.text}"
    else:
        shown += _type(column)
        if column.kind is ColumnKind.METADATA:
            shown += " METADATA" + (f" FROM {literal(column.metadata_key)}" if column.metadata_key else "")
            shown += " VIRTUAL" if column.virtual else ""
    return shown + (f" COMMENT {literal(column.comment)}" if column.comment else "")


def create_table_text(found: Any, table: Any) -> str:
    """The statement that makes the table."""
    schema = table.schema
    lines = [_column(c) for c in schema.columns]
    lines += [f"  WATERMARK FOR {quoted(w.column)} AS {w.text}" for w in schema.watermarks]
    key = schema.primary_key
    if key is not None:
        columns = ", ".join(map(quoted, key.columns))
        lines.append(f"  CONSTRAINT {quoted(key.name)} PRIMARY KEY ({columns}) NOT ENFORCED")
    text = (
        f"CREATE {'TEMPORARY ' if found.temporary else ''}TABLE {found.path} (\n" + ",\n".join(lines) + "\n)"
    )
    text += f"\nCOMMENT {literal(table.comment)}\n" if table.comment else "\n"
    if table.distribution is not None:
        text += f"{table.distribution}\n"
    if table.partition_keys:
        text += f"PARTITIONED BY ({', '.join(map(quoted, table.partition_keys))})\n"
    return text + _options(table.options)


def _options(options: Mapping[str, str]) -> str:
    """In order of the keys, as in Flink; nothing where there are none."""
    lines = ",\n".join(f"  {literal(k)} = {literal(v)}" for k, v in sorted(options.items()))
    return f"WITH (\n{lines}\n)\n" if lines else ""


def create_view_text(found: Any, table: Any) -> str:
    """The statement that makes the view."""
    columns = ",\n".join(
        f"  {quoted(c.name)}" + (f" COMMENT {literal(c.comment)}" if c.comment else "")
        for c in table.schema.columns
    )
    comment = f"\nCOMMENT {literal(table.comment)}" if table.comment else ""
    query = found.table.expanded_query or found.table.query
    return (
        f"CREATE {'TEMPORARY ' if found.temporary else ''}VIEW {found.path} "
        f"(\n{columns}\n){comment}\nAS {query}\n"
    )


def create_catalog_text(name: str, options: Mapping[str, str], comment: str) -> str:
    """The statement that makes the catalog."""
    said = f"\nCOMMENT {literal(comment)}" if comment else ""
    return f"CREATE CATALOG {quoted(name)}{said}\n{_options(options)}"


def create_model_text(
    path: ObjectPath, model: CatalogModel, given: Sequence[Column], made: Sequence[Column], temporary: bool
) -> str:
    """The statement that makes the model.

    :param given: the columns of its input; :param made: those of its output.
    """
    text = f"CREATE {'TEMPORARY ' if temporary else ''}MODEL {path}\n"
    for what, columns in (("INPUT", given), ("OUTPUT", made)):
        if columns:
            text += f"{what} ({', '.join(_column(c).strip() for c in columns)})\n"
    return text + (f"COMMENT {literal(model.comment)}\n" if model.comment else "") + _options(model.options)
