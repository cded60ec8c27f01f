"""Write down what comes of the cases now: ``python -m tests.odd [WORD...]``. Then read the difference."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.runtime.support import local_platform

from .core import EXPECTED, Here, outcome_of, read_expected
from .tables import CASES


def main(words: list[str]) -> None:
    """Run the cases with one of the words in their ids, or all of them."""
    known = read_expected() if EXPECTED.exists() else {}
    lines = ["area\tcase\toutcome"]
    for case in CASES:
        outcome = known.get((case.area, case.name))
        if outcome is None or any(word in case.id for word in words or [""]):
            with tempfile.TemporaryDirectory(prefix="odd-") as path, local_platform():
                outcome = outcome_of(case, Here(Path(path).resolve()))
        lines.append(f"{case.area}\t{case.name}\t{outcome}")
    EXPECTED.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
