"""The expected lines were printed by PyFlink 2.3 for ``ds.map(..., output_type).print()``."""

import datetime as dt
from decimal import Decimal

import pytest

from firesteel.common import Instant, Row, RowKind, Types
from firesteel.formats.java_format import formatter

DOUBLES = [
    (0.1, "0.1"), (1.0, "1.0"), (1e10, "1.0E10"), (1e7, "1.0E7"), (9999999.0, "9999999.0"),
    (12345678.9, "1.23456789E7"), (0.001, "0.001"), (0.0001, "1.0E-4"), (5e-324, "4.9E-324"),
    (1.7976931348623157e308, "1.7976931348623157E308"), (float("nan"), "NaN"), (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"), (-0.0, "-0.0"), (123456789012345678.0, "1.2345678901234568E17"),
    (1e21, "1.0E21"), (2.2250738585072014e-308, "2.2250738585072014E-308"), (2 / 3, "0.6666666666666666"),
    (9.999e-4, "9.999E-4"), (2.0**53, "9.007199254740992E15"), (0.002, "0.002"), (-12.5, "-12.5"),
]  # fmt: skip
FLOATS = [
    (0.1, "0.1"), (1e10, "1.0E10"), (9999999.0, "9999999.0"), (12345678.0, "1.2345678E7"), (0.0001, "1.0E-4"),
    (1e-45, "1.4E-45"), (3.4028235e38, "3.4028235E38"), (float("nan"), "NaN"), (-0.0, "-0.0"),
    (16777216.0, "1.6777216E7"), (3.3e-5, "3.3E-5"), (2e-44, "2.0E-44"),
    (8.41e21, "8.41E21"), (2.0e23, "2.0E23"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), DOUBLES)
def test_double(value, text):
    assert formatter(Types.DOUBLE())(value) == text


@pytest.mark.parametrize(("value", "text"), FLOATS)
def test_float(value, text):
    assert formatter(Types.FLOAT())(value) == text


MAP_D = Types.MAP(Types.STRING(), Types.DOUBLE())
PRINTED = [
    (Types.STRING(), "é", "é"),
    (Types.BYTE(), -128, "-128"),
    (Types.BOOLEAN(), True, "true"),
    (Types.BIG_DEC(), Decimal("1.10"), "1.10"),
    (Types.BIG_DEC(), Decimal("1E+5"), "1E+5"),
    (Types.BIG_DEC(), Decimal("0E-7"), "0E-7"),
    (Types.BIG_DEC(), Decimal("0.000001"), "0.000001"),
    (Types.BIG_DEC(), Decimal("0.0000001"), "1E-7"),
    (Types.BIG_DEC(), Decimal("-0"), "0"),
    (Types.BIG_DEC(), Decimal("12.50E3"), "1.250E+4"),
    (Types.INSTANT(), Instant(0, 0), "1970-01-01T00:00:00Z"),
    (Types.INSTANT(), Instant(1, 5_000_000), "1970-01-01T00:00:01.005Z"),
    (Types.INSTANT(), Instant(1, 5_000), "1970-01-01T00:00:01.000005Z"),
    (Types.INSTANT(), Instant(1, 7), "1970-01-01T00:00:01.000000007Z"),
    (Types.INSTANT(), Instant(-1, 999_000_000), "1969-12-31T23:59:59.999Z"),
    (Types.INSTANT(), Instant(1577934245, 123456789), "2020-01-02T03:04:05.123456789Z"),
    (Types.INSTANT(), Instant(253402300800, 0), "+10000-01-01T00:00:00Z"),
    (Types.SQL_DATE(), dt.date(2020, 1, 2), "2020-01-02"),
    (Types.SQL_TIME(), dt.time(3, 4, 5, 678000), "03:04:05"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05.0"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5, 678000), "2020-01-02 03:04:05.678"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5, 600000), "2020-01-02 03:04:05.6"),
    (
        Types.TUPLE([Types.STRING(), Types.INT(), Types.DOUBLE(), Types.BOOLEAN()]),
        ("a", 5, 1.0, True),
        "(a,5,1.0,true)",
    ),
    (
        Types.TUPLE(
            [
                Types.PRIMITIVE_ARRAY(Types.INT()),
                Types.BASIC_ARRAY(Types.STRING()),
                Types.OBJECT_ARRAY(Types.ROW([Types.INT()])),
                Types.PRIMITIVE_ARRAY(Types.BYTE()),
                Types.PRIMITIVE_ARRAY(Types.DOUBLE()),
            ]
        ),
        ([1, 2], ["a", None], [Row(1)], b"ab", [1.0, 2.5]),
        "([1, 2],[a, null],[+I[1]],[97, 98],[1.0, 2.5])",
    ),
    (
        Types.TUPLE([Types.TUPLE([Types.INT(), Types.TUPLE([Types.STRING()])]), Types.ROW([Types.DOUBLE()])]),
        ((1, ("x",)), Row(2.0)),
        "((1,(x)),+I[2.0])",
    ),
    (Types.ROW([Types.STRING(), Types.INT()]), Row(None, 1.5), "+I[None,1.5]"),
    (Types.ROW([Types.STRING()]), Row.of_kind(RowKind.UPDATE_BEFORE, "x"), "-U[x]"),
    (
        Types.ROW(
            [
                Types.ROW([Types.INT()]),
                Types.TUPLE([Types.INT(), Types.STRING()]),
                Types.MAP(Types.STRING(), Types.INT()),
            ]
        ),
        Row(Row(1), (2, "x"), {"k": 1}),
        "+I[<Row(1)>,(2, 'x'),{'k': 1}]",
    ),
    (Types.LIST(Types.STRING()), ["a", "b"], "[a, b]"),
    (Types.LIST(Types.DOUBLE()), [1.0, 2.5e10], "[1.0, 2.5E10]"),
    (Types.LIST(Types.BYTE()), b"ab", "[97, 98]"),
    (MAP_D, {"b": 1.0, "a": 2.0, "c": None}, "{a=2.0, b=1.0, c=null}"),
    (MAP_D, {}, "{}"),
    (
        MAP_D,
        {"zeta": 1.0, "alpha": 2.0, "beta": 3.0, "omega": 4.0, "gamma": 5.0},
        "{zeta=1.0, beta=3.0, omega=4.0, gamma=5.0, alpha=2.0}",
    ),
    (
        Types.MAP(Types.LONG(), Types.STRING()),
        {5: "a", 3: "b", 17: "c", 2**40: "d", -1: "z"},
        "{1099511627776=d, -1=z, 17=c, 3=b, 5=a}",
    ),
    (
        Types.MAP(Types.STRING(), Types.LIST(Types.ROW([Types.INT()]))),
        {"a": [Row(1)]},
        "{a=[+I[1]]}",
    ),
    (None, (1, "a"), "(1, 'a')"),
    (Types.PICKLED_BYTE_ARRAY(), None, "None"),
    (Types.PICKLED_BYTE_ARRAY(), Row(a=1), "Row(a=1)"),
    (Types.PICKLED_BYTE_ARRAY(), "s", "s"),
]


@pytest.mark.parametrize(("type_info", "value", "text"), PRINTED)
def test_printed(type_info, value, text):
    assert formatter(type_info)(value) == text
