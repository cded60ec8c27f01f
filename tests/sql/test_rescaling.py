"""The parallelism of a table program changes while it runs: late rows stay late, no window fires twice."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.rescale_view import RescaleStatus
from firesteel.table import Schema, StreamTableEnvironment
from tests.jobmanager.rescale_support import running, wide_platform
from tests.runtime.support import LiveSource, environment, feed, note, notes
from tests.waiting import patience, until

ROW = Types.ROW_NAMED(["k", "v", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])


def at(ms: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def rows(*records: tuple[str, int, int]) -> None:
    """(key, value, milliseconds)."""
    feed("live", *(((k, v, at(ms)), 0) for k, v, ms in records))


def schema() -> Schema:
    builder = Schema.new_builder().column("k", "STRING").column("v", "INT").column("ts", "TIMESTAMP(3)")
    return builder.watermark("ts", "ts").build()


@contextmanager
def job(query: str, parallelism: int, **options: str) -> Iterator[JobGateway]:
    """A query over the table ``live`` runs; what it gives is noted under "out"."""
    with wide_platform():
        env = environment(parallelism)
        env.set_max_parallelism(8)
        tables = StreamTableEnvironment.create(env)
        for key, value in options.items():
            tables.get_config().set(key, value)
        source = env.from_source(LiveSource("live"), WatermarkStrategy.no_watermarks(), "live")
        # The source has one subtask for ever, and what is chained to it.
        stream = source.rebalance().map(lambda row: Row(*row), ROW)
        tables.create_temporary_view("live", tables.from_data_stream(stream, schema()))
        out = tables.to_changelog_stream(tables.sql_query(query))
        out.map(lambda row: note("out", tuple(row))).set_parallelism(1)
        client = env.execute_async()
        yield running()
        client.cancel().result()


def rescale(job: JobGateway, *parallelism: int) -> None:
    for number in parallelism:
        assert job.rescale(number).result(patience(10)).status is RescaleStatus.COMPLETED


def noted(run: JobGateway, count: int) -> list[Any]:
    until(lambda: len(notes["out"]) >= count or run.view.ended_ms)
    return list(notes["out"])


def test_the_watermark_of_an_operator_goes_on() -> None:
    """Broken by hand: ``ColumnsOperator.take_over``, ``WatermarkAssignerOperator.take_over``."""
    with job("SELECT k, CURRENT_WATERMARK(ts) FROM live", 1) as run:
        rows(("a", 1, 500))
        noted(run, 1)
        rows(("b", 1, 200))
        assert noted(run, 2)[-1] == ("b", at(500))
        rescale(run, 3, 2)
        rows(("c", 1, 300))
        assert noted(run, 3)[-1] == ("c", at(500))


@pytest.mark.parametrize("mini_batch", ["false", "true"])
def test_a_window_that_has_fired_stays_over(mini_batch: str) -> None:
    """Broken by hand: ``MiniBatchAssignerOperator.take_over``."""
    query = (
        "SELECT k, SUM(v), window_start FROM TABLE(TUMBLE(TABLE live, DESCRIPTOR(ts), INTERVAL '1' SECOND)) "
        "GROUP BY k, window_start, window_end"
    )
    options = {
        "table.exec.mini-batch.enabled": mini_batch,
        "table.exec.mini-batch.allow-latency": "10 ms",
        "table.exec.mini-batch.size": "100",
    }
    # In the end there is one subtask: with several it would depend on who gets which row whether it is late.
    with job(query, 1, **options) as run:
        rows(("a", 1, 500), ("a", 2, 1500))
        assert noted(run, 1) == [("a", 1, at(0))]
        rescale(run, 3, 2, 1)
        rows(("a", 4, 200), ("a", 8, 1700), ("b", 16, 600), ("a", 32, 2600))
        assert noted(run, 2) == [("a", 1, at(0)), ("a", 10, at(1000))]
