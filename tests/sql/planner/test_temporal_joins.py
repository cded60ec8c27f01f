"""Joins with the versions of a table: what their plans keep."""

from __future__ import annotations

import pytest

from tests.table.support import tables


@pytest.mark.row("S-SQL-20")
def test_the_time_of_a_versioned_view_need_not_be_read() -> None:
    """Broken by hand: ``prune_columns._snapshot`` keeps what is read."""
    with tables() as t:
        for name in ("orders", "rates"):
            t.execute_sql(
                f"CREATE TABLE {name} (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
                "WITH ('connector' = 'datagen')"
            )
        t.execute_sql(
            "CREATE VIEW versions AS SELECT k, v, ts FROM ("
            "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS r FROM rates) WHERE r = 1"
        )
        plan = t.explain_sql(
            "SELECT o.v, x.v FROM orders AS o JOIN versions FOR SYSTEM_TIME AS OF o.ts AS x ON o.k = x.k"
        )
    assert "TemporalJoin" in plan
