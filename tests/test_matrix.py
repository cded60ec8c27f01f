"""The table of versions: what ``scripts/matrix`` writes, and whether it says what the project promises."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "matrix"
PAGE = ROOT / "docs" / "design" / "versions.md"


@pytest.fixture(scope="module")
def matrix() -> ModuleType:
    loader = SourceFileLoader("matrix", str(SCRIPT))
    spec = spec_from_loader("matrix", loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules["matrix"] = module  # dataclasses look there
    loader.exec_module(module)
    return module


def row(python: str, java: str, outcome: str) -> str:
    return f"| {python} | 4.3.0 | {java} | Linux x86_64 | `tests` | {outcome} | 3 | 2026-01-01 |"


def test_rows_of_other_combinations_stay(matrix: ModuleType) -> None:
    old = matrix.HEAD + "\n".join([row("3.12.1", "17.0.9", "7 passed"), row("3.9.1", "17.0.9", "6 passed")])
    page = matrix.merged(old, [row("3.12.4", "17.0.10", "8 passed"), row("3.12.4", "25", "1 failed")])
    rows = [line for line in page.splitlines() if line.startswith("| 3")]
    assert rows == [
        row("3.9.1", "17.0.9", "6 passed"),
        row("3.12.4", "17.0.10", "8 passed"),
        row("3.12.4", "25", "1 failed"),
    ]
    assert matrix.merged(page, []) == page


def test_what_is_not_on_a_machine_does_not_replace_what_has_been_run(matrix: ModuleType) -> None:
    missing = row("3.12", "17", "not run: this Python is not on the machine")
    page = matrix.merged("", [missing])
    assert missing in page
    page = matrix.merged(page, [row("3.12.4", "17.0.10", "8 passed")])
    assert missing not in page
    assert matrix.merged(page, [missing]) == page
    failed = row("3.12", "17", "not installed: pip has ended with an error")
    assert missing in matrix.merged(matrix.merged("", [failed]), [missing]), "it says nothing of the machine"


def test_a_python_that_is_not_there_is_written_down(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    words = ["--pythons", "2.99", "--javas", "17", "--page", str(page), "tests"]
    command = [sys.executable, str(SCRIPT), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| 2.99 | 4.3 | 17 |" in page.read_text()
    assert "not run: this Python is not on the machine" in page.read_text()


@pytest.mark.row("S-TEST-07")
def test_the_page_is_what_the_script_writes(matrix: ModuleType) -> None:
    page = PAGE.read_text()
    assert re.search(r"^\| 3\.\d+\.\d+ \| 4\.3\.\d+ \| \d+.*\d+ passed", page, re.MULTILINE), "none was run"
    assert matrix.merged(page, []) == page
