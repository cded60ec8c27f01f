"""The layers of ARCHITECTURE.md, kept by import-linter, and what must not be loaded with a package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import patience

ROOT = Path(__file__).parent.parent


@pytest.mark.row("S-TEST-06", "S-LIB-01", "S-SQL-36")
def test_import_linter_keeps_the_layers() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=patience(120)
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.row("S-SQL-36")
@pytest.mark.parametrize(
    ("package", "absent"),
    [
        ("common", ("pyarrow", "pyspark", "pandas", "numpy")),
        ("datastream", ("pyspark", "pandas")),
        ("connectors", ("pyspark", "pandas")),
        ("graph", ("pyspark", "pandas")),
        ("runtime", ("pyspark", "pandas")),
        ("state", ("pyspark", "pandas")),
        ("cli", ("pyspark", "pyarrow")),
        ("testing", ("pyspark", "pandas")),
        (
            "sql.parser.statement_parser",
            ("pyspark", "pyarrow", "firesteel.sql.binder", "firesteel.sql.planner"),
        ),
    ],
)
def test_importing_a_package_does_not_load(package: str, absent: tuple[str, ...]) -> None:
    code = f"import sys, firesteel.{package}; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=patience(60))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
