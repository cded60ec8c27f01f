"""Uids of operators: state is found by them, so they stay what they were in earlier savepoints."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from firesteel.table import ExplainDetail, StreamTableEnvironment
from tests.table.support import tables

pytestmark = pytest.mark.row("S-SAVE-06")

UPSERTS = (
    "WITH ('connector' = 'upsert-kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'nowhere:1', "
    "'key.format' = 'json', 'value.format' = 'json')"
)
LATER = "t2 AS ts + INTERVAL '1' SECOND, "
KEYED = "k INT, n INT, ts TIMESTAMP(3), {}WATERMARK FOR {} AS {}, PRIMARY KEY (k) NOT ENFORCED"
TABLES = {
    "upserts": f"({KEYED.format('', 'ts', 'ts')}) {UPSERTS}",
    "computed": f"({KEYED.format(LATER, 't2', 't2')}) {UPSERTS}",
    "untimed": f"(k INT, n INT, PRIMARY KEY (k) NOT ENFORCED) {UPSERTS}",
    "rows": "(k INT, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')",
}
#: Of each statement the uids of operators with state, as they were when watermarks of upserts were made by an
#: operator behind them.
STATEMENTS = {
    "SELECT n, COUNT(*) FROM upserts GROUP BY n": ["2-changelognormalize", "5-groupaggregate"],
    "SELECT n, MAX(t2) FROM computed GROUP BY n": ["2-changelognormalize", "5-groupaggregate"],
    "SELECT n, COUNT(*) FROM untimed GROUP BY n": ["2-changelognormalize", "4-groupaggregate"],
    "SELECT n, COUNT(*) FROM rows GROUP BY n": ["4-groupaggregate"],
    "SELECT u.n, x.n FROM upserts AS u JOIN untimed AS x ON u.k = x.k": [
        "2-changelognormalize",
        "5-changelognormalize",
        "6-join",
    ],
}


@pytest.fixture(scope="module")
def t() -> Iterator[StreamTableEnvironment]:
    with tables() as made:
        for name, text in TABLES.items():
            made.execute_sql(f"CREATE TABLE `{name}` {text}")
        yield made


@pytest.mark.parametrize("query", STATEMENTS)
def test_uids_are_those_of_savepoints_that_there_are(t: StreamTableEnvironment, query: str) -> None:
    text = t.explain_sql(query.replace("FROM rows", "FROM `rows`"), ExplainDetail.JSON_EXECUTION_PLAN)
    nodes = json.loads(text.split("== Physical Execution Plan ==")[1])["nodes"]
    uids = [node["uid"].removeprefix("table-1-") for node in nodes if "uid" in node]
    assert [uid for uid in uids if not uid.endswith(("scan", "calc", "assigner"))] == STATEMENTS[query], uids
