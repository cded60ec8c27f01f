"""Texts of many times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from firesteel.sql import date_patterns
from firesteel.sql.date_patterns import format_column, pattern


@pytest.mark.parametrize("unit", [1_000, 1_000_000])
@pytest.mark.parametrize("text", ["yyyy-MM-dd", "yy", "HH", "HH:mm", "hh 'Uhr'", "mm:ss", "ss.SSS", "'x'"])
def test_times_of_one_text_are_formatted_once_and_as_each(
    monkeypatch: pytest.MonkeyPatch, text: str, unit: int
) -> None:
    """Broken by hand: hours were taken for days; times before 1970 for 1970."""
    start = np.array([-86_400 * 3, 1_700_000_000])[:, None]
    local = ((start + np.arange(0, 90_000, 7)) * unit + 5).ravel()
    pieces = [local[: len(local) // 2], local[len(local) // 2 :], local]
    lengths: list[int] = []
    fixed_width = date_patterns.fixed_width

    def counted(parts: Any, length: int) -> Any:
        lengths.append(length)
        return fixed_width(parts, length)

    monkeypatch.setattr(date_patterns, "fixed_width", counted)
    once = [format_column(pattern(text), piece, unit).to_pylist() for piece in pieces]
    if text in ("yyyy-MM-dd", "yy", "HH", "HH:mm", "hh 'Uhr'"):
        assert max(lengths[:2]) < 2000
    monkeypatch.setattr(date_patterns, "_OFTEN", 1 << 40)
    assert once == [format_column(pattern(text), piece, unit).to_pylist() for piece in pieces]
