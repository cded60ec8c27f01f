"""The older ways between streams and tables: names of fields, target schemas, types of records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from firesteel.common.types import Row, RowKind
from firesteel.datastream.data_stream import DataStream
from firesteel.sql import logical as l, types as t
from firesteel.sql.expressions import Call, Expression, InputRef, identity
from firesteel.sql.functions.calls import implicit
from firesteel.sql.schema import (
    Column,
    ColumnKind,
    DeclaredColumn,
    DeclaredSchema,
    DeclaredWatermark,
    ResolvedSchema,
)
from firesteel.sql.type_rules import implicitly_castable
from firesteel.table import _tree as tree
from firesteel.table._plans import projected
from firesteel.table.expression import tree_of
from firesteel.util.exceptions import TableException

__all__ = ["as_records", "to_schema", "with_fields"]


def with_fields(env: Any, stream: Any, fields: list[Any]) -> Any:
    """Columns by expressions: names, aliases, ``col('ts').rowtime``, ``col('p').proctime``."""
    own = list(stream.fields.names)
    by_name = all(_source_name(tree_of(f)) in own for f in fields if not _is_time(tree_of(f)))
    declared: list[DeclaredColumn] = []
    marks: list[DeclaredWatermark] = []
    order: list[str] = []
    position = 0
    for f in fields:
        node = tree_of(f)
        name = node.names[0] if isinstance(node, tree.Alias) else None
        inner = node.operand if isinstance(node, tree.Alias) else node
        if isinstance(inner, tree.WindowProperty):
            if name is None:
                assert isinstance(inner.operand, tree.Column), "the time attribute is named"
                name = inner.operand.name
            target = name
            if inner.name == "proctime":
                declared.append(DeclaredColumn(target, ColumnKind.COMPUTED, expression="PROCTIME()"))
            else:
                declared.append(
                    DeclaredColumn(
                        target, ColumnKind.METADATA, t.TimestampType(3), metadata_key="rowtime", virtual=True
                    )
                )
                marks.append(DeclaredWatermark(target, _of_source))
            order.append(target)
            continue
        if not isinstance(inner, tree.Column):
            raise ProgramError("Fields of a stream are named by col(...), with an alias or a time attribute.")
        source = inner.name if by_name else own[position]
        position += 1
        target = name or inner.name
        order.append(target)
        declared.append(DeclaredColumn(source, data_type=stream.fields.types[own.index(source)]))
    schema = DeclaredSchema(tuple(declared), tuple(marks))
    node = env._scan(schema, stream)
    from firesteel.table.table import Table

    return Table(projected(node, identity(node.row), order), env)


def _of_source(row: t.RowType, binder: Any) -> Expression:
    """The watermarks of the stream, for a TIMESTAMP: in SQL ``SOURCE_WATERMARK()`` is a TIMESTAMP_LTZ."""
    return Call("SOURCE_WATERMARK", (), t.TimestampType(3))


def _is_time(node: tree.Tree) -> bool:
    return isinstance(node.operand if isinstance(node, tree.Alias) else node, tree.WindowProperty)


def _source_name(node: tree.Tree) -> str | None:
    inner = node.operand if isinstance(node, tree.Alias) else node
    return inner.name if isinstance(inner, tree.Column) else None


def to_schema(node: l.Node, schema: ResolvedSchema) -> tuple[l.Node, ResolvedSchema, int | None]:
    """The query with the columns of a target schema, found by their places, as those of a sink are; and
    which of them is the timestamp of the records (the metadata column ``rowtime``).

    :raises TableException: there are more or fewer columns, or values do not go where those of the schema do.
    """
    columns = [c for c in schema.columns if c.is_persisted]
    stamps = [i for i, c in enumerate(columns) if c.kind is ColumnKind.METADATA]
    if any(columns[i].key != "rowtime" for i in stamps) or len(stamps) > 1:
        raise TableException(
            "The only metadata column of a stream is 'rowtime'.",
            detail=", ".join(columns[i].key for i in stamps),
        )
    if len(stamps) == len(columns):  # no fields are declared: those of the query
        own = _plain(node.row)
        rest = max(0, len(own.fields) - len(stamps))
        declared = [Column(f.name, f.data_type) for f in own.fields[:rest]]
        stamps = [len(declared)] if stamps else []
        columns = [*declared, *columns]
    if len(columns) != len(node.row.fields):
        raise _mismatch(
            f"the query has {len(node.row.fields)} columns ({', '.join(node.row.names)}), "
            f"declared are {len(columns)} ({', '.join(c.name for c in columns)})"
        )
    for i in stamps:  # the timestamp of a record is never NULL
        columns[i] = replace(columns[i], data_type=columns[i].data_type.not_null())
    expressions: list[Expression] = []
    for index, column in enumerate(columns):
        own_type = node.row.types[index]
        # A NULL in a column that is NOT NULL is refused when it comes, as in a table.
        if not implicitly_castable(own_type, column.data_type.with_nullability(True)):
            raise _mismatch(f"column {column.name!r} is {own_type}, declared is {column.data_type}")
        expressions.append(_fitted(InputRef(index, own_type), column.data_type))
    row = t.RowType.of([c.name for c in columns], [e.type for e in expressions])
    made = l.Project(row=row, input=node, expressions=tuple(expressions))
    wanted = t.RowType.of([c.name for c in columns], [c.data_type for c in columns])
    return made, ResolvedSchema.of(wanted, schema.primary_key), stamps[0] if stamps else None


def _mismatch(why: str) -> TableException:
    return TableException(
        "Column types of query result and sink for '*anonymous_datastream_sink*' do not match.", detail=why
    )


def _fitted(expression: Expression, data_type: t.DataType) -> Expression:
    """Cast, also where only a length differs: texts are cut, as at the border to streams."""
    if isinstance(data_type, t.CharType | t.VarCharType | t.BinaryType | t.VarBinaryType):
        own: Any = expression.type
        longest = getattr(own, "length", None)
        differs = type(own) is not type(data_type) or (longest is not None and longest != data_type.length)
        fixed = isinstance(data_type, t.CharType | t.BinaryType)
        if differs and (longest is None or longest > data_type.length or fixed):
            return Call("CAST", (expression,), data_type.with_nullability(own.nullable))
    return implicit(expression, data_type.with_nullability(expression.type.nullable))


def _plain(row: t.RowType) -> t.RowType:
    from firesteel.table._running import plain_row

    return plain_row(row)


def as_records(stream: DataStream, type_info: TypeInformation, retract: bool) -> DataStream:
    """Rows as records of a declared type; with *retract*, pairs of a flag and the record."""
    if not isinstance(type_info, TypeInformation):
        raise ProgramError("Not a TypeInformation.", detail=f"got {type_info!r}")
    convert = _record(type_info)
    if not retract:
        return stream.map(convert, type_info)
    pairs = Types.TUPLE([Types.BOOLEAN(), type_info])
    return stream.map(_Flagged(convert), pairs)


class _Flagged:
    def __init__(self, convert: Any) -> None:
        self._convert = convert

    def __call__(self, row: Row) -> tuple[bool, Any]:
        added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        return added, self._convert(row)


class _AsRow:
    """Rows with the names of the type: fields are found by their places."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def __call__(self, row: Row) -> Row:
        made = Row.of_kind(row.get_row_kind(), *row)
        made.set_field_names(self._names)
        return made


def _as_tuple(row: Row) -> tuple[Any, ...]:
    return tuple(row)


def _as_value(row: Row) -> Any:
    return row[0]


def _record(type_info: TypeInformation) -> Any:
    if isinstance(type_info, RowTypeInfo):
        return _AsRow(type_info.get_field_names())
    return _as_tuple if isinstance(type_info, TupleTypeInfo) else _as_value
