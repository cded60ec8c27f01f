"""Which conditions Spark is asked to test, and how they are written for it."""

from __future__ import annotations

import datetime

import pytest

from firesteel.sql import types as t
from firesteel.sql.connectors.spark.conditions import condition_text
from firesteel.sql.expressions import Call, Expression, InputRef, Literal

BOOLEAN = t.BooleanType()
NAMES = ["n", "the `text`", "d", "x", "at"]
TYPES = [t.BigIntType(), t.VarCharType(t.MAX_LENGTH), t.DateType(), t.DoubleType(), t.TimestampType(6)]
N, TEXT, D, X, AT = (InputRef(i, d) for i, d in enumerate(TYPES))
ONE = Literal(-1, t.IntType())
WORD = Literal("ö'\\", t.CharType(3))
DAY = Literal(datetime.date(2024, 2, 29), t.DateType())


def call(function: str, *operands: Expression) -> Call:
    return Call(function, operands, BOOLEAN)


LESS, EQUAL = call("LESS_THAN", N, ONE), call("EQUALS", TEXT, WORD)
UNKNOWN = call("LIKE", TEXT, WORD)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([LESS], "`n` < -1L"),
        ([EQUAL], "`the ``text``` = CAST(X'c3b6275c' AS STRING)"),
        ([call("GREATER_THAN_OR_EQUAL", DAY, D)], "DATE'2024-02-29' >= `d`"),
        ([call("NOT_EQUALS", N, ONE), call("IS_NULL", X)], "`n` <> -1L AND `x` IS NULL"),
        ([call("OR", LESS, call("IS_NOT_NULL", AT))], "(`n` < -1L OR `at` IS NOT NULL)"),
        ([UNKNOWN, LESS], "`n` < -1L"),
        ([call("AND", UNKNOWN, LESS, EQUAL)], f"(`n` < -1L AND {condition_text([EQUAL], NAMES)})"),
    ],
)
def test_what_spark_can_test(parts: list[Expression], text: str) -> None:
    assert condition_text(parts, NAMES) == text


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(call("OR", LESS, UNKNOWN), id="an OR is not weaker without one of its parts"),
        pytest.param(call("NOT", LESS), id="a condition that lets pass too much is too strict under NOT"),
        pytest.param(call("NOT_EQUALS", TEXT, WORD), id="by a collation texts may be equal that differ"),
        pytest.param(call("LESS_THAN", TEXT, WORD), id="and their order is another one"),
        pytest.param(call("LESS_THAN", X, Literal(1.0, t.DoubleType())), id="NaN is above all for Spark"),
        pytest.param(call("EQUALS", AT, AT), id="instants and times of the clock"),
        pytest.param(call("EQUALS", N, Literal(None, t.BigIntType())), id="NULL"),
        pytest.param(call("EQUALS", call("PLUS", N, ONE), ONE), id="sums overflow otherwise"),
        pytest.param(call("EQUALS", N, WORD), id="types that differ"),
        pytest.param(InputRef(0, BOOLEAN), id="no call"),
        pytest.param(call("IS_NULL", UNKNOWN), id="IS NULL of more than a column"),
    ],
)
def test_what_stays_with_the_query(part: Expression) -> None:
    assert condition_text([part], NAMES) == ""
