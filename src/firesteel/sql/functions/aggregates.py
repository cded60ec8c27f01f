"""Aggregates and functions of windows: names, types, documentation. What computes them is in
``sql/operators``.

The type is that of a group with rows; ``null_when_empty`` says that it is nullable where there may be none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.sql import type_rules as r, types as t
from firesteel.sql.functions.define import aggregate
from firesteel.sql.functions.registry import CallTypes, TypeRule, Typing
from firesteel.sql.functions.rules import (
    ANY,
    AS_INT,
    BIGINT,
    BITMAP,
    DOUBLE,
    INT,
    INTEGER,
    NUMBER,
    SYMBOL,
    TEXT,
    exactly,
    first,
    many,
    not_null,
    nullable,
    of_first,
    optional,
    takes,
)

COUNT = not_null(BIGINT)
_JSON = t.VarCharType(length=2000, nullable=False)

aggregate(
    "COUNT",
    takes(many(ANY), result=COUNT),
    signatures=("COUNT(*)", "COUNT(<ANY>...)"),
    doc="How many rows there are, or rows in which no argument is NULL.",
)


def _extreme_rule(call: CallTypes) -> Typing | None:
    """Only of what has an order there is a least and a greatest value."""
    if len(call.types) != 1 or not r.comparable(call.types[0], call.types[0], equality=False):
        return None
    return Typing(call.types[0], tuple(call.types))


for _name, _doc in (("MIN", "The least value."), ("MAX", "The greatest value.")):
    aggregate(
        _name,
        _extreme_rule,
        null_when_empty=True,
        doc=_doc,
        signatures=(f"{_name}(<COMPARABLE>)",),
    )
aggregate(
    "SUM",
    takes(NUMBER, result=of_first(r.sum_type)),
    null_when_empty=True,
    doc="The sum of the values; NULL: all are.",
)
aggregate(
    "SUM0",
    takes(NUMBER, result=lambda d: r.sum_type(d[0]).not_null()),
    sql=("$SUM0",),
    doc="The sum of the values, 0 where there is none.",
)
aggregate(
    "AVG",
    takes(NUMBER, result=of_first(r.average_type)),
    null_when_empty=True,
    doc="The average; of integers it is cut off to their type.",
)
for _name, _sql, _doc in (
    ("STDDEV_POP", ("STDDEV_POP",), "The standard deviation of the population."),
    ("STDDEV_SAMP", ("STDDEV_SAMP", "STDDEV"), "The standard deviation of a sample."),
    ("VAR_POP", ("VAR_POP",), "The variance of the population."),
    ("VAR_SAMP", ("VAR_SAMP", "VARIANCE"), "The variance of a sample."),
):
    aggregate(
        _name,
        takes(NUMBER, result=of_first(r.average_type)),
        sql=_sql,
        null_when_empty=True,
        doc=f"{_doc} It has the type of AVG.",
    )
for _name, _doc in (
    ("FIRST_VALUE", "The first value that is not NULL."),
    ("LAST_VALUE", "The last value that is not NULL."),
    ("SINGLE_VALUE", "The only value; more than one is an error."),
):
    aggregate(_name, takes(ANY, result=first), null_when_empty=True, doc=_doc)


def _multiset(types: Any) -> t.DataType:
    return t.MultisetType(element_type=types[0], nullable=False)


def _array(types: Any) -> t.DataType:
    return t.ArrayType(element_type=types[0], nullable=types[0].nullable)


aggregate("COLLECT", takes(ANY, result=_multiset), doc="The values as a multiset.")
aggregate("ARRAY_AGG", takes(ANY, result=_array), doc="The values as an array, in the order of the rows.")
aggregate(
    "LISTAGG",
    takes(TEXT, optional(TEXT), result=first),
    doc="The texts that are not NULL as one, with a separator (a comma) between them.",
)


def _percentile_rule(call: CallTypes) -> Typing | None:
    """A share, or an array of shares; then a weight, if rows have one."""
    types = call.types
    if not 2 <= len(types) <= 3 or not isinstance(types[0], r.NUMERIC):
        return None
    shares = types[1].element_type if isinstance(types[1], t.ArrayType) else types[1]
    if not isinstance(shares, r.NUMERIC) or (len(types) == 3 and not isinstance(types[2], r.INTEGER)):
        return None
    listed = isinstance(types[1], t.ArrayType)
    double = t.DoubleType(nullable=shares.nullable)
    wanted = t.ArrayType(element_type=double, nullable=types[1].nullable) if listed else double
    return Typing(t.ArrayType(element_type=DOUBLE) if listed else DOUBLE, (types[0], wanted, *types[2:]))


aggregate(
    "PERCENTILE",
    _percentile_rule,
    signatures=(
        "PERCENTILE(<NUMERIC>, <NUMERIC> [, <INTEGER_NUMERIC>])",
        "PERCENTILE(<NUMERIC>, <ARRAY<NUMERIC>> [, <INTEGER_NUMERIC>])",
    ),
    doc="The exact percentile, or several, of values with a frequency each.",
)


def _json_objectagg(call: CallTypes) -> Typing | None:
    key = TEXT.accept(call.types[0]) if len(call.types) in (2, 4) else None
    return None if key is None else Typing(_JSON, (key, *call.types[1:]))


aggregate(
    "JSON_OBJECTAGG",
    _json_objectagg,
    signatures=("JSON_OBJECTAGG([KEY] <CHARACTER_STRING> VALUE <ANY> [{NULL | ABSENT} ON NULL])",),
    doc="A JSON object of the keys and values of the rows.",
)
aggregate(
    "JSON_ARRAYAGG",
    takes(ANY, optional(SYMBOL), optional(SYMBOL), result=_JSON),
    signatures=("JSON_ARRAYAGG(<ANY> [{NULL | ABSENT} ON NULL])",),
    doc="A JSON array of the values of the rows.",
)


# ---- bitmaps

_NARROW = exactly(INT)
for _name, _argument, _result, _doc in (
    ("BITMAP_BUILD_AGG", _NARROW, t.BitmapType(), "The bitmap of the numbers."),
    ("BITMAP_BUILD_CARDINALITY_AGG", _NARROW, BIGINT, "How many different numbers there are."),
    ("BITMAP_AND_AGG", BITMAP, t.BitmapType(), "The numbers that are in all bitmaps."),
    ("BITMAP_AND_CARDINALITY_AGG", BITMAP, BIGINT, "How many numbers are in all bitmaps."),
    ("BITMAP_OR_AGG", BITMAP, t.BitmapType(), "The numbers that are in one of the bitmaps."),
    ("BITMAP_OR_CARDINALITY_AGG", BITMAP, BIGINT, "How many numbers are in one of the bitmaps."),
    ("BITMAP_XOR_AGG", BITMAP, t.BitmapType(), "The numbers that are in an odd count of bitmaps."),
    ("BITMAP_XOR_CARDINALITY_AGG", BITMAP, BIGINT, "How many numbers are in an odd count of bitmaps."),
):
    aggregate(_name, takes(_argument, result=nullable(_result)), doc=_doc)


aggregate(
    "APPROX_COUNT_DISTINCT",
    takes(ANY, result=COUNT),
    doc="How many different values there are. In batch mode only: use COUNT(DISTINCT ...) when streaming.",
)


# ---- functions of windows

for _name, _doc in (
    ("ROW_NUMBER", "The number of the row, from 1."),
    (
        "RANK",
        "The rank of the row; rows of equal order have the same one, and ranks are left out after them.",
    ),
    ("DENSE_RANK", "The rank of the row; no rank is left out."),
):
    aggregate(_name, takes(result=COUNT), doc=_doc)
for _name, _doc in (
    ("CUME_DIST", "The share of rows that do not come after this one."),
    ("PERCENT_RANK", "The rank as a share, from 0 to 1."),
):
    aggregate(_name, takes(result=not_null(DOUBLE)), doc=_doc)
aggregate("NTILE", takes(INTEGER, result=COUNT), doc="The number of the part, of so many equal ones.")


def _shift_rule(call: CallTypes) -> Typing | None:
    """The value of another row; with a default it is nullable only if one of the two is."""
    types = call.types
    if not 1 <= len(types) <= 3 or (len(types) > 1 and AS_INT.accept(types[1]) is None):
        return None
    if len(types) < 3:
        return Typing(types[0].with_nullability(True), tuple(types))
    found = r.common_type((types[0], types[2]))
    if found is None:
        return None
    default = types[0].with_nullability(types[2].nullable or r.is_null_type(types[2]))
    return Typing(types[0].with_nullability(found.nullable), (types[0], types[1], default))


for _name, _doc in (
    ("LAG", "The value of a row before this one."),
    ("LEAD", "The value of a row after this one."),
):
    aggregate(_name, _shift_rule, signatures=(f"{_name}(<ANY> [, <INT> [, <ANY>]])",), doc=_doc)


# ---- windows of GROUP BY: the planner takes these calls out of the query


def _auxiliary(result: Callable[[t.DataType], t.DataType]) -> TypeRule:
    def rule(call: CallTypes) -> Typing | None:
        kinds = (t.TimestampType, t.LocalZonedTimestampType)
        if not call.types or not isinstance(call.types[0], kinds):
            return None
        return Typing(result(call.types[0]), tuple(call.types))

    return rule


def _plain(kind: Any) -> t.DataType:
    return t.TimestampType(precision=3, nullable=False)


def _rowtime(kind: Any) -> t.DataType:
    made: t.DataType = type(kind)(precision=3, nullable=False, attribute=t.TimeAttribute.ROWTIME)
    return made


def _proctime(kind: Any) -> t.DataType:
    return t.LocalZonedTimestampType(precision=3, nullable=False, attribute=t.TimeAttribute.PROCTIME)


for _window in ("TUMBLE", "HOP", "SESSION"):
    for _end, _property, _doc in (
        ("START", _plain, "The first point of time of the window."),
        ("END", _plain, "The first point of time after the window."),
        ("ROWTIME", _rowtime, "The last point of time of the window, as a rowtime."),
        ("PROCTIME", _proctime, "The processing time of the window."),
    ):
        aggregate(
            f"{_window}_{_end}",
            _auxiliary(_property),
            kernel="WINDOW_PROPERTY",
            signatures=(f"{_window}_{_end}(<TIME ATTRIBUTE>, <INTERVAL>...)",),
            doc=f"{_doc} With GROUP BY {_window}(...).",
        )

for _name, _doc in (
    ("GROUPING", "Which of the columns are not grouped by, as bits."),
    ("GROUP_ID", "The number of the grouping set among equal ones."),
):
    aggregate(
        _name,
        takes(many(ANY), result=COUNT),
        sql=(_name, "GROUPING_ID") if _name == "GROUPING" else (_name,),
        doc=_doc,
    )
