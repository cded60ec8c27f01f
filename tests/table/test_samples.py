"""Statements as introductions to Flink show them: they are taken as they are written."""

from __future__ import annotations

import datetime as dt
import itertools
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream.connectors.hybrid_source import HybridSource
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.table import DataTypes, Schema, StreamTableEnvironment
from firesteel.util.exceptions import TableException
from tests.table.support import batch_tables, changes, files, kept, rows, stream_of, tables
from tests.table.test_table import seconds, timed

ORDERS = """CREATE TABLE {name} (
    order_id BIGINT, customer_id STRING, amount DECIMAL(10,2), event_time TIMESTAMP(3),
    WATERMARK FOR event_time AS event_time - INTERVAL '10' SECOND) {options}"""
REVENUE = """SELECT TUMBLE_START(event_time, INTERVAL '5' MINUTE) AS window_start, customer_id,
    SUM(amount) AS revenue, COUNT(*) AS order_count
    FROM orders GROUP BY TUMBLE(event_time, INTERVAL '5' MINUTE), customer_id"""
BUYERS = "SELECT customer_id, COUNT(DISTINCT order_id) AS n FROM orders GROUP BY customer_id"
LINES = """1,ann,10.10,2026-01-01 00:00:00
2,bob,5.00,2026-01-01 00:04:59.999
3,ann,0.20,2026-01-01 00:03:00
4,ann,7.00,2026-01-01 00:05:00
"""
MORE = """5,bob,1.00,2026-01-01 00:11:00
"""


def at(minute: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, 0, minute)


FIRST = [(at(0), "ann", Decimal("10.30"), 2), (at(0), "bob", Decimal("5.00"), 1)]
SECOND = (at(5), "ann", Decimal("7.00"), 1)
REST = (at(10), "bob", Decimal("1.00"), 1)


@pytest.mark.row("S-LIB-04")
def test_the_statements_are_read_and_run(tmp_path: Path) -> None:
    with tables() as t:
        kafka = "'connector'='kafka', 'topic'='orders', 'properties.bootstrap.servers'='k', 'format'='json'"
        t.execute_sql(ORDERS.format(name="live", options=f"WITH ({kafka})"))
        described = {name: (kind, mark) for name, kind, *_, mark in rows(t.execute_sql("DESCRIBE live"))}
        assert described["amount"] == ("DECIMAL(10, 2)", None)
        kind, mark = described["event_time"]
        assert (kind, mark) == ("TIMESTAMP(3) *ROWTIME*", "`event_time` - INTERVAL '10' SECOND")
        (tmp_path / "orders.csv").write_text(LINES + MORE)
        t.execute_sql(ORDERS.format(name="orders", options=files(tmp_path / "orders.csv", "csv")))
        for key, value in (("enabled", "true"), ("size", "5000"), ("allow-latency", "200 ms")):
            t.execute_sql(f"SET\n  'table.exec.mini-batch.{key}' = '{value}'")
        t.execute_sql("SET 'table.optimizer.distinct-agg.split.enabled' = 'true'")
        assert "MOD(order_id, CAST(1024 AS BIGINT))" in t.explain_sql(BUYERS)
        assert kept(t.sql_query(BUYERS)) == [("ann", 3), ("bob", 2)]
        assert sorted(rows(t.sql_query(REVENUE))) == [*FIRST, SECOND, REST]


@pytest.mark.row("S-SQL-27", "S-USE-07")
def test_a_query_gives_the_rows_of_a_finished_table_on_a_live_one(tmp_path: Path) -> None:
    """The log of orders as a table that has an end, and as one that goes on: files that still come. The
    second comes when the first has been read, as the rows of its first window say."""
    first = LINES + "5,eve,2.00,2026-01-01 00:05:30\n"
    (tmp_path / "1.csv").write_text(first)
    (tmp_path / "2.csv").write_text(MORE)
    with batch_tables() as t:
        t.execute_sql(ORDERS.format(name="orders", options=files(tmp_path, "csv")))
        finished = sorted(rows(t.sql_query(REVENUE)))
    assert finished == [*FIRST, SECOND, (at(5), "eve", Decimal("2.00"), 1), REST]
    live = tmp_path / "live"
    live.mkdir()
    (live / "1.csv").write_text(first)
    with tables() as t:
        options = files(live, "csv", source__monitor_interval="50 ms")
        t.execute_sql(ORDERS.format(name="orders", options=options))
        with t.sql_query(REVENUE).execute().collect() as found:
            given = [tuple(row) for row in itertools.islice(found, 2)]
            (tmp_path / "2.csv").rename(live / "2.csv")  # whole, for it may be read at once
            given += [tuple(row) for row in itertools.islice(found, 2)]
    assert sorted(given) == finished[:4], "the window of the newest order is still open"


@pytest.mark.row("S-SQL-27", "S-CONN-10")
@pytest.mark.parametrize("live", [False, True])
def test_a_table_of_files_is_read_one_file_after_the_other(tmp_path: Path, live: bool) -> None:
    """Its watermark is made behind the files: read side by side, the rows of the older one would be late."""
    for number, text in enumerate([LINES + "5,eve,2.00,2026-01-01 00:05:30\n", MORE], start=1):
        (tmp_path / f"{number}.csv").write_text(text)
        os.utime(tmp_path / f"{number}.csv", (number, number))
    interval = {"source__monitor_interval": "50 ms"} if live else {}
    with tables() as t:
        t.execute_sql(ORDERS.format(name="orders", options=files(tmp_path, "csv", **interval)))
        with t.sql_query(REVENUE).execute().collect() as found:
            given = sorted(tuple(row) for row in itertools.islice(found, 4))
    assert given == [*FIRST, SECOND, (at(5), "eve", Decimal("2.00"), 1)]


@pytest.mark.row("S-SQL-28", "S-USE-07")
def test_history_and_what_is_live_are_one_table() -> None:
    """The history ends at 59, what is live begins at 60: each number is counted once."""

    def counted(t: StreamTableEnvironment, source: Any) -> list[tuple[Any, ...]]:
        stream = t._session.environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        named = stream.map(lambda n: Row(n % 3, n), Types.ROW_NAMED(["k", "n"], [Types.LONG(), Types.LONG()]))
        t.create_temporary_view("numbers", t.from_data_stream(named))
        return kept(t.sql_query("SELECT k, COUNT(*), SUM(n) FROM numbers GROUP BY k"))

    with tables(2) as t:
        history = HybridSource.builder(NumberSequenceSource(0, 59))
        both = counted(t, history.add_source(NumberSequenceSource(60, 99)).build())
    with tables(2) as t:
        assert both == counted(t, NumberSequenceSource(0, 99))
    assert sum(row[1] for row in both) == 100


@pytest.mark.row("S-SQL-26")
def test_a_projection_keeps_the_time_of_its_rows_and_what_changes_them_loses_it() -> None:
    windows = (
        "SELECT window_start, SUM(m) FROM "
        "TABLE(TUMBLE(TABLE {table}, DESCRIPTOR({time}), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end"
    )
    with tables() as t:
        t.create_temporary_view("t", timed(t))
        t.execute_sql("CREATE TEMPORARY VIEW p AS SELECT k, ts AS time_of, n * 2 AS m FROM t WHERE n > 0")
        found = rows(t.sql_query(windows.format(table="p", time="time_of")))
        assert seconds(found) == [(0, 6), (10, 6), (30, 8)]
        t.execute_sql(
            "CREATE TEMPORARY VIEW near AS SELECT a.ts, b.m FROM t AS a JOIN p AS b "
            "ON a.k = b.k AND a.ts BETWEEN b.time_of AND b.time_of"
        )
        assert seconds(rows(t.sql_query(windows.format(table="near", time="ts")))) == seconds(found)
        t.execute_sql("CREATE TEMPORARY VIEW grouped AS SELECT ts, SUM(n) AS m FROM t GROUP BY ts")
        t.execute_sql("CREATE TEMPORARY VIEW joined AS SELECT t.ts, t.n AS m FROM t JOIN p ON t.k = p.k")
        t.execute_sql(
            "CREATE TEMPORARY VIEW above AS SELECT ts, m + 1 AS m FROM (SELECT * FROM joined LIMIT 9)"
        )
        for table in ("grouped", "joined", "above"):
            with pytest.raises(
                TableException, match=r"time attribute type, but is TIMESTAMP\(3\)\."
            ) as refused:
                t.sql_query(windows.format(table=table, time="ts")).execute()
            assert "interval or temporal join" in str(refused.value)
            with pytest.raises(
                TableException, match=r"time attribute column, but TIMESTAMP\(3\) encountered"
            ):
                t.sql_query(f"SELECT SUM(m) FROM {table} GROUP BY TUMBLE(ts, INTERVAL '1' SECOND)").execute()


@pytest.mark.row("S-SQL-29")
def test_a_price_that_falls_and_rises_is_one_row() -> None:
    prices = [12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19]
    with tables() as t:
        given = [("ACME", price, at(minute)) for minute, price in enumerate(prices)]
        given += [("FLAT", 5, at(minute)) for minute in range(len(prices))]
        stream = stream_of(
            t,
            sorted(given, key=lambda tick: tick[2]),
            Types.ROW_NAMED(
                ["symbol", "price", "rowtime"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()]
            ),
        )
        schema = Schema.new_builder().column("symbol", DataTypes.STRING()).column("price", DataTypes.INT())
        schema = schema.column("rowtime", DataTypes.TIMESTAMP(3)).watermark("rowtime", "rowtime")
        t.create_temporary_view("Ticker", t.from_data_stream(stream, schema.build()))
        found = rows(t.sql_query(FALL_AND_RISE.format(within="")))
        assert found == [("ACME", at(4), at(7), at(8))]
        assert rows(t.sql_query(FALL_AND_RISE.format(within="WITHIN INTERVAL '4' MINUTE"))) == [
            ("ACME", at(5), at(7), at(8)),
        ]


FALL_AND_RISE = """SELECT * FROM Ticker MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY rowtime
    MEASURES START_ROW.rowtime AS start_tstamp, LAST(PRICE_DOWN.rowtime) AS bottom_tstamp,
        LAST(PRICE_UP.rowtime) AS end_tstamp
    ONE ROW PER MATCH
    AFTER MATCH SKIP TO LAST PRICE_UP
    PATTERN (START_ROW PRICE_DOWN+ PRICE_UP) {within}
    DEFINE
        PRICE_DOWN AS (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price)
            OR PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
        PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
) MR"""


@pytest.mark.row("S-CFG-17")
@pytest.mark.parametrize("missing", ["size", "allow-latency"])
def test_mini_batches_need_a_size_and_a_latency(missing: str) -> None:
    query = "SELECT k, COUNT(*) FROM t GROUP BY k"
    with tables() as t:
        t.create_temporary_view("t", timed(t))
        t.get_config().set("table.exec.mini-batch.enabled", "true")
        given = {"size": "5000", "allow-latency": "200 ms"}
        for key in given.keys() - {missing}:
            t.get_config().set(f"table.exec.mini-batch.{key}", given[key])
        with pytest.raises(ConfigurationError, match=rf"table\.exec\.mini-batch\.{missing} must be > 0"):
            t.sql_query(query).execute()
        t.get_config().set(f"table.exec.mini-batch.{missing}", given[missing])
        assert changes(t.sql_query(query)) == ["+I[a, 3]", "+I[b, 2]"]


@pytest.mark.row("S-CFG-17")
@pytest.mark.parametrize("mode", ["epochs", "real-time"])
def test_a_mini_batch_gives_one_result_of_a_key_in_both_modes(mode: str) -> None:
    """Buffers that leave after milliseconds do not end it."""
    options = {"enabled": "true", "size": "5000", "allow-latency": "1 h"}
    with tables() as t:
        t.create_temporary_view("t", timed(t))
        t.get_config().set("execution.mode", mode)
        t.get_config().set("execution.buffer-timeout.interval", "0 ms")
        for key, value in options.items():
            t.get_config().set(f"table.exec.mini-batch.{key}", value)
        assert changes(t.sql_query("SELECT k, COUNT(*) FROM t GROUP BY k")) == ["+I[a, 3]", "+I[b, 2]"]
