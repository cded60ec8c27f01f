"""Rules do not change what a query means: plans before and after, on random tables, by the same
interpreter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.sql.logical import Correlate, SetOperation, TableCall
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.sql.rules.decorrelate import is_correlated
from firesteel.sql.rules.optimize import RULES, optimize
from firesteel.sql.rules.trees import walk_plan
from tests.sql import support
from tests.sql.rules.reference import Row, bag, run

CATALOG = support.catalog(
    "CREATE TABLE l (a INT, b INT, k INT NOT NULL)", "CREATE TABLE r (a INT, c INT, k INT NOT NULL)"
)

QUERIES = (
    "SELECT a, b FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.a = l.a)",
    "SELECT a, b FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.a = l.a AND r.c > l.b)",
    "SELECT a FROM l WHERE EXISTS (SELECT 1 FROM r)",
    "SELECT a FROM l WHERE a IN (SELECT a FROM r)",
    "SELECT a FROM l WHERE a NOT IN (SELECT a FROM r)",
    "SELECT a FROM l WHERE k NOT IN (SELECT k FROM r)",
    "SELECT a FROM l WHERE a NOT IN (SELECT a FROM r WHERE r.c = l.b)",
    "SELECT a FROM l WHERE (a, b) IN (SELECT a, c FROM r)",
    "SELECT a, a IN (SELECT a FROM r), b FROM l",
    "SELECT a, a NOT IN (SELECT a FROM r) FROM l",
    "SELECT a, k IN (SELECT k FROM r) FROM l",
    "SELECT a, a IN (SELECT a FROM r WHERE r.c = l.b) FROM l",
    "SELECT a, EXISTS (SELECT 1 FROM r WHERE r.a = l.a) FROM l",
    "SELECT a FROM l WHERE a = 1 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
    "SELECT a FROM l WHERE a = 1 OR a IN (SELECT a FROM r)",
    "SELECT a FROM l WHERE (CASE WHEN a IN (SELECT a FROM r) THEN 1 ELSE 2 END) IN (SELECT c "
    "FROM r WHERE r.k = l.k)",
    "SELECT a, (SELECT MAX(c) FROM r WHERE r.k = l.k) FROM l",
    "SELECT a, (SELECT COUNT(*) FROM r WHERE r.a = l.a) FROM l",
    "SELECT a, (SELECT COUNT(*) + 1 FROM r WHERE r.a = l.a) FROM l",
    "SELECT a FROM l WHERE b > (SELECT MIN(c) FROM r WHERE r.k = l.k)",
    "SELECT a, (SELECT MAX(c) FROM r) FROM l",
    "SELECT a, (SELECT c FROM r WHERE r.k = l.k ORDER BY c LIMIT 1) FROM l",
    "SELECT a FROM l WHERE a > ALL (SELECT a FROM r WHERE r.k = l.k)",
    "SELECT a FROM l WHERE a <= SOME (SELECT a FROM r)",
    "SELECT a FROM l WHERE NOT (a > ALL (SELECT a FROM r WHERE r.k = l.k))",
    "SELECT a FROM l WHERE NOT (a = SOME (SELECT c FROM r))",
    "SELECT a FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.a = l.a AND r.c IN (SELECT b FROM l "
    "AS x WHERE x.k = r.k))",
    "SELECT a FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND EXISTS (SELECT 1 FROM r "
    "AS y WHERE y.a = l.a))",
    "SELECT l.a, x.c FROM l, LATERAL (SELECT c FROM r WHERE r.k = l.k) AS x",
    "SELECT l.a, x.c FROM l LEFT JOIN LATERAL (SELECT c FROM r WHERE r.k = l.k AND r.c > l.b) AS x ON TRUE",
    "SELECT l.a, x.s FROM l, LATERAL (SELECT SUM(c) AS s FROM r WHERE r.k = l.k GROUP BY r.a) AS x",
    "SELECT l.a, r.c FROM l JOIN r ON l.k = r.k AND l.a > 1 WHERE r.c < 3 AND l.b = r.a",
    "SELECT l.a, r.c FROM l LEFT JOIN r ON l.k = r.k AND r.c > 1 AND l.a < 3",
    "SELECT l.a, r.c FROM l LEFT JOIN r ON l.k = r.k WHERE r.c > 1",
    "SELECT l.a, r.c FROM l LEFT JOIN r ON l.k = r.k WHERE r.c IS NULL",
    "SELECT l.a, r.c FROM l RIGHT JOIN r ON l.k = r.k WHERE l.a = 1 OR r.c = 2",
    "SELECT l.a, r.c FROM l FULL JOIN r ON l.k = r.k WHERE l.a > 0",
    "SELECT l.a, r.c FROM l FULL JOIN r ON l.k = r.k WHERE l.a > 0 AND r.c > 0",
    "SELECT k, b, r.c FROM l FULL JOIN r USING (k)",
    "SELECT * FROM l NATURAL JOIN r",
    "SELECT x.k, y.k FROM (SELECT k, SUM(a) AS s FROM l GROUP BY k) AS x JOIN r AS y ON x.s = "
    "y.a WHERE x.k > 1 AND x.s > 0",
    "SELECT k, n FROM (SELECT k, COUNT(*) AS n, SUM(a) AS s FROM l GROUP BY k) WHERE n > 1",
    "SELECT k, SUM(a) FILTER (WHERE b > 1), COUNT(DISTINCT b) FROM l GROUP BY k HAVING COUNT(*) > 1",
    "SELECT k, a, COUNT(*) FROM l GROUP BY CUBE(k, a)",
    "SELECT k, COUNT(*) FROM (SELECT * FROM l WHERE a > 1) WHERE b > 0 OR FALSE GROUP BY "
    "GROUPING SETS ((k), ())",
    "SELECT a, k FROM l UNION SELECT a, k FROM r",
    "SELECT a FROM (SELECT a, k FROM l UNION ALL SELECT c, k FROM r) WHERE k > 1",
    "SELECT a FROM l INTERSECT SELECT a FROM r",
    "SELECT a FROM l EXCEPT SELECT a FROM r",
    "SELECT a FROM l INTERSECT ALL SELECT a FROM r",
    "SELECT a FROM l EXCEPT ALL SELECT a FROM r",
    "SELECT a FROM l UNION ALL SELECT a FROM r INTERSECT SELECT b FROM l",
    "SELECT a, n FROM (SELECT a, k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a, b) AS n FROM "
    "l) WHERE n <= 2 AND k = 1",
    "SELECT k FROM (SELECT a, k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a, b) AS n FROM l) WHERE n = 1",
    "SELECT a + 1, CASE WHEN a > 1 THEN 'x' WHEN TRUE THEN 'y' ELSE 'z' END FROM l WHERE NOT (a "
    "> 2) AND 1 + 1 = 2",
    "SELECT a FROM l WHERE a > 1 AND FALSE",
    "SELECT k, ROW_NUMBER() OVER (ORDER BY COUNT(*), k), SUM(a) FROM l GROUP BY k",
    "SELECT k, n FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY MAX(b) ORDER BY k) AS n FROM "
    "l GROUP BY k) WHERE n = 1",
    "SELECT k FROM l GROUP BY k HAVING COUNT(*) > (SELECT COUNT(*) FROM r)",
    "SELECT k FROM l GROUP BY k HAVING k IN (SELECT a FROM r WHERE r.k = l.k)",
    "SELECT k, SUM(a) + 1, (SELECT COUNT(*) FROM r WHERE r.k = l.k) FROM l GROUP BY k",
    "SELECT a FROM l QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY a, b) = 1",
    "SELECT v.x, l.a FROM (VALUES (1, 2), (2, 3)) AS v(x, y) JOIN l ON l.a = v.y",
    "WITH q AS (SELECT k, MAX(a) AS m FROM l GROUP BY k) SELECT x.k, y.m FROM q AS x JOIN q AS "
    "y ON x.m = y.m WHERE x.k > 1",
    "SELECT DISTINCT a FROM l ORDER BY a",
    "SELECT a FROM l ORDER BY b DESC, a, k LIMIT 3",
    "SELECT a FROM (SELECT a, b FROM l ORDER BY a, b, k LIMIT 3) WHERE b > 1",
)

value = st.one_of(st.none(), st.integers(0, 3))
rows = st.lists(st.tuples(value, value, st.integers(0, 2)), max_size=6)


@pytest.mark.parametrize("sql", QUERIES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(left=rows, right=rows)
def test_rules_keep_the_meaning(sql: str, left: Sequence[Row], right: Sequence[Row]) -> None:
    """The optimised plan gives the rows of the plan as written."""
    plan = support.bind(CATALOG, sql)
    made = optimize(plan)
    tables = {"l": left, "r": right}
    before, after = run(plan, tables), run(made, tables)
    assert bag(before) == bag(after)
    assert made.row.names == plan.row.names
    if "ORDER BY" in sql and "OVER" not in sql and "(" not in sql:
        assert before == after


@pytest.mark.parametrize("sql", QUERIES)
def test_what_the_planner_may_rely_on(sql: str) -> None:
    """No sub-query, no row outside, no INTERSECT is left; a second run changes nothing that counts."""
    made = optimize(support.bind(CATALOG, sql))
    assert not is_correlated(made)
    for node in walk_plan(made):
        assert not (isinstance(node, SetOperation) and node.kind != "UNION")
        assert not isinstance(node, Correlate) or isinstance(node.right, TableCall)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_that_has_nothing_to_do_gives_the_same_plan(rule) -> None:  # type: ignore[no-untyped-def]
    """So shared parts of a plan stay shared."""
    plan = optimize(support.bind(CATALOG, "SELECT a, b, k FROM l"))
    assert rule(plan) == plan


def test_what_no_join_says_is_refused() -> None:
    from firesteel.common.errors import UnsupportedFeatureError

    plan = support.bind(CATALOG, "SELECT a, (SELECT SUM(c) FROM r WHERE r.c < l.a) FROM l")
    with pytest.raises(UnsupportedFeatureError, match="reads the row outside"):
        optimize(plan)


def test_unknown_columns_of_a_sub_query_are_found_outside_or_refused() -> None:
    with pytest.raises(SqlValidationError, match="Column 'zz' not found in any table"):
        support.bind(CATALOG, "SELECT a FROM l WHERE EXISTS (SELECT 1 FROM r WHERE zz = 1)")
