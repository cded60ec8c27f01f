"""What a user has who installs the wheel into an empty environment: the first program of the README runs.

The development environment cannot show it: its tools bring packages that the wheel might fail to ask for.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.spark


def run(directory: Path, *command: str | Path) -> str:
    """The standard output of a command that sees neither this repository nor this environment."""
    hidden = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "VIRTUAL_ENV")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(word) for word in command], cwd=directory, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    assert "FutureWarning" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that holds the wheel and what it asks for.

    pip keeps the wheel that it has built of PySpark, so that after ``make setup`` this takes half a minute.
    """
    directory = tmp_path_factory.mktemp("wheel")
    run(directory, sys.executable, "-m", "venv", "--without-pip", "environment")
    pip = (sys.executable, "-m", "pip", "--python", directory / "environment", "--quiet")
    run(directory, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ROOT)
    (wheel,) = (directory / "dist").glob("firesteel-*.whl")
    run(directory, *pip, "install", "--no-compile", wheel)
    return directory / "environment" / "bin"


def test_the_first_program_runs(installed: Path, tmp_path: Path) -> None:
    found = re.search(r"## A first program\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "count.py").write_text(found[1])
    for command in ((installed / "firesteel", "run", "count.py"), (installed / "python", "count.py")):
        words = {line.partition("> ")[2] for line in run(tmp_path, *command).splitlines()}
        assert {"('a', 1)", "('a', 2)", "('a', 3)", "('steel', 1)", "('spark', 1)"} <= words


def test_doctor_finds_nothing_missing(installed: Path, tmp_path: Path) -> None:
    said = run(tmp_path, installed / "firesteel", "doctor")
    assert "packages that Firesteel needs are installed" in said
    assert "FAIL" not in said
