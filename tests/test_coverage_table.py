"""What ``docs/design/coverage.md`` names is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/design/coverage.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| (S-|T\d|X\d)", line)
]


@cache
def names_in(file: str) -> set[str]:
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    return {
        next(filter(None, names))
        for names in re.findall(r"^(?:def (test_\w+)|(Test\w+) =|class (Test\w+)\()", text, re.MULTILINE)
    }


@pytest.mark.parametrize(("row", "module", "proofs"), ROWS, ids=[row[0] for row in ROWS])
def test_modules_and_tests_of_a_row_exist(row: str, module: str, proofs: str) -> None:
    modules = re.findall(r"`([^`]+)`", module)
    assert modules
    assert [m for m in modules if not (ROOT / "src/firesteel" / m).is_file()] == []
    assert "test_" in proofs or "Test" in proofs
    for file, name in re.findall(r"`([\w/]+\.py)` (\w+)", proofs):
        assert name in names_in(file), f"{row}: {file} has no {name}"


def test_each_row_is_there_once() -> None:
    names = [row[0] for row in ROWS]
    assert len(names) > 150
    assert len(names) == len(set(names))
