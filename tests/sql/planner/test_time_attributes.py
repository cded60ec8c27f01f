"""Which columns keep their time attribute, and what is planned where one is lost.

Flink 2.3.0 answers these statements in the same way, with the same words where it refuses one. Only windows
of GROUP BY run there behind a lost time, and drop rows as late.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.table import StreamTableEnvironment
from firesteel.util.exceptions import TableException
from tests.table.support import batch_tables, kept, rows, stream_of, tables
from tests.table.test_table import seconds, timed

pytestmark = pytest.mark.row("S-SQL-26")

TABLES = {
    "a": "k INT, n INT, ts TIMESTAMP(3), many ARRAY<INT>, p AS PROCTIME(), WATERMARK FOR ts AS ts",
    "b": "k INT, n INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts",
    "v": "k INT NOT NULL, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED",
}
NEAR = "a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' SECOND"
NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS r FROM a"
CUT = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR({}), INTERVAL '1' SECOND))"
VIEWS = {
    "joined": "SELECT a.k, a.n, a.ts, a.p FROM a JOIN b ON a.k = b.k",
    "semi": "SELECT k, n, ts, p FROM a WHERE k IN (SELECT k FROM b)",
    "grouped": "SELECT k, ts, p, SUM(n) AS n FROM a GROUP BY k, ts, p",
    "distinct_rows": "SELECT DISTINCT k, n, ts FROM a",
    "merged": "SELECT k, n, ts FROM a UNION SELECT k, n, ts FROM b",
    "common": "SELECT k, n, ts FROM a INTERSECT SELECT k, n, ts FROM b",
    "rest": "SELECT k, n, ts FROM a EXCEPT SELECT k, n, ts FROM b",
    "above": "SELECT k, n + 1 AS n, ts FROM joined LIMIT 9",
    "near": f"SELECT a.k, a.n, a.ts, b.ts AS other FROM a LEFT JOIN b ON {NEAR}",
    "near_all": f"SELECT a.k, a.n, a.ts, b.ts AS other FROM a FULL JOIN b ON {NEAR}",
    "versioned": "SELECT a.k, a.ts, v.ts AS other FROM a JOIN v FOR SYSTEM_TIME AS OF a.ts ON a.k = v.k",
    "all_rows": "SELECT k, n, ts FROM a UNION ALL SELECT k, n, ts FROM b",
    "best": f"SELECT k, n, ts FROM ({NUMBERED.format('n')}) WHERE r <= 3",
    "first_rows": f"SELECT k, n, ts FROM ({NUMBERED.format('ts')}) WHERE r = 1",
    "summed": "SELECT k, n, ts, SUM(n) OVER (PARTITION BY k ORDER BY ts) AS s FROM a",
    "unnested": "SELECT a.k, u.x, a.ts FROM a CROSS JOIN UNNEST(a.many) AS u (x)",
    "in_order": "SELECT k, n, ts FROM a ORDER BY ts",
    "in_windows": f"SELECT l.k, l.ts, l.window_time AS wt FROM (SELECT * FROM {CUT.format('a', 'ts')}) AS l "
    f"JOIN (SELECT * FROM {CUT.format('b', 'ts')}) AS r "
    "ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end",
    "windowed": "SELECT window_time AS wt, ts, SUM(n) AS n "
    f"FROM {CUT.format('a', 'ts')} GROUP BY window_start, window_end, window_time, ts",
    "half_windowed": f"SELECT window_time AS wt, ts FROM {CUT.format('a', 'ts')} GROUP BY window_time, ts",
    "old_windows": "SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' SECOND) AS wt, ts "
    "FROM a GROUP BY TUMBLE(ts, INTERVAL '1' SECOND), ts",
    "matched": "SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS ts, "
    "MATCH_ROWTIME() AS mt PATTERN (A B) DEFINE A AS n > 1, B AS n > 2)",
}
KEPT = (
    *("near.ts", "near.other", "near_all.ts", "near_all.other", "versioned.ts", "all_rows.ts", "best.ts"),
    *("first_rows.ts", "summed.ts", "unnested.ts", "in_order.ts", "in_windows.ts", "in_windows.wt"),
    *("windowed.wt", "old_windows.wt", "matched.mt"),
)
LOST = (
    *("joined.ts", "joined.p", "semi.ts", "semi.p", "grouped.ts", "grouped.p", "distinct_rows.ts"),
    *("merged.ts", "common.ts", "rest.ts", "above.ts", "versioned.other", "windowed.ts", "half_windowed.wt"),
    *("half_windowed.ts", "old_windows.ts", "matched.ts"),
)


@pytest.fixture(scope="module")
def t() -> Iterator[StreamTableEnvironment]:
    with tables() as made:
        for name, columns in TABLES.items():
            made.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'datagen')")
        for name, query in VIEWS.items():
            made.execute_sql(f"CREATE VIEW {name} AS {query}")
        yield made


@pytest.mark.parametrize("column", KEPT)
def test_rows_that_still_come_by_their_time_keep_it(t: StreamTableEnvironment, column: str) -> None:
    assert "WindowTableFunction(window=[TUMBLE" in t.explain_sql(
        f"SELECT * FROM {CUT.format(*column.split('.'))}"
    )


@pytest.mark.parametrize("column", LOST)
def test_rows_of_any_time_lose_it(t: StreamTableEnvironment, column: str) -> None:
    text = r"requires the timecol is a time attribute type, but is TIMESTAMP(_LTZ)?\(3\)\."
    with pytest.raises((TableException, SqlValidationError), match=text):
        t.explain_sql(f"SELECT * FROM {CUT.format(*column.split('.'))}")


OVER = "SELECT k, SUM(n) OVER (PARTITION BY k ORDER BY {time}{frame}) FROM joined"
BACK = " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
DEDUPLICATION = (
    "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {time}{way}) AS r FROM {table}) "
    "WHERE r = 1"
)
MATCHED = (
    "SELECT * FROM joined MATCH_RECOGNIZE (PARTITION BY k ORDER BY {time} MEASURES A.n AS n "
    "PATTERN (A B) DEFINE A AS n > 1, B AS n > 2)"
)


@pytest.mark.parametrize("time", ["ts", "p"])
def test_what_needs_a_time_attribute_is_refused(t: StreamTableEnvironment, time: str) -> None:
    refused = {
        OVER.format(
            time=time, frame=BACK
        ): "Non-time attribute sort is not supported for bounded OVER window.",
        f"SELECT * FROM joined ORDER BY {time}": "Sort on a non-time-attribute field is not supported.",
        MATCHED.format(
            time=time
        ): "You must specify either rowtime or proctime for order by as the first one.",
        f"SELECT SUM(n) FROM joined GROUP BY TUMBLE({time}, INTERVAL '1' SECOND)": (
            "Window aggregate can only be defined over a time attribute column, but TIMESTAMP"
        ),
        f"SELECT {time} FROM joined UNION ALL SELECT {time} FROM b": (
            "Union fields with time attributes requires same types, but the types are TIMESTAMP"
        ),
    }
    for query, message in refused.items():
        with pytest.raises(TableException) as found:
            t.explain_sql(query)
        assert str(found.value).startswith(message), query


@pytest.mark.parametrize("time", ["ts", "p"])
def test_what_can_do_without_is_planned_so(t: StreamTableEnvironment, time: str) -> None:
    for way in ("", " DESC"):
        assert "Deduplicate(" in t.explain_sql(DEDUPLICATION.format(time=time, way=way, table="a"))
        plan = t.explain_sql(DEDUPLICATION.format(time=time, way=way, table="joined"))
        assert "Deduplicate(" not in plan
        ranked = plan.split("Rank(strategy=[AppendFastStrategy]")[1]
        assert f"orderBy=[{time} {way.strip() or 'ASC'}]" in ranked
    condition = f"x.k = b.k AND x.{time} BETWEEN b.{time} AND b.{time} + INTERVAL '1' SECOND"
    assert "IntervalJoin" in t.explain_sql(f"SELECT x.k FROM a AS x JOIN b ON {condition}")
    assert "IntervalJoin" not in t.explain_sql(f"SELECT x.k FROM joined AS x JOIN b ON {condition}")


def test_versions_and_those_who_ask_may_have_lost_their_time(t: StreamTableEnvironment) -> None:
    """A version counts from its time on, whatever the order in which versions come."""
    asked = "SELECT x.k, v.n FROM joined AS x JOIN v FOR SYSTEM_TIME AS OF x.ts ON x.k = v.k"
    assert "TemporalJoin(" in t.explain_sql(asked)
    versions = (
        "WITH w AS (SELECT k, ts, MAX(n) AS n FROM a GROUP BY k, ts) SELECT b.k, w.n FROM b "
        "JOIN w FOR SYSTEM_TIME AS OF b.ts ON b.k = w.k AND b.ts = w.ts"
    )
    assert "TemporalJoin(" in t.explain_sql(versions)


def test_the_rows_are_those_of_the_changed_plan() -> None:
    """A join may give old rows after new ones, so the first row of a key by time may be a late one."""
    with tables() as t:
        t.create_temporary_view("t", timed(t))
        late = stream_of(t, [("a", 1), ("b", 2)], Types.ROW_NAMED(["k", "m"], [Types.STRING(), Types.INT()]))
        t.create_temporary_view("late", t.from_data_stream(late))
        t.execute_sql(
            "CREATE TEMPORARY VIEW joined AS SELECT t.k, t.ts, t.n FROM t JOIN late ON t.k = late.k"
        )
        assert kept(t.sql_query(DEDUPLICATION.format(time="ts", way="", table="joined"))) == [
            ("a", 0),
            ("b", 1),
        ]
        both = "SELECT x.n, t.n FROM joined AS x JOIN t ON x.k = t.k AND x.ts BETWEEN t.ts AND t.ts"
        assert sorted(rows(t.sql_query(both))) == [(i, i) for i in range(5)]
        sums = t.sql_query("SELECT ts, SUM(n) OVER (PARTITION BY k ORDER BY ts) FROM joined")
        assert seconds(kept(sums)) == [(1, 0), (3, 1), (6, 2), (11, 4), (30, 6)]


def test_records_of_a_lost_time_have_no_timestamp() -> None:
    """Two rowtimes cannot both be the timestamp of a record; those that are lost do not count."""
    with tables() as t:
        t.create_temporary_view("t", timed(t))
        two = "SELECT x.ts, y.ts AS other FROM t AS x JOIN t AS y ON x.k = y.k{}"
        with pytest.raises(TableException, match="more than one rowtime attribute"):
            t.to_data_stream(t.sql_query(two.format(" AND x.ts BETWEEN y.ts AND y.ts")))
        made: Any = t.to_data_stream(t.sql_query(two.format("")))
        with made.execute_and_collect() as found:
            assert sum(1 for _ in found) == 13


PLACES = [
    # what the planner finds
    ("SELECT SUM(n)\n FROM joined GROUP BY TUMBLE(ts, INTERVAL '1' SECOND)", "ts,"),
    ("SELECT SUM(n)\n FROM joined GROUP BY HOP(p, INTERVAL '1' SECOND, INTERVAL '2' SECOND)", "p,"),
    ("SELECT SUM(n)\n FROM grouped GROUP BY SESSION(ts, INTERVAL '1' SECOND)", "ts,"),
    (f"SELECT *\n FROM {CUT.format('joined', 'ts')}", "ts)"),
    ("SELECT *\n FROM TABLE(SESSION(TABLE semi, DESCRIPTOR(ts), INTERVAL '1' SECOND))", "ts)"),
    (OVER.format(time="ts", frame=BACK).replace(" FROM", "\n FROM"), "ts ROWS"),
    ("SELECT *\n FROM joined ORDER BY k, ts", "k, ts"),
    (MATCHED.format(time="p").replace(" FROM", "\n FROM"), "p MEASURES"),
    ("SELECT a.k\n FROM a JOIN v FOR SYSTEM_TIME AS OF a.ts + INTERVAL '1' SECOND ON a.k = v.k", "a.ts +"),
    ("SELECT a.k\n FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k", "a.ts ON"),
    ("SELECT a.k\n FROM a JOIN v FOR SYSTEM_TIME AS OF a.ts ON a.n = v.n", "a.n ="),
    # what the binder finds
    ("SELECT SUM(n)\n FROM a GROUP BY TUMBLE(ts + INTERVAL '1' SECOND, INTERVAL '1' SECOND)", "ts +"),
    ("SELECT SUM(n)\n FROM a GROUP BY SESSION(CAST(ts AS TIMESTAMP(3)), INTERVAL '1' SECOND)", "CAST("),
]


@pytest.mark.parametrize(("query", "marked"), PLACES)
def test_an_error_says_where(t: StreamTableEnvironment, query: str, marked: str) -> None:
    with pytest.raises((TableException, SqlValidationError)) as found:
        t.explain_sql(query)
    error: Any = found.value
    lines = query.split("\n")
    assert (error.line, error.column) == next(
        (i, line.rindex(marked) + 1) for i, line in reversed(list(enumerate(lines, 1))) if marked in line
    ), str(error)
    shown, marks = error.detail.split("\n")[-2:]
    assert shown[marks.index("^") :].startswith(marked.split(" ")[0].rstrip(",)"))


def test_a_window_over_an_expression_is_refused_with_the_words_for_a_lost_time(
    t: StreamTableEnvironment,
) -> None:
    for time, type_ in (("ts + INTERVAL '1' SECOND", "3"), ("CAST(ts AS TIMESTAMP(6))", "6")):
        for window in ("TUMBLE({}, {})", "HOP({}, {}, {})", "SESSION({}, {})"):
            call = window.format(time, *["INTERVAL '1' SECOND"] * 2)
            with pytest.raises(SqlValidationError) as found:
                t.explain_sql(f"SELECT SUM(n) FROM a GROUP BY {call}")
            assert (
                "Window aggregate can only be defined over a time attribute column, but "
                f"TIMESTAMP({type_}) encountered." in str(found.value)
            )
    with pytest.raises(SqlValidationError, match=r"Cannot apply '\$TUMBLE' to arguments of type"):
        t.explain_sql("SELECT SUM(n) FROM a GROUP BY TUMBLE(n, INTERVAL '1' SECOND)")


def test_in_batch_mode_any_timestamp_has_windows() -> None:
    with batch_tables() as t:
        t.execute_sql(
            "CREATE VIEW s AS SELECT * FROM (VALUES (1, TIMESTAMP '2020-01-01 00:00:01'), "
            "(2, TIMESTAMP '2020-01-01 00:00:03'), (4, TIMESTAMP '2020-01-01 00:00:11')) AS x (n, ts)"
        )
        windows = "SELECT TUMBLE_START(ts, INTERVAL '10' SECOND), TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND), "
        found = rows(t.sql_query(f"{windows} SUM(n) FROM s GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)"))
    start = dt.datetime(2020, 1, 1)
    last = dt.timedelta(milliseconds=9999)
    ten = dt.timedelta(seconds=10)
    assert sorted(found) == [(start, start + last, 3), (start + ten, start + ten + last, 4)]
