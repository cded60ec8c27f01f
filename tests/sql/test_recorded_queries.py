"""Queries that Flink's own tests do not have, and what Flink 2.3 gives for them: the types of the columns
and the changes, as it prints them.

Each line of ``data/queries.jsonl`` behind the first one, which has the sources, is a query. Where the changes
of Flink depend on which input is ahead (``ordered`` is false) only the rows that are left count.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from firesteel.testing import MiniCluster
from tests.sql.program_files import PROGRAMS, Run

_LINES = (PROGRAMS.parent / "queries.jsonl").read_text(encoding="utf-8").splitlines()
_SOURCES: dict[str, Any] = json.loads(_LINES[0])["sources"]
QUERIES: list[dict[str, Any]] = [json.loads(line) for line in _LINES[1:]]


def _program(query: dict[str, Any]) -> dict[str, Any]:
    sources = [{"name": name, **_SOURCES[name]} for name in query["sources"]]
    config = {"table.display.max-column-width": "200", **query["config"]}
    return {
        "compare": "changes",
        "config": config,
        "functions": [],
        "sources": sources,
        "setup_sql": query["setup"],
        "sinks": [],
    }


def _changes(printed: str) -> list[tuple[str, ...]]:
    """The rows of a printed result, without its head."""
    lines = [line.strip("|") for line in printed.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.split(" | ")) for line in lines[1:]]


def _left(changes: list[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    left: Counter[tuple[str, ...]] = Counter()
    for kind, *row in changes:
        left[tuple(row)] += 1 if kind in ("+I", "+U") else -1
    return Counter({row: count for row, count in left.items() if count})


def _types(schema: Any) -> list[str]:
    return [re.sub(r"^`(.*?)` ", r"\1 ", line.strip().rstrip(",")) for line in str(schema).split("\n")[1:-1]]


@pytest.mark.row("S-SQL-01", "S-SQL-04", "S-SQL-09")
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query["id"])
def test_a_recorded_query(query: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with MiniCluster.in_process():
        table = Run(_program(query)).tables.sql_query(query["query"])
        assert _types(table.get_resolved_schema()) == query["types"]
        capsys.readouterr()
        table.execute().print()
    found = _changes(capsys.readouterr().out)
    wanted = [tuple(change) for change in query["changes"]]
    assert _left(found) == _left(wanted)
    if query["ordered"]:
        assert sorted(found) == sorted(wanted)
