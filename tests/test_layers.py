"""The layers of ARCHITECTURE.md, kept by import-linter, what must not be loaded with a package, and what of
Spark must not be used."""

from __future__ import annotations

import ast
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


def continuous_triggers(source: str) -> list[int]:
    """The lines that ask for Spark's continuous processing: ``trigger(continuous=...)``, also by a name in a
    dictionary of arguments, and ``Trigger.Continuous`` of the JVM."""
    found: set[int] = set()
    if "ontinuous" not in source:  # to parse all modules takes seconds
        return []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.keyword(arg="continuous") | ast.Attribute(attr="Continuous"):
                found.add(node.lineno)
            case ast.Constant(value=str(text)) if text == "continuous" or "Trigger.Continuous" in text:
                found.add(node.lineno)
    return sorted(found)


@pytest.mark.row("S-SPARK-03")
def test_continuous_processing_of_spark_is_not_used() -> None:
    """It is experimental, at least once, and has no operators with state."""
    files = sorted((ROOT / "src" / "firesteel").rglob("*.py"))
    assert any("spark" in file.parts for file in files)
    found = {str(file.relative_to(ROOT)): continuous_triggers(file.read_text()) for file in files}
    assert {file: lines for file, lines in found.items() if lines} == {}


def test_continuous_triggers_are_found() -> None:
    lines = (
        'stream.trigger(continuous="1 second")',
        'stream.trigger(**{"continuous": "1 second"})',
        "stream.trigger(jvm.org.apache.spark.sql.streaming.Trigger.Continuous(1000))",
        'getattr(jvm, "org.apache.spark.sql.streaming.Trigger.Continuous")(1000)',
        'stream.trigger(processingTime="1 second")',
        "windows.trigger(ContinuousEventTimeTrigger.of(1000))",
    )
    assert continuous_triggers("\n".join(lines)) == [1, 2, 3, 4]
