"""Sessions of a windowing function and the groups above them: with the rows of Flink 2.3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.table import StreamTableEnvironment
from tests.table.support import changes, files, tables

_ROWS = [("a", 1, 1), ("b", 2, 2), ("a", 3, 4), ("a", 4, 20), ("b", 5, 22), ("c", 6, 40), ("a", 7, 21)]


@pytest.fixture
def clicks(tmp_path: Path) -> Iterator[StreamTableEnvironment]:
    """The last row is late."""
    lines = [f"{i},{u},{v},2020-01-01 00:00:{s:02d}" for i, (u, v, s) in enumerate(_ROWS)]
    (tmp_path / "clicks.csv").write_text("\n".join(lines))
    with tables() as t:
        t.get_config().set("pipeline.auto-watermark-interval", "0 ms")
        t.execute_sql(
            "CREATE TABLE clicks (id INT, u STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - "
            f"INTERVAL '1' SECOND) {files(tmp_path / 'clicks.csv', 'csv')}"
        )
        yield t


def _query(select: str, group: str = "", partition: str = "") -> str:
    session = f"SESSION(TABLE clicks {partition}, DESCRIPTOR(ts), INTERVAL '5' SECOND)"
    return f"SELECT {select} FROM TABLE({session}) {group}"


_ENDS = "EXTRACT(SECOND FROM window_start), EXTRACT(SECOND FROM window_end)"


@pytest.mark.row("S-SQL-10")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            _query(f"id, {_ENDS}"),
            [f"+I[{n}]" for n in ("0, 1, 9", "1, 1, 9", "2, 1, 9", "3, 20, 27", "4, 20, 27", "5, 40, 45")],
        ),
        (
            _query(f"{_ENDS}, COUNT(*), SUM(v)", "GROUP BY window_start, window_end"),
            ["+I[1, 9, 3, 6]", "+I[20, 27, 2, 9]", "+I[40, 45, 1, 6]"],
        ),
        (
            "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY "
            f"v DESC) AS n FROM ({_query('*')})) WHERE n = 1",
            ["+I[2, 3]", "+I[4, 5]", "+I[5, 6]"],
        ),
        (
            f"SELECT l.id, r.id FROM ({_query('*')}) AS l JOIN ({_query('*')}) AS r ON l.window_start = "
            "r.window_start AND l.window_end = r.window_end AND l.v + 1 = r.v",
            ["+I[0, 1]", "+I[1, 2]", "+I[3, 4]"],
        ),
    ],
    ids=["rows", "groups", "rank", "join"],
)
def test_without_a_partition_all_rows_are_of_the_same_sessions(
    clicks: Any, query: str, expected: list[str]
) -> None:
    assert sorted(changes(clicks.sql_query(query))) == expected


@pytest.mark.row("S-SQL-10")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            _query(f"u, {_ENDS}, COUNT(*), SUM(v)", "GROUP BY u, window_start, window_end"),
            [
                "+I[a, 1, 9, 1, 1]",
                "+I[a, 20, 27, 1, 4]",
                "+I[b, 1, 9, 1, 2]",
                "+I[b, 20, 27, 1, 5]",
                "+I[c, 40, 45, 1, 6]",
                "+U[a, 1, 9, 2, 4]",
                "-U[a, 1, 9, 1, 1]",
            ],
        ),
        (
            "SELECT EXTRACT(SECOND FROM e), COUNT(*) FROM ("
            + _query(
                "window_start AS s, window_end AS e", "WHERE window_end < TIMESTAMP '2020-01-01 00:00:20'"
            )
            + ") GROUP BY s, e, s < e",
            ["+I[9, 1]", "+U[9, 2]", "+U[9, 3]", "-U[9, 1]", "-U[9, 2]"],
        ),
        (
            _query(f"{_ENDS}, COUNT(*), SUM(v)", "GROUP BY window_start, window_end", "PARTITION BY u"),
            [
                "+I[1, 9, 1, 1]",
                "+I[2, 7, 1, 2]",
                "+I[20, 25, 1, 4]",
                "+I[22, 27, 1, 5]",
                "+I[40, 45, 1, 6]",
                "+U[1, 9, 2, 4]",
                "-U[1, 9, 1, 1]",
            ],
        ),
    ],
    ids=["of all rows", "by what is made of the window", "of a partition"],
)
def test_groups_that_are_not_the_partition_are_groups_of_columns(
    clicks: Any, query: str, expected: list[str]
) -> None:
    """As in Flink: each row of a session that has ended is a change of its group."""
    assert sorted(changes(clicks.sql_query(query))) == expected
    plan = clicks.explain_sql(query).partition("== Optimized Physical Plan ==")[2]
    assert "GroupAggregate" in plan
    assert "WindowAggregate" not in plan


@pytest.mark.row("S-SQL-10")
def test_groups_of_the_partition_are_its_sessions(clicks: Any) -> None:
    query = _query("u, COUNT(*), SUM(v)", "GROUP BY u, window_start, window_end", "PARTITION BY u")
    expected = ["+I[a, 1, 4]", "+I[a, 2, 4]", "+I[b, 1, 2]", "+I[b, 1, 5]", "+I[c, 1, 6]"]
    assert sorted(changes(clicks.sql_query(query))) == expected
