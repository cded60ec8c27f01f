"""The examples of docs/testing.md are a test suite of a user's; it is run as such."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
ON_SPARK = "test_on_spark.py"


def write_examples(folder: Path) -> list[str]:
    """Each block of code begins with the name of the file that it is."""
    names = []
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        name = re.fullmatch(r"# (\w+\.py)", block.partition("\n")[0])
        assert name is not None, f"an example without the name of its file: {block[:60]!r}"
        (folder / name[1]).write_text(block, encoding="utf-8")
        names.append(name[1])
    assert len(names) == len(set(names))
    return names


def run_pytest(folder: Path, *names: str) -> None:
    """As in a project without any setting, but warnings are errors."""
    options = ["-q", "-W", "error", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=150"]
    command = [sys.executable, "-m", "pytest", *options, *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_without_spark(tmp_path: Path) -> None:
    names = [name for name in write_examples(tmp_path) if name.startswith("test_") and name != ON_SPARK]
    assert len(names) >= 8
    run_pytest(tmp_path, *names)


@pytest.mark.spark
def test_the_example_on_spark(tmp_path: Path) -> None:
    assert ON_SPARK in write_examples(tmp_path)
    run_pytest(tmp_path, ON_SPARK)
