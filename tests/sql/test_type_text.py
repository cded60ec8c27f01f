"""Text to data type: every spelling, and what is said of those that are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import types as t
from firesteel.sql.type_text import TypeTextError, parse_type

SPELLINGS = {
    "CHAR": "CHAR(1)",
    "CHARACTER(3)": "CHAR(3)",
    "CHAR VARYING(5)": "VARCHAR(5)",
    "CHARACTER VARYING": "STRING",
    "VARCHAR": "STRING",
    "VARCHAR(2147483647)": "STRING",
    "string not null": "STRING NOT NULL",
    "BINARY VARYING(3)": "VARBINARY(3)",
    "BINARY(2)": "BINARY(2)",
    "BYTES": "BYTES",
    "DEC": "DECIMAL(10, 0)",
    "NUMERIC(5)": "DECIMAL(5, 0)",
    "DECIMAL(10,2) NOT NULL": "DECIMAL(10, 2) NOT NULL",
    "INTEGER": "INT",
    "DOUBLE PRECISION": "DOUBLE",
    "TIME WITHOUT TIME ZONE": "TIME(0)",
    "TIMESTAMP": "TIMESTAMP(6)",
    "TIMESTAMP(3) WITHOUT TIME ZONE": "TIMESTAMP(3)",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": "TIMESTAMP_LTZ(3)",
    "TIMESTAMP_LTZ(9)": "TIMESTAMP_LTZ(9)",
    "INTERVAL YEAR(4) TO MONTH": "INTERVAL YEAR(4) TO MONTH",
    "INTERVAL DAY(3) TO SECOND(3)": "INTERVAL DAY(3) TO SECOND(3)",
    "INTERVAL SECOND(3)": "INTERVAL SECOND(3)",
    "INT ARRAY": "ARRAY<INT>",
    "INT NOT NULL ARRAY NOT NULL MULTISET": "MULTISET<ARRAY<INT NOT NULL> NOT NULL>",
    "MAP<STRING, ARRAY<ROW<a INT>>>": "MAP<STRING, ARRAY<ROW<`a` INT>>>",
    "ROW(a INT NOT NULL, `b c` STRING 'it''s')": "ROW<`a` INT NOT NULL, `b c` STRING 'it's'>",
    "ROW<>": "ROW<>",
    "MULTISET<INT>": "MULTISET<INT>",
    "VARIANT": "VARIANT",
    "BITMAP NOT NULL": "BITMAP NOT NULL",
    "INT NULL": "INT",
    "NULL": "NULL",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_is_read(text: str) -> None:
    assert str(parse_type(text)) == SPELLINGS[text]


WRONG = {
    "INTT": (0, "INT"),
    "ARRAY<INT": (9, None),
    "DECIMAL(40, 2)": (0, None),
    "DECIMAL(5, 6)": (0, None),
    "MAP<STRING>": (10, None),
    "ROW<a INT, a INT>": (11, None),
    "INT)": (3, None),
    "TIMESTAMP(10)": (0, None),
    "INTERVAL MONTH TO DAY": (15, None),
    "INT %": (4, None),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_place(text: str) -> None:
    position, near = WRONG[text]
    with pytest.raises(TypeTextError) as caught:
        parse_type(text)
    assert caught.value.position == position
    assert f"column {position + 1}" in str(caught.value)
    assert near is None or near in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["RAW('java.lang.Object', 'x')", "TIMESTAMP WITH TIME ZONE"])
def test_types_that_are_not_there_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        parse_type(text)


_LEAVES = st.sampled_from(
    [
        t.IntType(),
        t.DecimalType(precision=20, scale=3),
        t.VarCharType(length=7),
        t.CharType(length=2),
        t.TimestampType(precision=3),
        t.LocalZonedTimestampType(precision=9),
        t.DayTimeIntervalType(resolution="HOUR_TO_SECOND"),
        t.YearMonthIntervalType(),
        t.BooleanType(),
        t.VarBinaryType(),
    ]
)


def _nested(inner: st.SearchStrategy[t.DataType]) -> st.SearchStrategy[t.DataType]:
    nullable = st.booleans()
    return st.one_of(
        st.builds(lambda e, n: t.ArrayType(element_type=e, nullable=n), inner, nullable),
        st.builds(lambda k, v: t.MapType(key_type=k, value_type=v), inner, inner),
        st.builds(lambda a, b: t.RowType(fields=(t.RowField("a", a), t.RowField("b`c", b))), inner, inner),
    )


@given(st.recursive(_LEAVES, _nested, max_leaves=6))
def test_the_text_of_a_type_means_the_type(data_type: t.DataType) -> None:
    assert parse_type(str(data_type).replace("`b`c`", "`b``c`")) == data_type
