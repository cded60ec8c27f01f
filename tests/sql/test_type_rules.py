"""Common types, casts, comparisons and decimals, as Flink derives them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from firesteel.sql import type_rules as r, types as t
from firesteel.sql.type_text import parse_type

COMMON = {
    ("INT", "BIGINT"): "BIGINT",
    ("INT NOT NULL", "DECIMAL(8, 4) NOT NULL"): "DECIMAL(14, 4) NOT NULL",
    ("INT", "FLOAT"): "FLOAT",
    ("DECIMAL(5, 2)", "FLOAT"): "DOUBLE",
    ("FLOAT", "DOUBLE"): "DOUBLE",
    ("CHAR(3)", "CHAR(3)"): "CHAR(3)",
    ("CHAR(3)", "CHAR(5)"): "VARCHAR(5)",
    ("VARCHAR(3)", "STRING"): "STRING",
    ("DATE", "TIMESTAMP(3)"): "TIMESTAMP(3)",
    ("TIMESTAMP(3)", "TIMESTAMP_LTZ(6)"): "TIMESTAMP_LTZ(6)",
    ("NULL", "INT NOT NULL"): "INT",
    ("ARRAY<INT NOT NULL>", "ARRAY<BIGINT>"): "ARRAY<BIGINT>",
    ("MAP<STRING, INT>", "MAP<STRING, BIGINT>"): "MAP<STRING, BIGINT>",
    ("ROW<a INT>", "ROW<b BIGINT>"): "ROW<`a` BIGINT>",
    ("INTERVAL DAY", "INTERVAL SECOND(3)"): "INTERVAL DAY(2) TO SECOND(6)",
    ("INT", "STRING"): None,
    ("BOOLEAN", "INT"): None,
    ("ARRAY<INT>", "MAP<INT, INT>"): None,
    ("ROW<a INT>", "ROW<a INT, b INT>"): None,
}


@pytest.mark.parametrize("types", COMMON)
def test_types_have_a_common_type_or_none(types: tuple[str, str]) -> None:
    for order in (types, types[::-1]):
        found = r.common_type([parse_type(x) for x in order])
        expected = COMMON[types]
        if expected is not None and expected.startswith("ROW"):
            assert found is not None
            assert [str(d) for d in found.children] == ["BIGINT"]
        else:
            assert (None if found is None else str(found)) == expected


IMPLICIT = [("INT", "BIGINT", True), ("BIGINT", "INT", False), ("INT", "STRING", False),
            ("CHAR(3)", "STRING", True), ("STRING", "CHAR(3)", False), ("TIMESTAMP(3)", "DATE", True),
            ("DATE", "TIMESTAMP(3)", False), ("DECIMAL(5, 2)", "DOUBLE", True),
            ("DOUBLE", "FLOAT", False), ("INT", "INT NOT NULL", False), ("NULL", "INT", True),
            ("ARRAY<INT>", "ARRAY<BIGINT>", True), ("ROW<a INT>", "ROW<b BIGINT>", True)]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "allowed"), IMPLICIT)
def test_implicit_casts(source: str, target: str, allowed: bool) -> None:
    assert r.implicitly_castable(parse_type(source), parse_type(target)) is allowed


EXPLICIT = [("INT", "TIMESTAMP(3)", False), ("TIMESTAMP(3)", "BIGINT", False), ("BIGINT", "TINYINT", True),
            ("STRING", "DATE", True), ("DATE", "INT", False), ("BOOLEAN", "INT", True),
            ("BYTES", "STRING", True), ("INT", "BYTES", False), ("ARRAY<INT>", "STRING", True),
            ("ARRAY<STRING>", "ARRAY<INT>", True), ("ROW<a INT>", "ROW<a INT, b INT>", False),
            ("MAP<INT, INT>", "MAP<STRING, STRING>", True), ("STRING", "ARRAY<INT>", False),
            ("INT", "INTERVAL DAY", True), ("INTERVAL DAY", "INT", False), ("STRING", "BITMAP", False),
            ("TIME(0)", "DATE", False), ("TIME(0)", "TIMESTAMP(3)", True)]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "allowed"), EXPLICIT)
def test_explicit_casts(source: str, target: str, allowed: bool) -> None:
    assert r.explicitly_castable(parse_type(source), parse_type(target)) is allowed


def _decimals() -> st.SearchStrategy[t.DecimalType]:
    return st.integers(1, 38).flatmap(
        lambda p: st.builds(lambda s: t.DecimalType(precision=p, scale=s), st.integers(0, p))
    )


@given(_decimals(), _decimals())
def test_derived_decimals_are_types(a: t.DecimalType, b: t.DecimalType) -> None:
    for derive in (r.decimal_plus, r.decimal_times, r.decimal_divide, r.decimal_modulo):
        made = derive(a, b)
        assert 1 <= max(made.precision, 1) <= 38
        assert 0 <= made.scale <= max(made.precision, 1)


def test_comparisons_are_of_the_same_family() -> None:
    date, timestamp, time = parse_type("DATE"), parse_type("TIMESTAMP(3)"), parse_type("TIME(0)")
    assert r.comparable(timestamp, parse_type("TIMESTAMP_LTZ(3)"), equality=True)
    assert not r.comparable(date, time, equality=True)
    assert not r.comparable(parse_type("ARRAY<INT>"), parse_type("ARRAY<INT>"), equality=False)
    assert r.comparable(parse_type("ARRAY<INT>"), parse_type("ARRAY<BIGINT>"), equality=True)
