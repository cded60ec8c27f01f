"""Tables of upserts: where their watermarks are made."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from firesteel.common import Row, RowKind
from firesteel.common.typeinfo import Types
from firesteel.table import ChangelogMode, Schema, StreamTableEnvironment
from tests.table.support import kept, stream_of, tables

PUT, GONE = RowKind.UPDATE_AFTER, RowKind.DELETE


def upserts(
    t: StreamTableEnvironment, name: str, given: list[tuple[RowKind, str, int, int]], computed: bool = False
) -> None:
    """A table ``(k, v, ts)`` of changes ``(kind, k, v, second)``."""
    rows = [Row.of_kind(kind, k, v, second * 1000) for kind, k, v, second in given]
    fields = Types.ROW_NAMED(["k", "v", "ms"], [Types.STRING(), Types.INT(), Types.LONG()])
    schema = Schema.new_builder().column("k", "STRING NOT NULL").column("v", "INT")
    if computed:
        schema = schema.column("ms", "BIGINT").column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
    else:
        start = dt.datetime(1970, 1, 1)
        rows = [Row.of_kind(kind, k, v, start + dt.timedelta(seconds=second)) for kind, k, v, second in given]
        fields = Types.ROW_NAMED(["k", "v", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
        schema = schema.column("ts", "TIMESTAMP(3)")
    built = schema.watermark("ts", "ts").primary_key("k").build()
    stream = stream_of(t, rows, fields)
    t.create_temporary_view(name, t.from_changelog_stream(stream, built, ChangelogMode.upsert()))


@pytest.mark.row("S-SQL-12")
@pytest.mark.parametrize("computed", [False, True], ids=["column", "computed column"])
def test_changes_of_one_key_do_not_make_those_of_others_late(computed: bool) -> None:
    """They are given out key by key, so no watermark may be made of that order."""
    given = [(PUT, "a", 1, 1), (PUT, "b", 2, 2), (PUT, "b", 4, 35), (PUT, "a", 3, 65)]
    query = (
        "SELECT SUM(v) FROM TABLE(TUMBLE(TABLE changes, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY window_start, window_end"
    )
    with tables() as t:
        t.get_config().set("pipeline.auto-watermark-interval", "0 ms")
        upserts(t, "changes", given, computed)
        found: list[tuple[Any, ...]] = kept(t.sql_query(query))
        plan = t.explain_sql(query).partition("== Optimized Physical Plan ==")[2]
    assert found == [(3,), (4,)]
    assert plan.index("ChangelogNormalize") < plan.index("WatermarkAssigner")


def _sent(t: StreamTableEnvironment, query: str) -> list[str]:
    """What a stream of upserts is given."""
    schema = Schema.new_builder().column("k", "STRING NOT NULL").column("v", "INT").primary_key("k").build()
    stream = t.to_changelog_stream(t.sql_query(query), schema, ChangelogMode.upsert())
    with stream.execute_and_collect() as rows:
        return [f"{row.get_row_kind()}[{', '.join(map(str, row))}]" for row in rows]


_GIVEN = [(PUT, "a", 1, 1), (PUT, "a", 1, 2), (GONE, "b", 7, 3), (PUT, "b", 2, 4), (GONE, "b", 9, 5)]
_AS_GIVEN = ["+U[a, 1]", "+U[a, 1]", "-D[b, 7]", "+U[b, 2]", "-D[b, 9]"]


@pytest.mark.row("S-SQL-12")
@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("SELECT k, v FROM changes", _AS_GIVEN),
        ("SELECT k, v FROM changes WHERE k <> 'x'", _AS_GIVEN),
        # The old value says whether a row was there.
        ("SELECT k, v FROM changes WHERE v > 1", ["+I[b, 2]", "-D[b, 2]"]),
    ],
)
def test_upserts_go_on_as_they_are_where_nobody_needs_old_rows(query: str, sent: list[str]) -> None:
    """As in Flink, which leaves ``ChangelogNormalize`` out then: a first row may be +U, rows may come again,
    and a deleted one has what its source says of it."""
    with tables() as t:
        upserts(t, "changes", _GIVEN)
        assert sorted(_sent(t, query)) == sorted(sent)


@pytest.mark.row("S-SQL-20")
def test_a_version_is_valid_until_the_time_of_its_delete() -> None:
    """With ``ChangelogNormalize`` below the join, the delete had the time of the row that it takes away."""
    with tables() as t:
        upserts(t, "orders", [(PUT, "x", 1, 3), (PUT, "y", 2, 5)])
        upserts(t, "rates", [(PUT, "r", 10, 1), (GONE, "r", 10, 4), (PUT, "s", 1, 9)])
        t.execute_sql("CREATE TEMPORARY VIEW o AS SELECT 'r' AS c, v, ts FROM orders")
        query = "SELECT o.v, r.v FROM o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.c = r.k"
        found: list[tuple[Any, ...]] = kept(t.sql_query(query))
    assert found == [(1, 10), (2, None)]


@pytest.mark.row("S-SQL-12")
def test_a_second_row_of_a_key_updates_the_first_in_a_stream_of_upserts() -> None:
    """As in Flink, where nothing has to be said of conflicts: rows of a query that appends, by the key of the
    stream."""
    with tables() as t:
        t.get_config().set("table.exec.sink.require-on-conflict", "false")
        query = "SELECT k, v FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) AS x(k, v)"
        assert sorted(_sent(t, query)) == ["+I[a, 1]", "+I[b, 2]", "+U[a, 3]"]
