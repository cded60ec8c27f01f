"""Write the tables of these pages again that are made from the code.

    python docs/make_tables.py

A table lies between two comments, ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from firesteel.state.backends import capability_table

TABLES: dict[str, Callable[[], str]] = {"state backends": capability_table}
_PLACE = re.compile(r"(?<=<!-- table: )(.+?)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """The text of a page with its tables as the code makes them."""
    return _PLACE.sub(lambda found: found[1] + found[2] + TABLES[found[1]](), page)


def pages() -> list[Path]:
    """The pages with tables."""
    return [page for page in sorted(Path(__file__).parent.glob("*.md")) if "<!-- table: " in page.read_text()]


def main() -> None:
    for page in pages():
        page.write_text(with_tables(page.read_text()))
        print(page)


if __name__ == "__main__":
    main()
