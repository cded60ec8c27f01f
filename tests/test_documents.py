"""What documents say of the code's layout is so: packages and modules that they name are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/firesteel"
PLACES = ("src", "tests", "docs", "examples", "benchmarks", "scripts", "deploy")
GENERATED = {"coverage.md", "odd-inputs.md"}
WORD = re.compile(r"``?([\w-]+(?:/[\w-]+)+\.py)``?")  # a module with a package before it


def files() -> str:
    """All files, each in a line of its own that begins with a slash."""
    found = (path for place in PLACES for path in (ROOT / place).rglob("*.py"))
    return "".join(f"\n/{path.relative_to(ROOT)}" for path in found) + "\n"


def test_every_package_is_in_the_map_of_the_architecture() -> None:
    names = re.findall(r"^\| (`.+`) \| .+ \|$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    named = {name for cell in names for name in re.findall(r"`([\w/]+(?:\.py)?)`", cell)}
    packages = {f"{path.name}/" for path in SOURCE.iterdir() if any(path.glob("*.py"))}
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "version.py"}
    assert named == packages | modules


def test_modules_that_are_named_are_there() -> None:
    there = files()
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.py")]
    missing = {
        f"{page.relative_to(ROOT)}: {name}"
        for page in pages
        if page.name not in GENERATED
        for name in WORD.findall(page.read_text(encoding="utf-8"))
        if f"/{name}\n" not in there
    }
    assert missing == set()
