"""Each rule by itself, before and after: ``golden/NAME.txt`` has the query, the plan as written and the
plan that the rule makes of it. ``python -m tests.sql.rules.test_golden`` writes them anew; what it writes
is to be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.sql.logical import Node
from firesteel.sql.logical_text import logical_text
from firesteel.sql.rules.empty_inputs import prune_empty_inputs
from firesteel.sql.rules.fold_constants import fold_constants
from firesteel.sql.rules.lateral_queries import lateral_queries_to_joins
from firesteel.sql.rules.prune_columns import prune_columns
from firesteel.sql.rules.push_filters import push_filters
from firesteel.sql.rules.set_operations import set_operations_to_joins
from firesteel.sql.rules.subqueries import subqueries_to_joins
from tests.sql import support

CATALOG = support.catalog(
    "CREATE TABLE l (a INT, b INT, k INT NOT NULL)",
    "CREATE TABLE r (a INT, c INT, k INT NOT NULL)",
    "CREATE TABLE w (id INT, x STRING, ts TIMESTAMP(3), PRIMARY KEY (id) NOT "
    "ENFORCED, WATERMARK FOR ts AS ts)",
)
FOLDER = Path(__file__).with_name("golden")

CASES: dict[str, tuple[Callable[[Node], Node], tuple[str, ...]]] = {
    "subqueries": (
        subqueries_to_joins,
        (
            "SELECT a FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
            "SELECT a FROM l WHERE a NOT IN (SELECT a FROM r)",
            "SELECT a FROM l WHERE b > (SELECT MIN(c) FROM r WHERE r.k = l.k)",
            "SELECT a, (SELECT COUNT(*) FROM r WHERE r.k = l.k) FROM l",
            "SELECT a, k IN (SELECT k FROM r) FROM l",
        ),
    ),
    "lateral_queries": (
        lateral_queries_to_joins,
        (
            "SELECT l.a, x.c FROM l, LATERAL (SELECT c FROM r WHERE r.k = l.k ORDER BY c LIMIT 2) AS x",
            "SELECT l.a, x.s FROM l LEFT JOIN LATERAL (SELECT SUM(c) AS s FROM r "
            "WHERE r.k = l.k) AS x ON TRUE",
        ),
    ),
    "set_operations": (
        set_operations_to_joins,
        ("SELECT a FROM l INTERSECT SELECT a FROM r", "SELECT k FROM l EXCEPT ALL SELECT k FROM r"),
    ),
    "empty_inputs": (
        prune_empty_inputs,
        (
            "SELECT COUNT(*), SUM(a), MIN(b) FROM l WHERE FALSE",
            "SELECT COUNT(*) + 1 FROM l JOIN r ON l.a = r.a AND FALSE HAVING COUNT(*) = 0",
            "SELECT a, COUNT(*) FROM l WHERE a > 3 AND a <= 3 GROUP BY a",
            "SELECT a FROM l WHERE a >= 3 AND a <= 3 AND k <> k UNION ALL "
            "SELECT a FROM r WHERE 2 < a AND a = 2",
            "SELECT a FROM l WHERE a >= 3 AND a <= 3 AND b < 7",
            "SELECT l.a, c FROM l LEFT JOIN (SELECT * FROM r LIMIT 0) AS r ON l.a = r.a",
            "SELECT COUNT(*), AVG(a) FROM l WHERE FALSE",
            "SELECT COUNT(*), VAR_POP(a) FROM l WHERE FALSE",
        ),
    ),
    "fold_constants": (
        fold_constants,
        (
            "SELECT a + 1, 1 + 2 * 3, CASE WHEN 1 = 2 THEN a ELSE b END FROM l WHERE NOT (a > 2) AND TRUE",
            "SELECT a FROM l WHERE 1 > 2",
            "SELECT a FROM l WHERE k IS NOT NULL AND a IN (1, 2) OR FALSE",
        ),
    ),
    "push_filters": (
        push_filters,
        (
            "SELECT * FROM (SELECT a + 1 AS x, k FROM l) WHERE x > 3 AND k = 1",
            "SELECT l.a FROM l LEFT JOIN r ON l.k = r.k AND r.a > 1 WHERE r.c > 2 AND l.b = 1",
            "SELECT k FROM (SELECT k, COUNT(*) AS n FROM l GROUP BY k) WHERE k > 1 AND n > 2",
            "SELECT id FROM w WHERE id = 1",
            "SELECT a FROM (SELECT a, k, ROW_NUMBER() OVER (PARTITION BY k ORDER "
            "BY a) AS n FROM l) WHERE n = 1 AND k = 2",
        ),
    ),
    "prune_columns": (
        prune_columns,
        (
            "SELECT a FROM (SELECT a, b + 1 AS x, k FROM l)",
            "SELECT x FROM w",
            "SELECT l.a FROM l JOIN r ON l.k = r.k",
            "SELECT n FROM (SELECT k, COUNT(*) AS n, SUM(a) AS s FROM l GROUP BY k)",
            "SELECT a FROM (SELECT a, b, ROW_NUMBER() OVER (ORDER BY a) AS n FROM l)",
        ),
    ),
}


def _text(rule: Callable[[Node], Node], queries: tuple[str, ...]) -> str:
    parts = []
    for sql in queries:
        plan = support.bind(CATALOG, sql)
        parts.append(
            f"{sql}\n\nbefore\n{logical_text(plan).rstrip()}\n\nafter\n{logical_text(rule(plan)).rstrip()}\n"
        )
    return ("\n" + "-" * 100 + "\n").join(parts)


@pytest.mark.row("S-SQL-03")
@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    rule, queries = CASES[name]
    assert _text(rule, queries) == (FOLDER / f"{name}.txt").read_text()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for case, (its_rule, its_queries) in CASES.items():
        (FOLDER / f"{case}.txt").write_text(_text(its_rule, its_queries))
