"""Inner joins are put into the order that makes the fewest rows, and mean the same."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.sql import logical as l
from firesteel.sql.catalog import ResolvedTable
from firesteel.sql.rules.estimates import estimate
from firesteel.sql.rules.optimize import optimize
from firesteel.sql.rules.push_filters import push_filters
from firesteel.sql.rules.reorder_joins import reorder_joins
from firesteel.sql.statistics import ColumnStatistics, TableStatistics
from tests.sql import support
from tests.sql.rules.reference import Row, bag, run

CATALOG = support.catalog(
    *(f"CREATE TABLE t{n} (a INT, b INT, k INT NOT NULL)" for n in range(4)),
    "CREATE TABLE sales (item INT, shop INT, nr INT)",
    "CREATE TABLE items (item INT, kind INT)",
    "CREATE TABLE shops (shop INT, town INT)",
    "CREATE TABLE towns (town INT, land STRING)",
    "CREATE TABLE clicks (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
    "CREATE TABLE looks (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
    *(f"CREATE TABLE c{n} (x{n} INT, x{n + 1} INT)" for n in range(15)),
)
# A million sales of 50,000 items in 1,000 shops of 100 towns.
SHOPS = {
    "sales": TableStatistics(1_000_000, {"item": ColumnStatistics(50_000), "shop": ColumnStatistics(1_000)}),
    "items": TableStatistics(50_000, {"item": ColumnStatistics(50_000), "kind": ColumnStatistics(10)}),
    "shops": TableStatistics(1_000, {"shop": ColumnStatistics(1_000), "town": ColumnStatistics(100)}),
    "towns": TableStatistics(100, {"town": ColumnStatistics(100), "land": ColumnStatistics(20)}),
    "clicks": TableStatistics(10),
    "looks": TableStatistics(1_000_000),
}


def known(statistics: dict[str, TableStatistics]) -> Any:
    def of(table: ResolvedTable) -> TableStatistics | None:
        assert table.path is not None
        return statistics.get(table.path.name)

    return of


def order(plan: l.Node) -> Any:
    """The names of tables, nested as their joins are; other nodes left out."""
    if isinstance(plan, l.Scan):
        return plan.table.path.name
    inner = tuple(order(node) for node in plan.inputs)
    return inner if isinstance(plan, l.Join) else inner[0]


def reordered(sql: str, statistics: dict[str, TableStatistics] = SHOPS, most_bushy: int = 12) -> Any:
    plan = push_filters(support.bind(CATALOG, sql))
    return order(reorder_joins(plan, known(statistics), most_bushy))


JOINED = (
    "SELECT * FROM sales JOIN items ON sales.item = items.item JOIN shops ON sales.shop = shops.shop "
    "JOIN towns ON shops.town = towns.town"
)


@pytest.mark.row("S-SQL-03")
def test_what_leaves_few_rows_comes_first() -> None:
    few_towns = reordered(f"{JOINED} WHERE towns.land = 'NZ'")
    assert few_towns == (("sales", ("shops", "towns")), "items")
    few_items = reordered(f"{JOINED} WHERE items.item = 7")
    assert few_items == ((("sales", "items"), "shops"), "towns")
    assert reordered(f"{JOINED} WHERE towns.land = 'NZ'", most_bushy=2) == (
        (("shops", "towns"), "sales"),
        "items",
    )


def test_joins_from_a_comma_list() -> None:
    sql = "SELECT * FROM towns, items, shops, sales WHERE sales.item = items.item AND sales.shop = shops.shop"
    assert reordered(
        f"{sql} AND shops.town = towns.town AND town.land = 'NZ'".replace("town.land", "towns.land")
    ) == (
        (("towns", "shops"), "sales"),
        "items",
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM sales JOIN items ON sales.item = items.item",  # two tables
        JOINED.replace("items", "t0").replace("t0.item", "t0.a"),  # nothing is known of t0
        JOINED.replace("JOIN shops", "LEFT JOIN shops").replace("JOIN towns", "LEFT JOIN towns"),
        JOINED.replace("SELECT", "SELECT /*+ BROADCAST(shops) */") + " WHERE towns.land = 'NZ'",
        JOINED.replace("shops.town = towns.town", "shops.town = towns.town AND RAND() < 0.5"),
        # an interval join needs the times of both of its sides
        "SELECT * FROM looks JOIN clicks ON looks.id = clicks.id AND clicks.ts BETWEEN looks.ts AND looks.ts "
        "+ INTERVAL '1' HOUR JOIN items ON items.item = looks.id",
    ],
)
def test_what_stays_as_it_is_written(sql: str) -> None:
    plan = push_filters(support.bind(CATALOG, sql))
    assert order(reorder_joins(plan, known(SHOPS), 12)) == order(plan)


def test_joins_below_other_nodes_have_an_order_of_their_own() -> None:
    below = f"SELECT land, COUNT(*) AS n FROM ({JOINED} WHERE towns.land = 'NZ') GROUP BY land"
    assert reordered(below) == (("sales", ("shops", "towns")), "items")
    outer = f"SELECT * FROM items LEFT JOIN ({JOINED} WHERE land = 'NZ') AS x (i, s, d, i2, k, s2, t, t2, l)"
    assert reordered(f"{outer} ON items.item = x.i") == ("items", (("sales", ("shops", "towns")), "items"))


def joined(tree: Any) -> set[frozenset[str]]:
    """What is joined before the last join, whichever side it is of another join."""
    if isinstance(tree, str):
        return set()
    return {frozenset(leaves(side)) for side in tree if not isinstance(side, str)}.union(*map(joined, tree))


def leaves(tree: Any) -> list[str]:
    return [tree] if isinstance(tree, str) else [name for side in tree for name in leaves(side)]


@pytest.mark.parametrize("most_bushy", [2, 10])
def test_many_tables(most_bushy: int) -> None:
    """A chain whose last table has one row is followed from there, by both ways to search."""
    tables = {f"c{n}": TableStatistics(1000, {f"x{n}": ColumnStatistics(100)}) for n in range(9)}
    tables["c9"] = TableStatistics(1)
    chain = "c0 " + " ".join(f"JOIN c{n} ON c{n - 1}.x{n} = c{n}.x{n}" for n in range(1, 10))
    found = reordered(f"SELECT * FROM {chain}", tables, most_bushy)
    assert joined(found) == {frozenset(f"c{n}" for n in range(first, 10)) for first in range(1, 9)}


value = st.one_of(st.none(), st.integers(0, 2))
rows = st.lists(st.tuples(value, value, st.integers(0, 2)), max_size=5)
counts = st.one_of(st.none(), st.integers(1, 50))
said = st.builds(
    lambda n, a, k: TableStatistics(n, {"a": ColumnStatistics(a), "k": ColumnStatistics(k)}),
    st.integers(0, 1000),
    counts,
    counts,
)
QUERIES = (
    "SELECT * FROM t0 JOIN t1 ON t0.k = t1.k JOIN t2 ON t1.a = t2.a JOIN t3 ON t2.b = t3.b",
    "SELECT t3.a, t0.b, t1.k FROM t0, t1, t2, t3 WHERE t0.k = t3.k AND t1.k = t3.a AND t2.b = t0.b "
    "AND t1.a > t2.a",
    "SELECT t0.a, t2.b FROM t0 JOIN (t1 JOIN t2 ON t1.k = t2.k) ON t0.a = t2.a AND t0.b + t1.b = t2.b "
    "WHERE t1.a = 1",
    "SELECT x.k, COUNT(*) FROM t0 AS x JOIN t0 AS y ON x.a = y.a JOIN t1 ON y.k = t1.k AND t1.b < 2 "
    "GROUP BY x.k",
    "SELECT * FROM t0 JOIN t1 ON t0.k = t1.k LEFT JOIN t2 ON t1.a = t2.a JOIN t3 ON t2.b = t3.b "
    "OR t0.a = t3.a",
    "SELECT * FROM t0 JOIN t1 ON t0.k = t1.k JOIN t2 ON t0.k = t2.k WHERE t0.a IN (SELECT a FROM t3)",
)


@pytest.mark.parametrize("sql", QUERIES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables=st.lists(rows, min_size=4, max_size=4), statistics=st.lists(said, min_size=4, max_size=4))
def test_the_meaning_is_kept(
    sql: str, tables: Sequence[Sequence[Row]], statistics: Sequence[TableStatistics]
) -> None:
    plan = support.bind(CATALOG, sql)
    of = known({f"t{n}": found for n, found in enumerate(statistics)})
    for most_bushy in (12, 2):
        made = optimize(plan, lambda node, most=most_bushy: reorder_joins(node, of, most))
        assert made.row.names == plan.row.names
        content = {f"t{n}": content for n, content in enumerate(tables)}
        assert bag(run(plan, content)) == bag(run(made, content))


@pytest.mark.parametrize("statistics", list(itertools.permutations((1, 30, 900))))
def test_the_order_of_costs_is_found(statistics: tuple[int, ...]) -> None:
    """Three tables that all join each other: the two smallest are first, whatever is written."""
    same = {"k": ColumnStatistics(distinct=1)}
    tables = {f"t{n}": TableStatistics(rows, same) for n, rows in enumerate(statistics)}
    found = reordered(
        "SELECT * FROM t0 JOIN t1 ON t0.k = t1.k JOIN t2 ON t1.k = t2.k AND t0.k = t2.k", tables
    )
    flat = found[0] if isinstance(found[0], tuple) else found[1]
    assert {tables[name].rows for name in flat} == {1, 30}


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("item = 7", 10),
        ("item IN (1, 2, 3)", 29.701),
        ("item < 25", 250),
        ("item >= 75", 250),
        ("item BETWEEN 50 AND 60", 100),
        ("item > 90 AND shop = 1 AND 95 > item", 5),
        ("item > 60 AND item < 50", 0),
        ("nr BETWEEN 1 AND 2", 250),
        ("NOT item = 7", 990),
        ("item = 1 AND shop = 2", 1),
        ("item = 1 OR item = 2", 19.9),
        ("shop IS NULL", 100),
        ("shop IS NOT NULL", 900),
        ("nr < 3", 500),  # nothing is known of it
        ("nr = 3", 150),
        ("item < 1000", 1000),
        ("item > 1000", 0),
    ],
)
def test_how_many_rows_a_condition_leaves(condition: str, rows: float) -> None:
    column = ColumnStatistics(distinct=100, nulls=0, low=0, high=100)
    shop = ColumnStatistics(distinct=10, nulls=100)
    statistics = {"sales": TableStatistics(1000, {"item": column, "shop": shop})}
    plan = push_filters(support.bind(CATALOG, f"SELECT * FROM sales WHERE {condition}"))
    found = estimate(plan, known(statistics))
    assert found is not None
    assert found.rows == pytest.approx(rows)


def test_how_many_rows_other_nodes_give() -> None:
    def rows(sql: str) -> float | None:
        found = estimate(support.bind(CATALOG, sql), known(SHOPS))
        return None if found is None else found.rows

    assert rows("SELECT kind, COUNT(*) FROM items GROUP BY kind") == 10
    assert rows("SELECT COUNT(*) FROM items") == 1
    assert rows("SELECT item FROM items UNION ALL SELECT shop FROM shops") == 51_000
    assert rows("SELECT item FROM items ORDER BY item LIMIT 5") == 5
    assert rows("SELECT * FROM (VALUES (1), (2), (2)) AS v (x)") == 3
    assert rows("SELECT * FROM t0") is None
