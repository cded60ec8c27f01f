"""Write the tables of these pages again that are made from the code.

    python docs/make_tables.py

A table lies between two comments, ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, it finds the package `docs`

from docs.drawing import by_name, guarantees
from firesteel.cli._memory import report
from firesteel.common.configuration import Configuration
from firesteel.state.backends import capability_table


def memory_budget() -> str:
    """What ``firesteel memory`` prints for the total of Flink's own configuration file."""
    settings = {
        "spark.master": "spark://host:7077",
        "taskmanager.memory.process.size": "1728m",
        "taskmanager.numberOfTaskSlots": "2",
    }
    return "\n```text\n" + "\n".join(report(Configuration.from_dict(settings))) + "\n```\n\n"


TABLES: dict[str, Callable[[], str]] = {
    "state backends": capability_table,
    "memory budget": memory_budget,
    "sinks": guarantees.sinks,
    "connectors": by_name.table,
    "guarantees": guarantees.matrix,
}
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
