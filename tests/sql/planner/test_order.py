"""What rows may be put in order by."""

from __future__ import annotations

import pytest

from firesteel.sql.planner.errors import PlanningError
from tests.table.support import tables

_VALUES = (
    "(SELECT n, MAP[n, 1] AS m, ARRAY[MAP[n, 1]] AS ms, PARSE_JSON(CAST(n AS STRING)) AS v, "
    "ROW(1, PARSE_JSON('2')) AS r, BITMAP_BUILD(ARRAY[n]) AS b, ARRAY[n] AS a FROM (VALUES (2), (1)) AS t(n))"
)
_QUERIES = {
    "sort": "SELECT n FROM {} ORDER BY {} LIMIT 1",
    "rank": "SELECT n FROM (SELECT n, ROW_NUMBER() OVER (PARTITION BY n ORDER BY {1}) AS i FROM {0}) "
    "WHERE i < 3",
    "over": "SELECT SUM(n) OVER (ORDER BY {1}) FROM {0}",
}


@pytest.mark.row("S-SQL-10")
@pytest.mark.parametrize("query", _QUERIES.values(), ids=_QUERIES)
@pytest.mark.parametrize(
    ("column", "kind"), [("m", "MAP"), ("ms", "MAP"), ("v", "VARIANT"), ("r", "VARIANT"), ("b", "BITMAP")]
)
def test_values_without_an_order_are_refused(query: str, column: str, kind: str) -> None:
    with tables() as t, pytest.raises(PlanningError, match=rf"Type\({kind}.*is not an orderable data type"):
        t.explain_sql(query.format(_VALUES, column))


@pytest.mark.parametrize("query", _QUERIES.values(), ids=_QUERIES)
def test_arrays_have_an_order(query: str) -> None:
    with tables() as t:
        assert t.explain_sql(query.format(_VALUES, "a"))
