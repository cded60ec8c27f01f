"""The bars of ``make coverage``."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/coverage-report"))


def test_bars_are_of_packages(script: dict[str, Any]) -> None:
    packages = {path.parent.name for path in (ROOT / "src/firesteel").glob("*/__init__.py")}
    assert set(script["BARS"]) <= packages | {"all"}


@pytest.mark.row("S-TEST-01")
def test_a_package_below_its_bar_is_an_error(
    script: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    enough = {part: float(bar) for part, bar in script["BARS"].items()} | {"spark": 0.0}
    script["report"](enough)
    assert "state             94.0 %, at least 94" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="below the bar: state"):
        script["report"](enough | {"state": 93.9})
