"""Where expressions begin (PyFlink: ``pyflink.table.expressions``)."""

from __future__ import annotations

from typing import Any, Final

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.table import _tree as tree
from firesteel.table._conversions import logical_type
from firesteel.table._symbols import JsonOnNull, TimePointUnit
from firesteel.table.expression import Expression, tree_of
from firesteel.table.types import DataType

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]


def _call(function: str, *arguments: Any) -> Expression[Any]:
    return Expression(tree.FunctionCall(function, tuple(map(tree_of, arguments))))


def _given(*arguments: Any) -> tuple[Any, ...]:
    return tuple(a for a in arguments if a is not None)


def col(name: str) -> Expression[Any]:
    """A column."""
    if not isinstance(name, str):
        raise ProgramError("The name of a column is a text.", detail=f"got {name!r}")
    return Expression(tree.Column(name))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A constant."""
    return Expression(tree.Value(v, None if data_type is None else logical_type(data_type)))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """All columns from one to another, by names or by numbers from 1 on."""
    return Expression(tree.ColumnRange(start, end))


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether all hold."""
    return _call("AND", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether one holds."""
    return _call("OR", predicate0, predicate1, *predicates)


def not_(expression: Any) -> Expression[bool]:
    """Whether it does not hold; NULL of NULL."""
    return _call("NOT", expression)


UNBOUNDED_ROW: Final[Expression[Any]] = Expression(tree.Mark("UNBOUNDED_ROW"))
UNBOUNDED_RANGE: Final[Expression[Any]] = Expression(tree.Mark("UNBOUNDED_RANGE"))
CURRENT_ROW: Final[Expression[Any]] = Expression(tree.Mark("CURRENT_ROW"))
CURRENT_RANGE: Final[Expression[Any]] = Expression(tree.Mark("CURRENT_RANGE"))


def current_database() -> Expression[str]:
    return _call("CURRENT_DATABASE")


def current_date() -> Expression[Any]:
    return _call("CURRENT_DATE")


def current_time() -> Expression[Any]:
    return _call("CURRENT_TIME")


def current_timestamp() -> Expression[Any]:
    return _call("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """The watermark of an event-time column; NULL before the first."""
    return _call("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    return _call("LOCALTIME")


def local_timestamp() -> Expression[Any]:
    return _call("LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """The date of a text."""
    return _call("TO_DATE", *_given(date_str, format))


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """The timestamp of a text."""
    return _call("TO_TIMESTAMP", *_given(timestamp_str, format))


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """The instant of a number and its precision, or of a text, its format and its zone."""
    return _call("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[bool]:
    """Whether two spans of time have an instant in common."""
    return _call("TEMPORAL_OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression[str]:
    """A timestamp as text."""
    return _call("DATE_FORMAT", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression[int]:
    """How many units lie between two points in time."""
    return _call("TIMESTAMPDIFF", time_point_unit, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[str]:
    """A timestamp of one zone in another one, as text."""
    return _call("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[str]:
    """The text of a number of seconds since 1970."""
    return _call("FROM_UNIXTIME", *_given(unixtime, format))


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[int]:
    """The seconds since 1970, now or of a text."""
    return _call("UNIX_TIMESTAMP", *_given(date_str, format))


def array(head: Any, *tail: Any) -> Expression[Any]:
    """An array of values."""
    return _call("ARRAY", head, *tail)


def row(head: Any, *tail: Any) -> Expression[Any]:
    """A row of values."""
    return _call("ROW", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """A map of keys and values in turn."""
    return _call("MAP", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """A map of an array of keys and one of values."""
    return _call("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Names of columns, as the argument of a function of tables."""
    return Expression(tree.Descriptor(tuple(column_names)))


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    raise UnsupportedFeatureError(
        "Structured types of Java classes are not available.",
        operator="object_of",
        detail=str(class_name),
        hint="use row(...) with named fields",
    )


def row_interval(rows: int) -> Expression[Any]:
    """A number of rows, as the size of a window."""
    return Expression(tree.RowInterval(rows))


def pi() -> Expression[float]:
    return _call("PI")


def e() -> Expression[float]:
    return _call("E")


def rand(seed: Any = None) -> Expression[float]:
    """A random number of at least 0 and below 1."""
    return _call("RAND", *_given(seed))


def rand_integer(bound: Any, seed: Any = None) -> Expression[int]:
    """A random integer of at least 0 and below *bound*."""
    return _call("RAND_INTEGER", *_given(seed, bound))


def atan2(y: Any, x: Any) -> Expression[float]:
    """The angle of a point."""
    return _call("ATAN2", y, x)


def negative(v: Any) -> Expression[Any]:
    """With the other sign."""
    return _call("MINUS_PREFIX", v)


def concat(first: Any, *others: Any) -> Expression[str]:
    """Texts in a row; NULL if one is."""
    return _call("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[str]:
    """Texts with a separator between them, without NULLs."""
    return _call("CONCAT_WS", separator, first, *others)


def uuid() -> Expression[str]:
    """A random UUID."""
    return _call("UUID")


def null_of(data_type: DataType) -> Expression[Any]:
    """NULL of a type."""
    return Expression(tree.Value(None, logical_type(data_type)))


def log(v: Any, base: Any = None) -> Expression[float]:
    """The natural logarithm, or that of a base."""
    return _call("LN", v) if base is None else _call("LOG", base, v)


def source_watermark() -> Expression[Any]:
    """In a schema: the watermarks of the source."""
    return _call("SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """One value where the condition is true, else the other one."""
    return _call("IF_THEN_ELSE", condition, if_true, if_false)


def coalesce(*args: Any) -> Expression[Any]:
    """The first value that is not NULL."""
    return _call("COALESCE", *args)


def with_all_columns() -> Expression[Any]:
    """All columns."""
    return Expression(tree.Column("*"))


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Some columns."""
    return Expression(tree.Columns(tuple(map(tree_of, (head, *tails)))))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """All columns but some."""
    return Expression(tree.Columns(tuple(map(tree_of, (head, *tails))), without=True))


def json(value: Any) -> Expression[Any]:
    """A JSON text, for json_object and json_array: it is not quoted there."""
    return _call("JSON", value)


def json_string(value: Any) -> Expression[str]:
    """A value as JSON."""
    return _call("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[str]:
    """A JSON object of keys and values in turn."""
    return _call("JSON_OBJECT", *args, *_on_null(on_null))


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[str]:
    """A JSON object of the keys and values of all rows."""
    return _call("JSON_OBJECTAGG", key_expr, value_expr, *_on_null(on_null))


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[str]:
    """A JSON array of values."""
    return _call("JSON_ARRAY", *args, *_on_null(on_null))


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[str]:
    """A JSON array of the values of all rows."""
    return _call("JSON_ARRAYAGG", item_expr, *_on_null(on_null))


def _on_null(on_null: JsonOnNull) -> tuple[Expression[Any], Expression[Any]]:
    return Expression(tree.Mark("ON NULL")), Expression(tree.Mark(on_null.name))


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value of an earlier row of an over-window."""
    return _call("LAG", expr, offset, *_given(default))


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value of a later row of an over-window."""
    return _call("LEAD", expr, offset, *_given(default))


def call(f: Any, *args: Any) -> Expression[Any]:
    """A call of a function by its name, or of a function of the user."""
    return Expression(tree.FunctionCall(f, tuple(map(tree_of, args))))


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression in SQL."""
    return Expression(tree.SqlText(sql_expression))
