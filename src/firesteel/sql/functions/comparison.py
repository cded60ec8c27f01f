"""= <> < <= > >=, IS [NOT] DISTINCT FROM, IN, BETWEEN, GREATEST and LEAST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.expressions import Expression
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, TypeRule, Typing
from firesteel.sql.functions.rules import BOOLEAN, common
from firesteel.sql.values import values_of

_CONSTRUCTED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType)


def compared(a: t.DataType, b: t.DataType, equality: bool) -> tuple[t.DataType, t.DataType] | None:
    """The types as which two values are compared; None: they cannot be."""
    if r.is_null_type(a) or r.is_null_type(b):
        known = b if r.is_null_type(a) else a
        return (known.with_nullability(True),) * 2
    if r.comparable(a, b, equality=equality):
        found = r.common_type((a, b))
        if found is None:
            return a, b
        return found.with_nullability(a.nullable), found.with_nullability(b.nullable)
    if isinstance(b, r.CHARACTER) and not isinstance(a, r.CHARACTER):
        text_first = compared(b, a, equality)
        return None if text_first is None else (text_first[1], text_first[0])
    if isinstance(a, r.CHARACTER) and _from_text(b, equality):
        return b.with_nullability(a.nullable), b
    if isinstance(a, r.CHARACTER) and isinstance(b, t.BooleanType):
        return a, t.VarCharType(nullable=b.nullable)
    return None


def _from_text(other: t.DataType, equality: bool) -> bool:
    """Text is read as a date or time; as a number only for < and its like, as in Flink."""
    return isinstance(other, r.DATETIME) or (not equality and isinstance(other, r.NUMERIC))


def comparison(equality: bool, nullable: bool = True) -> TypeRule:
    def rule(call: CallTypes) -> Typing | None:
        if len(call.types) != 2:
            return None
        found = compared(call.types[0], call.types[1], equality)
        if found is None:
            return None
        null = nullable and any(d.nullable or r.is_null_type(d) for d in call.types)
        return Typing(BOOLEAN.with_nullability(null), found)

    return rule


def plain_equal(data_type: t.DataType) -> bool:
    """Whether Arrow compares values of the type."""
    return not isinstance(data_type, (*_CONSTRUCTED, t.VariantType, t.NullType))


def comparable_value(value: Any, data_type: t.DataType) -> Any:
    """A value in a form of which ``==`` and hash mean equality: the order of a map's entries does not
    count."""
    if value is None:
        return None
    if isinstance(data_type, t.ArrayType):
        return tuple(comparable_value(v, data_type.element_type) for v in value)
    if isinstance(data_type, t.RowType):
        return tuple(comparable_value(v, d) for v, d in zip(value, data_type.types, strict=True))
    if isinstance(data_type, t.MapType):
        return frozenset(
            (comparable_value(k, data_type.key_type), comparable_value(v, data_type.value_type))
            for k, v in value
        )
    if isinstance(data_type, t.MultisetType):
        return frozenset((comparable_value(k, data_type.element_type), n) for k, n in value)
    return value


def _nested_equal(site: CallSite, a: Any, b: Any) -> pa.Array:
    columns = []
    for column, data_type in zip((a, b), site.types, strict=True):
        array = column if isinstance(column, pa.Array) else pa.repeat(column, site.length)
        columns.append([comparable_value(v, data_type) for v in values_of(array, data_type)])
    pairs = zip(*columns, strict=True)
    return pa.array([None if x is None or y is None else x == y for x, y in pairs], pa.bool_())


def equal(site: CallSite, a: Any, b: Any) -> Any:
    if isinstance(site.types[0], t.NullType):
        return pa.scalar(None, pa.bool_())
    return pc.equal(a, b) if plain_equal(site.types[0]) else _nested_equal(site, a, b)


def _not_equal(site: CallSite, a: Any, b: Any) -> Any:
    return pc.invert(equal(site, a, b))


def _ordered(kernel: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(site: CallSite, a: Any, b: Any) -> Any:
        if isinstance(site.types[0], t.BooleanType):
            a, b = a.cast(pa.int8()), b.cast(pa.int8())
        elif isinstance(site.types[0], t.NullType):
            return pa.scalar(None, pa.bool_())
        return kernel(a, b)

    return compute


def _distinct(site: CallSite, a: Any, b: Any) -> Any:
    """Null is a value like others."""
    same = pc.fill_null(equal(site, a, b), False)
    return pc.invert(pc.or_(same, pc.and_(a_null(a), a_null(b))))


def a_null(column: Any) -> Any:
    return pa.scalar(not column.is_valid) if isinstance(column, pa.Scalar) else column.is_null()


_TWO = "<COMPARABLE_TYPE> {} <COMPARABLE_TYPE>"
for _name, _sign, _equality, _columns, _doc, _example in (
    ("EQUALS", "=", True, equal, "Whether two values are equal.", "1 = 1"),
    ("NOT_EQUALS", "<>", True, _not_equal, "Whether two values are not equal.", "1 <> 2"),
    ("LESS_THAN", "<", False, _ordered(pc.less), "Whether the first is less.", "1 < 2"),
    (
        "LESS_THAN_OR_EQUAL",
        "<=",
        False,
        _ordered(pc.less_equal),
        "Whether the first is not greater.",
        "2 <= 2",
    ),
    ("GREATER_THAN", ">", False, _ordered(pc.greater), "Whether the first is greater.", "2 > 1"),
    (
        "GREATER_THAN_OR_EQUAL",
        ">=",
        False,
        _ordered(pc.greater_equal),
        "Whether the first is not less.",
        "2 >= 2",
    ),
):
    scalar(
        _name,
        comparison(_equality),
        sql=(),
        columns=_columns,
        total=True,
        signatures=(_TWO.format(_sign),),
        doc=_doc,
        example=_example,
    )
scalar(
    "IS_DISTINCT_FROM",
    comparison(True, nullable=False),
    sql=(),
    columns=_distinct,
    total=True,
    signatures=("<ANY> IS DISTINCT FROM <ANY>",),
    doc="Whether two values differ, where NULL equals NULL.",
    example="NULLIF(1, 1) IS DISTINCT FROM 1",
)
scalar(
    "IS_NOT_DISTINCT_FROM",
    comparison(True, nullable=False),
    sql=(),
    total=True,
    columns=lambda site, a, b: pc.invert(_distinct(site, a, b)),
    signatures=("<ANY> IS NOT DISTINCT FROM <ANY>",),
    doc="Whether two values are equal, where NULL equals NULL.",
    example="1 IS NOT DISTINCT FROM 1",
)


# ---- what is short for comparisons


def _call(name: str, *operands: Expression) -> Expression:
    from firesteel.sql.functions.calls import call_named

    return call_named(name, *operands)


def _between(x: Expression, low: Expression, high: Expression) -> Expression:
    return _call("AND", _call("GREATER_THAN_OR_EQUAL", x, low), _call("LESS_THAN_OR_EQUAL", x, high))


def _between_symmetric(x: Expression, low: Expression, high: Expression) -> Expression:
    return _call("OR", _between(x, low, high), _between(x, high, low))


#: from how many constants on a list is searched, and not compared one by one
_MANY = 4


def _in(x: Expression, *values: Expression) -> Expression:
    from firesteel.sql.expressions import Call, Literal
    from firesteel.sql.functions.calls import implicit

    if len(values) >= _MANY and all(isinstance(v, Literal) for v in values):
        found = r.common_type([x.type, *(v.type for v in values)])
        if found is not None and plain_equal(found):
            operands = tuple(implicit(o, found.with_nullability(o.type.nullable)) for o in (x, *values))
            null = any(o.type.nullable or r.is_null_type(o.type) for o in (x, *values))
            return Call("IN", operands, BOOLEAN.with_nullability(null))
    equal_ones = [_call("EQUALS", x, value) for value in values]
    return equal_ones[0] if len(equal_ones) == 1 else _call("OR", *equal_ones)


def _is_in(site: CallSite, x: Any, *values: Any) -> Any:
    """Null if nothing is equal, and a value of the list or *x* is null."""
    column = x if isinstance(x, pa.Array) else pa.repeat(x, site.length)
    # constants are scalars, but columns of one row where all of them are
    scalars = [v[0] if isinstance(v, pa.Array) else v for v in values]
    known = pa.array([s.as_py() for s in scalars if s.is_valid], column.type)
    found = pc.is_in(column, value_set=known, skip_nulls=True)
    if len(known) < len(values):
        return pc.if_else(found, True, pa.scalar(None, pa.bool_()))
    return pc.if_else(column.is_valid(), found, pa.scalar(None, pa.bool_())) if column.null_count else found


def _nullif(a: Expression, b: Expression) -> Expression:
    from firesteel.sql.expressions import Literal

    nothing = Literal(None, a.type.with_nullability(True))
    return _call("CASE", _call("EQUALS", a, b), nothing, a)


def _never(call: CallTypes) -> Typing | None:
    return None


for _name, _signature, _expand, _doc, _example in (
    (
        "BETWEEN",
        "<COMPARABLE> BETWEEN <COMPARABLE> AND <COMPARABLE>",
        _between,
        "Whether a value is within bounds, both included.",
        "2 BETWEEN 1 AND 3",
    ),
    (
        "NOT_BETWEEN",
        "<COMPARABLE> NOT BETWEEN <COMPARABLE> AND <COMPARABLE>",
        lambda x, a, b: _call("NOT", _between(x, a, b)),
        "Whether a value is outside of bounds.",
        "4 NOT BETWEEN 1 AND 3",
    ),
    (
        "BETWEEN_SYMMETRIC",
        "<COMPARABLE> BETWEEN SYMMETRIC <COMPARABLE> AND <COMPARABLE>",
        _between_symmetric,
        "Whether a value is between two others in any order.",
        "2 BETWEEN SYMMETRIC 3 AND 1",
    ),
    (
        "NOT_BETWEEN_SYMMETRIC",
        "<COMPARABLE> NOT BETWEEN SYMMETRIC <COMPARABLE> AND <COMPARABLE>",
        lambda x, a, b: _call("NOT", _between_symmetric(x, a, b)),
        "Whether a value is not between two others in any order.",
        "4 NOT BETWEEN SYMMETRIC 3 AND 1",
    ),
    (
        "NOT_IN",
        "<ANY> NOT IN (<ANY>...)",
        lambda x, *v: _call("NOT", _in(x, *v)),
        "Whether a value is none of a list.",
        "4 NOT IN (1, 2, 3)",
    ),
):
    scalar(_name, _never, sql=(), expand=_expand, signatures=(_signature,), doc=_doc, example=_example)
scalar(
    "IN",
    _never,
    sql=(),
    expand=_in,
    columns=_is_in,
    total=True,
    signatures=("<ANY> IN (<ANY>...)",),
    doc="Whether a value is one of a list.",
    example="2 IN (1, 2, 3)",
)
scalar(
    "NULLIF",
    _never,
    expand=_nullif,
    signatures=("NULLIF(<ANY>, <ANY>)",),
    doc="NULL if the two are equal, else the first.",
    example="NULLIF(5, 0)",
)


# ---- the greatest and the least


def _extreme(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def compute(site: CallSite, *columns: Any) -> Any:
        if isinstance(site.result, (*r.CHARACTER, *r.BINARY, t.BooleanType)):
            return _folded(site, columns, pc.greater if kernel is pc.max_element_wise else pc.less)
        return kernel(*columns, skip_nulls=False)

    return compute


def _folded(site: CallSite, columns: Any, better: Callable[[Any, Any], Any]) -> Any:
    found = columns[0]
    for column in columns[1:]:
        found = pc.if_else(better(column, found), column, found)
    return found


def _orderable(data_type: t.DataType) -> bool:
    return r.comparable(data_type, data_type, equality=False)


scalar(
    "GREATEST",
    common(accept=_orderable),
    columns=_extreme(pc.max_element_wise),
    total=True,
    signatures=("GREATEST(<COMPARABLE>...)",),
    doc="The greatest of the values; NULL if one of them is.",
    example="GREATEST(1, 3, 2)",
)
scalar(
    "LEAST",
    common(accept=_orderable),
    columns=_extreme(pc.min_element_wise),
    total=True,
    signatures=("LEAST(<COMPARABLE>...)",),
    doc="The least of the values; NULL if one of them is.",
    example="LEAST(1, 3, 2)",
)
