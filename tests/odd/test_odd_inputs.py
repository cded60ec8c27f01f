"""Odd inputs and programs give the exact result or a clear error, as it is written down."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from docs.make_odd_inputs import PAGE, page
from tests.runtime.support import local_platform

from .core import Case, Here, outcome_of, read_expected
from .tables import CASES

EXPECTED = read_expected()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_comes_of_it(case: Case, tmp_path: Path) -> None:
    with local_platform():
        assert outcome_of(case, Here(tmp_path)) == EXPECTED[case.area, case.name], "python -m tests.odd"


def test_each_case_is_there_once() -> None:
    names = [(case.area, case.name) for case in CASES]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert set(names) == EXPECTED.keys()
    assert len(names) > 100


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run docs/make_odd_inputs.py"
