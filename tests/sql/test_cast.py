"""CAST on columns: what Flink gives, errors and TRY_CAST; whole columns give what single values give."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import ConfigurationError
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.cast import cast_column, check_cast_options
from firesteel.sql.evaluator import EvaluationContext, EvaluationError
from firesteel.sql.type_text import parse_type
from firesteel.sql.values import array_of, values_of
from tests.sql.functions.evaluating import text, value

STRING = t.VarCharType()

#: recorded from Flink 2.3
TEXTS = {
    "CAST('12:34' AS TIME)": "12:34:00",
    "CAST('1:2:3' AS TIME)": "01:02:03",
    "CAST('12:34:56.7' AS TIME(3))": "12:34:56.7",
    "CAST(' 12:34:56 ' AS TIME)": "12:34:56",
    "CAST('2020-1-1 1:2:3' AS TIMESTAMP(3))": "2020-01-01 01:02:03.000",
    "CAST('2020-02-30 10:00:00' AS TIMESTAMP(3))": "2020-02-29 10:00:00.000",
    "CAST('2020' AS DATE)": "2020-01-01",
    "CAST(' 2020-02-03 ' AS DATE)": "2020-02-03",
    "CAST('2020-02-03 10:00:00' AS DATE)": "2020-02-03",
    "CAST(' 12 ' AS INT)": "12",
    "CAST('12.9' AS INT)": "12",
    "CAST('+12' AS INT)": "12",
    "CAST(' 1.5d ' AS DOUBLE)": "1.5",
    "CAST(128 AS TINYINT)": "-128",
    "CAST(CAST(300.7 AS DOUBLE) AS TINYINT)": "44",
    "CAST(CAST(3e10 AS DOUBLE) AS INT)": "2147483647",
    "CAST(CAST(-1.7 AS DOUBLE) AS INT)": "-1",
    "CAST(CAST(3e10 AS DECIMAL(12,0)) AS INT)": "-64771072",
    "CAST(-1.5 AS DECIMAL(2,0))": "-2",
    "CAST(12345 AS DECIMAL(3,0))": "",
    "CAST(CAST(1.1 AS FLOAT) AS DECIMAL(10,5))": "1.10000",
    "CAST(CAST(0.0000001 AS DECIMAL(10,9)) AS STRING)": "0.000000100",
    "CAST('yes' AS BOOLEAN)": "TRUE",
    "CAST(0.0 AS BOOLEAN)": "FALSE",
    "CAST(TRUE AS DECIMAL(5,2))": "1.00",
    "CAST('abcdef' AS CHAR(3))": "abc",
    "CAST('ab' AS CHAR(4)) || 'x'": "ab  x",
    "CAST(12345 AS VARCHAR(3))": "123",
    "CAST(x'010203' AS BINARY(2))": "\x01\x02",
    "CAST('ab' AS BINARY(4))": "ab\x00\x00",
    "CAST(x'ff' AS STRING)": "�",
    "CAST(INTERVAL '1-2' YEAR TO MONTH AS STRING)": "+1-02",
    "CAST(INTERVAL '-1 02:03:04.5' DAY TO SECOND AS STRING)": "-1 02:03:04.500",
    "CAST(5 AS INTERVAL DAY)": "+5 00:00:00.000",
    "CAST(ARRAY[1,NULL,3] AS ARRAY<STRING>)": "[1, NULL, 3]",
    "CAST(MAP['a',1] AS MAP<STRING,DOUBLE>)": "{a=1.0}",
    "CAST(ROW(CAST(1.5 AS DOUBLE),CAST(NULL AS INT)) AS STRING)": "(1.5, NULL)",
    "CAST(TIMESTAMP '2020-01-01 10:00:00.999' AS TIMESTAMP(0))": "2020-01-01 10:00:00",
    "TRY_CAST(12345 AS DECIMAL(3,0))": None,
    "TRY_CAST('abc' AS INT)": None,
    "TRY_CAST(ARRAY['1', 'x'] AS ARRAY<INT>)": None,
    "TRY_CAST(MAP['x', 1] AS MAP<INT, INT>)": None,
}


@pytest.mark.parametrize("sql", TEXTS)
def test_casts_give_what_flink_gives(sql: str) -> None:
    assert text(sql) == TEXTS[sql]


FAILING = [
    "CAST('25:00:00' AS TIME)",
    "CAST('2020-01-01T10:00:00' AS TIMESTAMP(3))",
    "CAST('2020-01-01 10:00' AS TIMESTAMP(3))",
    "CAST('2020-01-01 10:00:00Z' AS TIMESTAMP_LTZ(3))",
    "CAST('2020-02-30' AS DATE)",
    "CAST('' AS INT)",
    "CAST('1e3' AS INT)",
    "CAST('128' AS TINYINT)",
    "CAST(' TRUE ' AS BOOLEAN)",
    "CAST('123' AS DECIMAL(2, 0))",
]


@pytest.mark.parametrize("sql", FAILING)
def test_what_cannot_be_cast_fails_or_is_null(sql: str) -> None:
    with pytest.raises(EvaluationError):
        value(sql)
    assert value(f"TRY_{sql}") is None


def test_timestamps_with_local_time_zone_follow_the_session() -> None:
    shanghai = EvaluationContext(time_zone="Asia/Shanghai")
    assert value("CAST(TIMESTAMP '1970-01-01 08:00:00' AS TIMESTAMP_LTZ(3))", context=shanghai) == 0
    assert text("CAST(TO_TIMESTAMP_LTZ(0, 3) AS TIMESTAMP(3))", context=shanghai) == "1970-01-01 08:00:00.000"
    assert value("CAST('1970-01-01 08:00:00' AS TIMESTAMP_LTZ(3))", context=shanghai) == 0
    assert text("CAST(TO_TIMESTAMP_LTZ(0, 3) AS DATE)", context=shanghai) == "1970-01-01"


def test_flinks_old_casts_are_refused() -> None:
    check_cast_options("DISABLED")
    with pytest.raises(ConfigurationError, match="legacy"):
        check_cast_options("ENABLED")


NUMBERS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(38, 10)"]
_KINDS = st.sampled_from(NUMBERS)
_INTS = st.one_of(st.integers(-300, 300), st.sampled_from([2**31, -(2**31), 2**63 - 1, -(2**63)]))


@settings(max_examples=60, deadline=None)
@given(_KINDS, _KINDS, st.lists(_INTS, min_size=1, max_size=80), st.data())
def test_a_column_is_cast_as_its_values_are(
    source: str, target: str, numbers: list[int], data: st.DataObject
) -> None:
    kind, wanted = parse_type(source), parse_type(target)
    columns = cast_column(pa.array(numbers, pa.int64()), t.BigIntType(), kind, "UTC")
    columns = pa.concat_arrays([columns, pa.nulls(1, columns.type)])
    start = data.draw(st.integers(0, len(columns) - 1))
    columns = columns.slice(start)
    whole = cast_column(columns, kind, wanted, "UTC")
    assert whole.type == arrow_type(wanted)
    single = [cast_column(columns.slice(i, 1), kind, wanted, "UTC")[0].as_py() for i in range(len(columns))]
    assert whole.to_pylist() == single


_DECIMALS = st.integers(-(10**18), 10**18).map(lambda n: Decimal(n).scaleb(-6))


@settings(max_examples=50, deadline=None)
@given(st.lists(_DECIMALS, max_size=10), st.integers(1, 20), st.integers(0, 8))
def test_decimals_are_rounded_half_up_or_null(numbers: list[Decimal], precision: int, scale: int) -> None:
    scale = min(scale, precision)
    source, target = t.DecimalType(precision=38, scale=6), t.DecimalType(precision=precision, scale=scale)
    found = cast_column(array_of(numbers, source), source, target, "UTC").to_pylist()
    limit = Decimal(10) ** (precision - scale)
    for number, made in zip(numbers, found, strict=True):
        rounded = number.quantize(Decimal(1).scaleb(-scale), rounding="ROUND_HALF_UP")
        assert made == (rounded if abs(rounded) < limit else None)


TEXTUAL = {
    "INT": ["1", "-7", "2147483647"],
    "DOUBLE": ["1.5", "-0.25", "100"],
    "DATE": ["2020-02-29", "1900-01-01", "9999-12-31"],
    "TIMESTAMP(3)": ["2020-02-29 12:34:56", "1969-12-31 23:59:59.999", "2020-02-29 12:34:56.7"],
    "TIMESTAMP(9)": ["2020-02-29 12:34:56.123456789"],
    "TIMESTAMP_LTZ(3)": ["2020-02-29 12:34:56.5"],
}


@pytest.mark.parametrize("target", TEXTUAL)
def test_many_texts_are_read_as_few_are(target: str) -> None:
    kind = parse_type(target)
    texts: list[Any] = [*TEXTUAL[target], None] * 60
    many = cast_column(pa.array(texts, pa.string()), STRING, kind, "Europe/Berlin")
    few = [
        values_of(cast_column(pa.array([x], pa.string()), STRING, kind, "Europe/Berlin"), kind)[0]
        for x in [*TEXTUAL[target], None]
    ]
    assert values_of(many, kind) == few * 60


_INSTANTS = st.integers(-62_135_596_800_000, 253_402_300_799_999)


@settings(max_examples=50, deadline=None)
@given(st.lists(_INSTANTS, max_size=5), st.sampled_from([0, 1, 3]))
def test_the_text_of_a_timestamp_means_the_timestamp(millis: list[int], precision: int) -> None:
    kind = t.TimestampType(precision=precision)
    step = 10 ** (3 - precision)
    values = [m // step * step for m in millis]
    texts = cast_column(array_of(values, kind), kind, STRING, "UTC")
    assert values_of(cast_column(texts, STRING, kind, "UTC"), kind) == values
