"""The tables of the documentation that are made from the code are current."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.make_tables import pages, with_tables


def test_there_are_some() -> None:
    assert "state.md" in [page.name for page in pages()]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_tables_are_current(page: Path) -> None:
    text = page.read_text()
    assert with_tables(text) == text, "run docs/make_tables.py"
