"""ON CONFLICT is for sinks that take upserts."""

from __future__ import annotations

import pytest

from firesteel.sql.planner.errors import PlanningError
from tests.table.support import tables


@pytest.mark.row("S-SQL-12")
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT 'a', 1", "because it only accepts INSERT"),
        ("SELECT k, COUNT(*) FROM given GROUP BY k", "because it requires UPDATE_BEFORE"),
    ],
    ids=["appended", "with old rows"],
)
def test_other_sinks_refuse_it(query: str, why: str) -> None:
    with tables() as t:
        t.execute_sql("CREATE TABLE given (k STRING) WITH ('connector' = 'datagen')")
        t.execute_sql("CREATE TABLE shown (k STRING, n BIGINT) WITH ('connector' = 'print')")
        with pytest.raises(PlanningError, match=f"'default_catalog.default_database.shown' is not.*{why}"):
            t.explain_sql(f"INSERT INTO shown {query} ON CONFLICT DO NOTHING")
