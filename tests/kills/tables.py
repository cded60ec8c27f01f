"""The queries that are struck like ``job``: an aggregate that an upsert table takes, a join whose changes an
exactly-once sink keeps in order, and windows that a table of files takes exactly once."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Final

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from tests.jobmanager.programs.sqlite_sink import SqliteSink, staged_in
from tests.kills import job
from tests.sql.operators.changelogs import rows_left
from tests.sql.recoverable import AGGREGATE, JOIN, WINDOW, Input, Query

_GIVEN: Final = Input(rows=job.RANGES * job.RECORDS, keys=300, ranges=job.RANGES)
_QUERIES: Final = {"groups": AGGREGATE, "joined": JOIN, "windows": WINDOW}


def build(env: StreamExecutionEnvironment, output: Path, rate: float | None = None) -> None:
    """:param rate: how many rows come in a second; None: as many as an epoch takes."""
    env.set_parallelism(job.RANGES)
    given = _GIVEN if rate is None else Input(_GIVEN.rows, _GIVEN.keys, _GIVEN.ranges, round(rate))
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set_local_timezone("UTC")
    for statement in given.tables():
        tables.execute_sql(statement)
    database = output / "groups.db"
    with closing(sqlite3.connect(database)) as groups:
        groups.execute("CREATE TABLE IF NOT EXISTS counted (g INT, c INT, ks INT, s INT, PRIMARY KEY (g, c))")
    tables.execute_sql(
        "CREATE TABLE counted (g BIGINT, c BIGINT, ks BIGINT, s BIGINT, PRIMARY KEY (g, c) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{database}', 'table-name' = 'counted')"
    )
    tables.execute_sql(
        "CREATE TABLE windows (g BIGINT, s INT, c BIGINT, t BIGINT, d BIGINT) WITH "
        f"('connector' = 'filesystem', 'path' = '{output}/windows', 'format' = 'csv', "
        "'sink.rolling-policy.rollover-interval' = '1 s')"
    )
    inserts = tables.create_statement_set()
    inserts.add_insert_sql(f"INSERT INTO counted {AGGREGATE.sql}")
    inserts.add_insert_sql(f"INSERT INTO windows {WINDOW.sql}")
    inserts.attach_as_datastream()
    joined = tables.to_changelog_stream(tables.sql_query(JOIN.sql)).map(_line, Types.STRING()).uid("lines")
    joined.add_sink(SqliteSink(_joined(output), "joined")).uid("joined")


def _line(row: Any) -> str:
    return json.dumps([str(row.get_row_kind()), *row])


def _joined(output: Path) -> str:
    return f"{output}/.joined.db"


@cache
def _expected(name: str) -> list[tuple[Any, ...]]:
    query: Query = _QUERIES[name]
    return query.expected(_GIVEN)


def _groups(output: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(output / "groups.db")) as groups:
        return groups.execute("SELECT * FROM counted").fetchall()


def _windows(output: Path) -> list[tuple[Any, ...]]:
    shown = [p for p in (output / "windows").rglob("*") if p.is_file() and not p.name.startswith(".")]
    lines = [line for part in shown for line in part.read_text().splitlines()]
    return [tuple(map(int, line.split(","))) for line in lines]


def _changes(output: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(_joined(output))) as joined:
        lines = joined.execute("SELECT line FROM joined ORDER BY rowid").fetchall()
    return [tuple(json.loads(line)) for (line,) in lines]


def differences(output: Path, *, may_leave: bool = False) -> str:
    """How what came out differs from what belongs there; empty: not at all.

    :param may_leave: a driver that was killed or replaced may have staged what nobody can name.
    """
    said = []
    found = {"groups": _groups(output), "windows": _windows(output)}
    try:
        found["joined"] = rows_left(_changes(output))
    except AssertionError as error:
        said.append(f"joined: {error}")
    for name, rows in found.items():
        there, wanted = Counter(rows), Counter(_expected(name))
        for what, rows_of in (("lost", wanted - there), ("too many", there - wanted)):
            if rows_of:
                said.append(f"{name}: {rows_of.total()} {what}, as {sorted(rows_of, key=repr)[:3]}")
    staged = staged_in(_joined(output), "joined")
    if staged and not may_leave:
        said.append(f"joined: {staged} transactions are staged still")
    return "; ".join(said)
