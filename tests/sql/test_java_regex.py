"""Regular expressions of Java: what is written in another way in Python, and what Arrow may match."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from firesteel.sql.java_regex import compile_java, for_arrow, group_for_arrow, is_valid
from tests.sql.functions.evaluating import Row, bind, text

MATCHES = [
    (r"(?<year>\d{4})-\k<year>", "2024-2024", True),
    (r"\Qa.b\E+", "a.bb", True),
    (r"\Qa.b\E", "axb", False),
    (r"\p{Lower}+", "abc", True),
    (r"[\p{Upper}\d]+", "AB12", True),
    (r"\P{Digit}+", "a1", False),
    (r"\p{L}+", "äöü", True),
    (r"[a-z&&[^b-y]]+", "az", True),
    (r"[a-z&&[^b-y]]+", "ab", False),
    (r"[a[0-9]]+", "a1", True),
    (r"a++b", "aab", True),
    (r"\w+", "ä", False),
    (r"abc$", "abc\n", False),
    (r"\h+", " \t", True),
]


@pytest.mark.parametrize(("pattern", "subject", "whole"), MATCHES)
def test_java_constructs_mean_what_they_mean_there(pattern: str, subject: str, whole: bool) -> None:
    assert (compile_java(pattern).fullmatch(subject) is not None) is whole


def test_the_end_of_a_line_at_the_end_does_not_count() -> None:
    assert compile_java("abc$").search("abc\n") is not None
    assert compile_java("abc$").search("abc\nd") is None


def test_what_is_no_expression_is_known() -> None:
    assert not is_valid("(")
    with pytest.raises(re.error):
        compile_java("[a")


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("a.c", True),
        (r"\d+-(x|y)", True),
        ("a$", False),
        (r"\bword\b", False),
        ("a++", False),
        ("(?i)a", False),
    ],
)
def test_arrow_matches_plain_expressions_only(pattern: str, plain: bool) -> None:
    assert for_arrow(pattern) is plain


GROUPS = [
    ("(&|^)channel_id=([^&]*)", 2, "&channel_id=12&x", "12"),
    ("foo(.*?)(bar)", 1, "foothebar", "the"),
    ("a(b)(c)", 0, "xabcx", "abc"),
    (r"\((a)", 1, "(a", "a"),
]


@pytest.mark.parametrize(("pattern", "index", "subject", "group"), GROUPS)
def test_groups_are_taken_by_arrow_too(pattern: str, index: int, subject: str, group: str) -> None:
    named = group_for_arrow(pattern, index)
    assert named is not None
    found = pc.struct_field(pc.extract_regex(pa.array([subject, "none"]), named), 0)
    assert found.to_pylist() == [group, None]
    match = compile_java(pattern).search(subject)
    assert match is not None
    assert match[index] == group


@pytest.mark.parametrize(("pattern", "index"), [("(a)|(b)", 1), ("(a)?b", 1), ("(a)*", 1), ("a(b)", 2)])
def test_groups_that_may_not_take_part_are_python_s(pattern: str, index: int) -> None:
    assert group_for_arrow(pattern, index) is None


CALLS = [
    "REGEXP({}, 'o+')",
    "REGEXP_REPLACE({}, 'o+', '$1')",
    "REGEXP_EXTRACT({}, 'foo(.*)bar', 1)",
    "{} LIKE 'foo%'",
    "{} LIKE '%o_h%'",
    "{} LIKE '%ö%'",
    "SPLIT_INDEX({}, 'o', 1)",
]


def test_functions_give_the_same_for_a_column_and_for_a_value() -> None:
    subjects = ["foothebar", "foobar", "bar", "", None, "föö\nbar"]
    row = Row(["s"], [bind("CAST(NULL AS STRING)").type], [pa.nulls(1, pa.string())])
    for call in CALLS:
        for subject in subjects:
            row.columns = [pa.array([subject], pa.string())]
            literal = "CAST(NULL AS STRING)" if subject is None else f"'{subject}'"
            assert text(call.format("s"), row) == text(call.format(literal)), (call, subject)
