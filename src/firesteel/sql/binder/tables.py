"""Tables of the catalog as plans: schemas resolved, computed columns and watermarks above the Scan, views
bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from firesteel.common.errors import FiresteelError
from firesteel.sql import types as t
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.errors import near
from firesteel.sql.binder.expressions import ExpressionBinder
from firesteel.sql.binder.scope import Scope, relation_of
from firesteel.sql.catalog import CatalogTable, ObjectPath, ResolvedTable, TableKind
from firesteel.sql.catalog_manager import FoundTable
from firesteel.sql.expressions import Expression, InputRef, identity
from firesteel.sql.functions.calls import implicit
from firesteel.sql.logical import Node, Project, Scan, WatermarkAssigner
from firesteel.sql.parser.dialect import parse_expression, parse_query
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.sql.schema import (
    Column,
    ColumnKind,
    DeclaredColumn,
    DeclaredExpression,
    DeclaredSchema,
    DeclaredWatermark,
    PrimaryKey,
    ResolvedSchema,
    Watermark,
    with_attribute,
)
from firesteel.sql.type_text import parse_type

__all__ = ["bind_row_expression", "plan_of_table", "resolve", "resolve_schema", "scan_of", "schema_of"]


def resolve(binder: Binder, found: FoundTable, options: Mapping[str, str] | None = None) -> ResolvedTable:
    """A table of the catalog as queries see it.

    :param options: of an OPTIONS hint.
    """
    table = found.table
    return _resolved(found.path, table, schema_of(binder, found), found.temporary, table.plan, options)


def schema_of(binder: Binder, found: FoundTable) -> ResolvedSchema:
    """The columns of a table or view, and what is declared of them.

    Those of a view that is a query have the types of that query, with their time attributes.
    """
    table = found.table
    declared = resolve_schema(binder, table.schema)
    if table.kind is not TableKind.VIEW or table.is_of_program:
        return declared
    try:
        row = plan_of_table(binder, found).row
    except FiresteelError:  # something that it reads is not there any more
        return declared
    if len(declared.columns) != len(row.fields):
        return ResolvedSchema.of(row)
    columns = zip(declared.columns, row.fields, strict=True)
    return replace(declared, columns=tuple(replace(c, data_type=f.data_type) for c, f in columns))


def _resolved(
    path: ObjectPath | None,
    table: CatalogTable,
    schema: ResolvedSchema,
    temporary: bool,
    plan: Node | None,
    options: Mapping[str, str] | None,
) -> ResolvedTable:
    return ResolvedTable(
        path=path,
        schema=schema,
        kind=table.kind,
        options={**table.options, **(options or {})},
        partition_keys=table.partition_keys,
        distribution=table.distribution,
        comment=table.comment,
        temporary=temporary,
        plan=plan,
        stream=table.stream,
        query=table.query,
    )


def resolve_anonymous(binder: Binder, table: CatalogTable) -> ResolvedTable:
    """A table without a name: of a descriptor or a stream."""
    return _resolved(None, table, resolve_schema(binder, table.schema), True, table.plan, None)


# ---- plans


def plan_of_table(binder: Binder, found: FoundTable, options: Mapping[str, str] | None = None) -> Node:
    """What stands for a table in a query."""
    table = found.table
    if table.kind is TableKind.VIEW:
        plan = table.plan if table.plan is not None else _view_plan(binder, found.path, table)
        return _renamed(plan, table.schema)
    return scan_of(resolve(binder, found, options))


def scan_of(table: ResolvedTable, hints: tuple[tuple[str, tuple[object, ...]], ...] = ()) -> Node:
    """The Scan; above it a Project of computed columns, if there are some, and the WatermarkAssigner."""
    schema = table.schema
    source = schema.source_row
    node: Node = Scan(row=source, table=table, hints=hints)
    if any(c.kind is ColumnKind.COMPUTED for c in schema.columns):
        position = {c.name: i for i, c in enumerate(schema.source_columns)}
        expressions: list[Expression] = [
            c.expression
            if c.expression is not None
            else InputRef(position[c.name], source.types[position[c.name]])
            for c in schema.columns
        ]
        row = t.RowType.of(schema.names, [e.type for e in expressions])
        node = Project(row=row, input=node, expressions=tuple(expressions))
    for watermark in schema.watermarks:
        index = schema.names.index(watermark.column)
        node = WatermarkAssigner(row=schema.row, input=node, column=index, expression=watermark.expression)
    return node


def _renamed(plan: Node, schema: DeclaredSchema) -> Node:
    names = tuple(c.name for c in schema.columns)
    if not names or names == plan.row.names:
        return plan
    row = t.RowType.of(names, plan.row.types)
    return Project(row=row, input=plan, expressions=identity(plan.row))


def _view_plan(binder: Binder, path: ObjectPath, table: CatalogTable) -> Node:
    name = path.summary()
    if name in binder.views:
        raise SqlValidationError(
            f"The view {name} is defined by itself.", detail=" -> ".join((*binder.views, name))
        )
    text = table.expanded_query or table.query
    inside = binder.inside(sql=text, common={}, views=(*binder.views, name), named=[])
    return inside.bind_query(parse_query(text))


# ---- schemas


def resolve_schema(binder: Binder, declared: DeclaredSchema) -> ResolvedSchema:
    """Types read, expressions bound, rowtime and processing-time columns marked.

    :raises SqlValidationError: a column is not what its place needs.
    """
    _check_names(declared)
    stored = [c for c in declared.columns if c.kind is not ColumnKind.COMPUTED]
    columns = {c.name: _stored(c) for c in stored}
    source = t.RowType.of(list(columns), [c.data_type for c in columns.values()])
    for column in declared.columns:
        if column.kind is ColumnKind.COMPUTED:
            columns[column.name] = _computed(binder, column, source)
    ordered = [columns[c.name] for c in declared.columns]
    ordered = _primary_not_null(declared.primary_key, ordered)
    for mark in declared.watermarks:
        ordered = _rowtime(mark, ordered)
    row = t.RowType.of([c.name for c in ordered], [c.data_type for c in ordered])
    watermarks = tuple(_watermark(binder, m, row) for m in declared.watermarks)
    return ResolvedSchema(tuple(ordered), watermarks, _named_key(declared.primary_key))


def _check_names(declared: DeclaredSchema) -> None:
    seen: set[str] = set()
    for column in declared.columns:
        if column.name in seen:
            raise SqlValidationError(f"A regular Column named '{column.name}' already exists in the table.")
        seen.add(column.name)
    for name in declared.primary_key.columns if declared.primary_key else ():
        if name not in seen:
            raise SqlValidationError(
                f"Primary key column '{name}' is not defined in the schema",
                detail=f"Available columns are: {[c.name for c in declared.columns]}",
                hint=near(name, seen),
            )
    if len(declared.watermarks) > 1:
        raise SqlValidationError("Multiple watermark definitions are not supported yet.")


def _type(column: DeclaredColumn) -> t.DataType:
    if isinstance(column.data_type, str):
        return parse_type(column.data_type)
    if column.data_type is None:
        raise SqlValidationError(f"The column '{column.name}' has no type.")
    return column.data_type


def _stored(column: DeclaredColumn) -> Column:
    return Column(
        name=column.name,
        data_type=_type(column),
        kind=column.kind,
        metadata_key=column.metadata_key,
        virtual=column.virtual,
        comment=column.comment,
    )


def _computed(binder: Binder, column: DeclaredColumn, source: t.RowType) -> Column:
    if column.expression is None:
        raise SqlValidationError(f"The computed column '{column.name}' has no expression.")
    try:
        bound = bind_row_expression(binder, column.expression, source)
    except SqlValidationError as error:
        raise SqlValidationError(
            f"Invalid expression for computed column '{column.name}'.",
            detail=error.message + (f"\n{error.detail}" if error.detail else ""),
            hint=error.hint,
        ) from error
    if column.data_type is not None:
        bound = implicit(bound, _type(column))
    return Column(
        name=column.name,
        data_type=bound.type,
        kind=ColumnKind.COMPUTED,
        expression=bound,
        text=_text(column.expression),
        comment=column.comment,
    )


def _primary_not_null(key: PrimaryKey | None, columns: list[Column]) -> list[Column]:
    names = set(key.columns) if key else set()
    for column in columns:
        if column.name in names and column.kind is not ColumnKind.PHYSICAL:
            raise SqlValidationError(f"Invalid primary key. Column '{column.name}' is not a physical column.")
    return [replace(c, data_type=c.data_type.not_null()) if c.name in names else c for c in columns]


def _named_key(key: PrimaryKey | None) -> PrimaryKey | None:
    if key is None or key.name:
        return key
    return replace(key, name="PK_" + "_".join(key.columns))


def _rowtime(mark: DeclaredWatermark, columns: list[Column]) -> list[Column]:
    for i, column in enumerate(columns):
        if column.name == mark.column:
            data_type = column.data_type
            _check_rowtime(column)
            marked = with_attribute(data_type, t.TimeAttribute.ROWTIME)
            return [*columns[:i], replace(column, data_type=marked), *columns[i + 1 :]]
    names = [c.name for c in columns]
    raise SqlValidationError(
        f"Invalid column name '{mark.column}' for rowtime attribute in watermark declaration. "
        f"Available columns are: {names}",
        hint=near(mark.column, names),
    )


def _check_rowtime(column: Column) -> None:
    data_type = column.data_type
    if getattr(data_type, "attribute", "") == t.TimeAttribute.PROCTIME:
        raise SqlValidationError("A watermark can not be defined for a processing-time attribute.")
    if not isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType) or data_type.precision > 3:
        raise SqlValidationError(
            "Invalid data type of time field for watermark definition. The field must be of type "
            "TIMESTAMP(p) or TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but "
            "the time field "
            f"type is {data_type}",
        )


def _watermark(binder: Binder, mark: DeclaredWatermark, row: t.RowType) -> Watermark:
    index = row.names.index(mark.column)
    plain_row = replace(
        row,
        fields=tuple(
            replace(f, data_type=with_attribute(f.data_type, t.TimeAttribute.NONE)) if i == index else f
            for i, f in enumerate(row.fields)
        ),
    )
    try:
        bound = bind_row_expression(binder, mark.expression, plain_row)
    except SqlValidationError as error:
        raise SqlValidationError(
            f"Invalid expression for watermark '{mark.column}'.",
            detail=error.message + (f"\n{error.detail}" if error.detail else ""),
            hint=error.hint,
        ) from error
    wanted = row.types[index]
    if not isinstance(bound.type, t.TimestampType | t.LocalZonedTimestampType) or bound.type.precision > 3:
        raise SqlValidationError(
            "Invalid data type of expression for watermark definition. The field must be of type "
            "TIMESTAMP(p) or TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but the watermark "
            f"expression type is {bound.type}",
        )
    if type(bound.type) is not type(wanted):
        raise SqlValidationError(
            f"The watermark declaration's output data type '{bound.type}' is different from the time field's "
            f"data type '{wanted}'."
        )
    return Watermark(mark.column, bound, _text(mark.expression))


def _text(expression: DeclaredExpression) -> str:
    """As schemas show it: SQL as it is written, an expression of the Table API by its summary."""
    return expression if isinstance(expression, str) else str(getattr(expression, "expression", ""))


def bind_row_expression(binder: Binder, expression: DeclaredExpression, row: t.RowType) -> Expression:
    """An expression over a row, from SQL or from the Table API."""
    if not isinstance(expression, str):
        return expression(row, binder)
    inside = binder.inside(sql=expression, common={}, named=[])
    scope = Scope([relation_of(None, row)])
    return ExpressionBinder(inside, scope, "a computed column").bind(parse_expression(expression))
