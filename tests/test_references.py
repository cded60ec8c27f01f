"""What is written here refers to nothing that is not here: a row of the feature table stands in marks, which
docs/design/coverage.md explains; everything else says what it means."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The tables of rows themselves, what makes them, and the tests of both.
TABLES = {
    "docs/design/coverage.md",
    "docs/design/rows.tsv",
    "docs/make_coverage.py",
    "tests/test_coverage_table.py",
    "tests/test_references.py",
}
FILES = sorted(
    path
    for place, kind in (("src", "py"), ("tests", "py"), ("docs", "md"), ("docs", "py"), ("examples", "py"))
    for path in (ROOT / place).rglob(f"*.{kind}")
    if str(path.relative_to(ROOT)) not in TABLES
) + sorted(ROOT.glob("*.md"))
MARK = re.compile(r"\brow\(\s*(?:\"[A-Z0-9-]+\",?\s*)+\)")
REFERENCE = re.compile(
    r"\bS-[A-Z]{2,7}(?:-\d+)?\b"  # a row of the feature table
    r"|\bCS-\d+\b|\b[TX]\d{2}\b|\bX\d\b"  # a case study, a trap
    r"|\bfeatures (?:[TX]\d+|S-[A-Z]+|CS-)"
    r"|\b[Dd]esign,? sections?"
    r"|\btest_\w*?_(?:[tx]\d{1,2}|cs\d{2})(?:_|\b)"  # the same in the name of a test
)
INVARIANT = re.compile(r"\binvariants? I[1-6]\b|\(I[1-6](?:, I[1-6])*\)")


def references(text: str) -> list[str]:
    text = MARK.sub("", text)
    return REFERENCE.findall(text) + INVARIANT.findall(text)


def test_what_counts_as_a_reference() -> None:
    assert references('@pytest.mark.row("S-WIN-05", "T07")\ndef test() -> None: ...') == []
    assert references("A window fires once (T12), see S-WIN-05.") == ["T12", "S-WIN-05"]
    assert references("Nothing of it counts (I2); design, section 4.") == ["design, section", "(I2)"]
    assert references("Design section 6 says so.") == ["Design section"]
    assert references("def test_the_table_of_t01_by_splits") == ["test_the_table_of_t01_"]
    assert references("def test_texts_of_64_bits_at_t_0: int64, x1") == []
    assert references("UTF-16, FLIP-27, 10T00:00, S-expressions") == []


def test_nothing_refers_to_what_is_not_here() -> None:
    found = {str(path.relative_to(ROOT)): references(path.read_text()) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}
