"""Epochs of table programs fail at random, tasks are killed and run twice, and the job begins again at its
last checkpoint: no change is lost, none comes twice, and what is taken back was there."""

from __future__ import annotations

import random
from tempfile import TemporaryDirectory

import pytest

from firesteel.table import StreamTableEnvironment
from firesteel.testing.collecting_sink import CollectingSink
from tests.budget import examples, seed_of
from tests.runtime.engines import FaultyEngine
from tests.runtime.support import environment, local_platform
from tests.sql.operators.changelogs import Change, rows_left, table_left
from tests.sql.recoverable import QUERIES, Input, Query

#: An epoch is not run again: each one that is lost is a restart.
_RESTARTS = {
    "firesteel.epoch.attempts": "1",
    "execution.checkpointing.interval": "10 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "1 ms",
}
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "20 ms",
    "table.exec.mini-batch.size": "50",
}


def changes_of(query: Query, given: Input, parallelism: int, cut: int, **options: str) -> list[Change]:
    """Run a query; its changes, those of a key in order."""
    env = environment(parallelism, epoch_records=cut, **options)
    env.set_max_parallelism(16)
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set_local_timezone("UTC")
    for statement in given.tables():
        tables.execute_sql(statement)
    sink = CollectingSink()
    tables.to_changelog_stream(tables.sql_query(query.sql)).sink_to(sink)
    env.execute("query")
    return [(str(row.get_row_kind()), *row) for row in sink.values]


def check(changes: list[Change], query: Query, given: Input) -> None:
    """The changelog fits to itself, and leaves what the query gives."""
    expected = sorted(query.expected(given), key=repr)
    if query.keys:
        assert sorted(table_left(changes, query.keys).values(), key=repr) == expected
    if not query.updates:
        assert {kind for kind, *_ in changes} == {"+I"}
    assert rows_left(changes) == expected


@pytest.mark.parametrize("mini_batch", [False, True], ids=["each row", "mini-batch"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_failures_change_nothing(query: Query, mini_batch: bool) -> None:
    for number in range(examples(1)):
        seed = seed_of(f"{query.sql} {mini_batch}", number)
        print(f"seed {seed}")
        _run(query, mini_batch, seed)


def _run(query: Query, mini_batch: bool, seed: int) -> None:
    chance = random.Random(seed)
    cut, parallelism = chance.randint(25, 60), chance.randint(1, 3)
    given = Input(rows=250)
    options = _RESTARTS | (MINI_BATCH if mini_batch else {})
    with TemporaryDirectory() as directory, local_platform(lambda: FaultyEngine(seed)):
        place = {"execution.checkpointing.dir": directory}
        check(changes_of(query, given, parallelism, cut, **options, **place), query, given)
