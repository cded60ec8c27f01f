"""``docs/design/coverage.md`` says of every row which test proves it, and what it says is current."""

from __future__ import annotations

from collections import Counter

import pytest

from docs.make_coverage import AREAS, PAGE, STATUSES, marks_in, page, read_marks, read_rows

ROWS = read_rows()
MARKS = read_marks()


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run docs/make_coverage.py"


def test_each_row_is_there_once() -> None:
    assert [row for row, times in Counter(row.id for row in ROWS).items() if times > 1] == []
    assert {row.area for row in ROWS} == set(AREAS)
    assert [row.id for row in ROWS if not row.words] == []
    assert len(ROWS) == 682


def test_marks_name_rows_that_there_are() -> None:
    known = {row.id for row in ROWS}
    assert [f"{mark.row}: {mark}" for mark in MARKS if mark.row not in known] == []


def test_a_row_has_a_test_or_a_status() -> None:
    proved = {mark.row for mark in MARKS}
    assert [row.id for row in ROWS if row.id not in proved and not row.status] == []
    assert [row.id for row in ROWS if row.status and row.kind not in STATUSES] == []


def test_what_has_no_test_names_none() -> None:
    proved = {mark.row for mark in MARKS}
    kinds = ("missing", "works, unproven", "not judged", "context")
    assert [row.id for row in ROWS if row.id in proved and row.kind in kinds] == []


def test_a_status_says_why() -> None:
    with_reasons = ("partial", "missing", "refused")
    assert [row.id for row in ROWS if row.kind in with_reasons and not row.status.partition(": ")[2]] == []


def test_where_a_mark_may_stand() -> None:
    source = """\
pytestmark = [pytest.mark.spark, pytest.mark.row("A")]
TestContract = pytest.mark.row("B")(contract())

@pytest.mark.row("C", "D")
class TestClass:
    @pytest.mark.row("E")
    def test_method(self): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.row("F"))])
@pytest.mark.row("G")
def test_function(x): ...
"""
    assert set(marks_in(source, "x.py")) == {
        ("A", ""),
        ("B", "TestContract"),
        ("C", "TestClass"),
        ("D", "TestClass"),
        ("E", "TestClass.test_method"),
        ("F", "test_function"),
        ("G", "test_function"),
    }
    with pytest.raises(ValueError, match=r"x\.py:2: a row's mark must be on a test"):
        list(marks_in('@pytest.mark.row("A")\ndef helper(): ...\n', "x.py"))
