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
