"""INSERT: which column of the query goes into which column of the sink, and as what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firesteel.sql import type_rules, types as t
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.calls import plain
from firesteel.sql.binder.errors import near
from firesteel.sql.binder.tables import resolve
from firesteel.sql.catalog import ResolvedTable, TableKind
from firesteel.sql.expressions import Expression, Literal, identity
from firesteel.sql.functions.calls import cast, implicit
from firesteel.sql.logical import Node, Project, Sink
from firesteel.sql.parser.errors import Place, SqlValidationError
from firesteel.sql.parser.statements import Insert

__all__ = ["bind_insert", "sink_into"]


def bind_insert(binder: Binder, statement: Insert) -> Sink:
    """The plan of an INSERT.

    :raises SqlValidationError: there is no such table, or the columns do not fit.
    """
    catalog = binder.catalog
    found = catalog.find_table(statement.path)
    if found is None:
        path = catalog.path(statement.path)
        raise SqlValidationError(
            f"Cannot find table '{path}' in any of the catalogs "
            f"[{', '.join(catalog.list_catalogs())}], nor as a "
            "temporary table.",
            hint=near(path.name, catalog.list_tables(path.catalog, path.database)),
        )
    if found.table.kind is TableKind.VIEW:
        raise SqlValidationError(
            f"The view '{found.path.summary()}' cannot be written into.", hint="INSERT INTO a table"
        )
    table = resolve(binder, found, statement.options)
    plan = binder.bind_query(statement.query.tree)
    _check_targets(binder, statement, table)
    return sink_into(
        table,
        plan,
        columns=statement.columns,
        partition=statement.partition,
        overwrite=statement.overwrite,
        on_conflict=statement.on_conflict,
    )


def _check_targets(binder: Binder, statement: Insert, table: ResolvedTable) -> None:
    known = table.schema.names
    seen: set[str] = set()
    for name, (start, end) in zip(statement.columns or (), statement.place[1:], strict=True):
        message = None
        if name not in known:
            message = f"Unknown target column '{name}'"
        elif name in seen:
            message = f"Target column '{name}' is assigned more than once"
        seen.add(name)
        if message is not None:
            place = Place(binder.sql, start, end)
            line, column = place.line_and_column
            raise SqlValidationError(
                f"SQL validation failed. {place.span}: {message}",
                line=line,
                column=column,
                hint=near(name, known),
            )


def sink_into(
    table: ResolvedTable,
    plan: Node,
    *,
    columns: Sequence[str] | None = None,
    partition: Mapping[str, str | None] | None = None,
    overwrite: bool = False,
    on_conflict: str | None = None,
) -> Sink:
    """The plan that writes *plan* into *table*; the Table API's ``insert_into`` is that, too.

    :param columns: names of columns of the sink, in the order of the query's; None: all.
    """
    row = table.schema.sink_row
    static = {k: v for k, v in (partition or {}).items() if v is not None}
    _check_partition(table, partition or {})
    targets = _targets(table, row, columns, static)
    if len(targets) != len(plan.row.fields):
        raise _mismatch(table, plan, row, "Different number of columns.")
    plan, positions = _cast(table, plan, row, targets)
    for name, text in static.items():
        plan, positions = _with_constant(plan, positions, row, name, text)
    placed: list[int | None] = []
    for i, field in enumerate(row.fields):
        position = positions.get(i)
        if position is None and not field.data_type.nullable:
            raise SqlValidationError(
                f"SQL validation failed. Column '{field.name}' has no default value and does not allow NULLs"
            )
        placed.append(position)
    return Sink(
        row=row,
        input=plan,
        table=table,
        columns=tuple(placed),
        overwrite=overwrite,
        static_partition=tuple(static.items()),
        on_conflict=on_conflict,
    )


def _check_partition(table: ResolvedTable, partition: Mapping[str, str | None]) -> None:
    for name in partition:
        if name not in table.partition_keys:
            raise SqlValidationError(
                f"'{name}' is no partition column of the table '{table.name}'.",
                detail=f"its partition columns are {', '.join(table.partition_keys) or 'none'}",
            )


def _targets(
    table: ResolvedTable, row: t.RowType, columns: Sequence[str] | None, static: Mapping[str, str]
) -> list[int]:
    if columns is None:
        return [i for i, name in enumerate(row.names) if name not in static]
    found = []
    for name in columns:
        if name in static:
            raise SqlValidationError(f"Target column '{name}' is assigned more than once")
        if name not in row.names:
            raise SqlValidationError(
                f"The column '{name}' of '{table.name}' cannot be written: it is computed or virtual."
            )
        found.append(row.names.index(name))
    return found


def _cast(
    table: ResolvedTable, plan: Node, row: t.RowType, targets: Sequence[int]
) -> tuple[Node, dict[int, int]]:
    expressions: list[Expression] = []
    types = row.types
    for i, (ref, target) in enumerate(zip(identity(plan.row), targets, strict=True)):
        wanted = types[target]
        given = plain(ref.type)
        fits = type_rules.implicitly_castable(_nullable(given), _nullable(wanted))
        if not fits:
            cause = f"Incompatible types for sink column '{row.names[target]}' at position {i + 1}."
            raise _mismatch(table, plan, row, cause)
        expressions.append(_as_sink(ref, wanted))
    positions = {target: i for i, target in enumerate(targets)}
    if tuple(expressions) == identity(plan.row):
        return plan, positions
    project = t.RowType.of(plan.row.names, [e.type for e in expressions])
    return Project(row=project, input=plan, expressions=tuple(expressions)), positions


def _nullable(data_type: t.DataType) -> t.DataType:
    """The type with everything in it nullable: whether a NULL comes is seen at run time."""
    from dataclasses import replace

    if isinstance(data_type, t.ArrayType | t.MultisetType):
        data_type = replace(data_type, element_type=_nullable(data_type.element_type))
    elif isinstance(data_type, t.MapType):
        key, value = _nullable(data_type.key_type), _nullable(data_type.value_type)
        data_type = replace(data_type, key_type=key, value_type=value)
    elif isinstance(data_type, t.RowType):
        fields = tuple(
            replace(f, data_type=_nullable(f.data_type), name="", description=None) for f in data_type.fields
        )
        data_type = replace(data_type, fields=fields)
    return data_type.with_nullability(True)


def _as_sink(ref: Expression, wanted: t.DataType) -> Expression:
    """Cast where the values are others; lengths of texts are left to the sink's enforcer."""
    given = plain(ref.type)
    if _nullable(given) == _nullable(wanted):
        return ref
    if isinstance(given, t.CharType | t.VarCharType) and isinstance(wanted, t.CharType | t.VarCharType):
        return ref
    if isinstance(given, t.BinaryType | t.VarBinaryType) and isinstance(
        wanted, t.BinaryType | t.VarBinaryType
    ):
        return ref
    return implicit(ref, wanted.with_nullability(given.nullable))


def _with_constant(
    plan: Node, positions: dict[int, int], row: t.RowType, name: str, text: str
) -> tuple[Node, dict[int, int]]:
    from firesteel.sql.binder.literals import text as text_literal
    from firesteel.sql.rules.constants import folded

    index = row.names.index(name)
    constant: Expression = text_literal(text)
    value = folded(cast(constant, row.types[index].with_nullability(False)))
    if not isinstance(value, Literal):
        raise SqlValidationError(
            f"The value {text!r} of the partition column '{name}' is not of its type {row.types[index]}."
        )
    names = t.unique([*plan.row.names, name])
    wide = t.RowType.of(names, [*plan.row.types, value.type])
    made = Project(row=wide, input=plan, expressions=(*identity(plan.row), value))
    return made, {**positions, index: len(plan.row.fields)}


def _mismatch(table: ResolvedTable, plan: Node, row: t.RowType, cause: str) -> SqlValidationError:
    query = ", ".join(f"{f.name}: {f.data_type}" for f in plan.row.fields)
    # As in Flink: what must not be NULL is looked at row by row, and a sink has no time attributes.
    sink = ", ".join(f"{f.name}: {f.data_type.text().partition(' *')[0]}" for f in row.fields)
    return SqlValidationError(
        f"Column types of query result and sink for '{table.name}' do not match.\nCause: {cause}\n\n"
        f"Query schema: [{query}]\nSink schema:  [{sink}]"
    )
