"""GROUP BY in two phases: which plans have them, as Flink 2.3 shows them."""

from __future__ import annotations

import pytest

from firesteel.common.options import table as table_options
from firesteel.common.options.checks import without_effect
from firesteel.sql import physical as p
from firesteel.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def env():
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("table.exec.mini-batch.enabled", "true")
    env.get_config().set("table.exec.mini-batch.allow-latency", "10 s")
    env.get_config().set("table.exec.mini-batch.size", "5")
    env.execute_sql("CREATE TABLE s (a INT, b BIGINT, c STRING, d DOUBLE) WITH ('connector' = 'datagen')")
    env.execute_sql("CREATE VIEW r AS SELECT a, MAX(b) b, MAX(c) c FROM s GROUP BY a")
    return env


def lines(env, sql):
    """Of the plan, those of aggregates and exchanges, from the last one on."""
    text = env.explain_sql(sql).split("== Optimized Physical Plan ==")[1].split("== Optimized Ex")[0]
    found = [line.strip(" +-") for line in text.splitlines()]
    return [line for line in found if line.startswith(("Global", "Local", "Group", "Exchange"))]


def test_aggregates_that_are_merged(env):
    assert lines(env, "SELECT a, COUNT(*) n, SUM(b) s, AVG(d) v, MIN(c) m FROM s GROUP BY a") == [
        "GlobalGroupAggregate(groupBy=[a], select=[a, COUNT(count1$0) AS n, SUM(sum$1) AS s, "
        "AVG((sum$2, count$3)) AS v, MIN(min$4) AS m])",
        "Exchange(distribution=[hash[a]])",
        "LocalGroupAggregate(groupBy=[a], select=[a, COUNT(*) AS count1$0, SUM(b) AS sum$1, "
        "AVG(d) AS (sum$2, count$3), MIN(c) AS min$4])",
    ]


def test_distinct_values_travel_with_the_parts(env):
    sql = (
        "SELECT a, COUNT(DISTINCT b) n, COUNT(DISTINCT b) FILTER (WHERE d > 1) m, MAX(b) x FROM s GROUP BY a"
    )
    assert lines(env, sql) == [
        "GlobalGroupAggregate(groupBy=[a], select=[a, COUNT(distinct$0 count$0) AS n, "
        "COUNT(distinct$0 count$1) AS m, MAX(max$2) AS x])",
        "Exchange(distribution=[hash[a]])",
        "LocalGroupAggregate(groupBy=[a], select=[a, COUNT(distinct$0 b) AS count$0, "
        "COUNT(distinct$0 b) FILTER $f2 AS count$1, MAX(b) AS max$2, DISTINCT(b) AS distinct$0])",
    ]


def test_rows_that_are_taken_back(env):
    assert lines(env, "SELECT c, MIN(b) m, COUNT(DISTINCT b) n, SUM(b) q FROM r GROUP BY c")[:3] == [
        "GlobalGroupAggregate(groupBy=[c], select=[c, MIN_RETRACT(min$0) AS m, "
        "COUNT_RETRACT(distinct$0 count$1) AS n, SUM_RETRACT((sum$2, count$3)) AS q])",
        "Exchange(distribution=[hash[c]])",
        "LocalGroupAggregate(groupBy=[c], select=[c, MIN_RETRACT(b) AS min$0, COUNT_RETRACT(distinct$0 b) AS "
        "count$1, SUM_RETRACT(b) AS (sum$2, count$3), COUNT_RETRACT(*) AS count1$4, "
        "DISTINCT(b) AS distinct$0])",
    ]


def test_no_group(env):
    assert lines(env, "SELECT COUNT(*) n, MAX(b) m FROM s") == [
        "GlobalGroupAggregate(select=[COUNT(count1$0) AS n, MAX(max$1) AS m])",
        "Exchange(distribution=[single])",
        "LocalGroupAggregate(select=[COUNT(*) AS count1$0, MAX(b) AS max$1])",
    ]


@pytest.mark.parametrize("call", ["FIRST_VALUE(c)", "LAST_VALUE(c)"])
def test_what_depends_on_the_order_of_all_rows_has_one_phase(env, call):
    first, *_ = lines(env, f"SELECT a, {call} f, COUNT(*) n FROM s GROUP BY a")
    assert first == f"GroupAggregate(groupBy=[a], select=[a, {call} AS f, COUNT(*) AS n])"


@pytest.mark.parametrize(
    ("key", "value"),
    [("table.optimizer.agg-phase-strategy", "ONE_PHASE"), ("table.exec.mini-batch.enabled", "false")],
)
def test_one_phase_where_it_is_asked_for_and_without_mini_batches(env, key, value):
    env.get_config().set(key, value)
    plan = env._session.physical(env.sql_query("SELECT a, COUNT(*) n FROM s GROUP BY a")._node)
    assert p.GroupAggregate in {type(node) for node in p.walk(plan)}


def test_both_levels_of_a_split_distinct_have_two_phases(env):
    env.get_config().set("table.optimizer.distinct-agg.split.enabled", "true")
    plan = env._session.physical(env.sql_query("SELECT a, COUNT(DISTINCT b) n FROM s GROUP BY a")._node)
    names = [node.name for node in p.walk(plan)]
    assert names.count("LocalGroupAggregate") == names.count("GlobalGroupAggregate") == 2


@pytest.mark.row("S-SQL-13")
def test_the_levels_of_a_split_distinct_are_not_joined_into_one_and_that_is_said(env):
    """Flink has an IncrementalGroupAggregate there; the result is the same."""
    env.get_config().set("table.optimizer.distinct-agg.split.enabled", "true")
    said = []
    for incremental in ("true", "false"):
        env.get_config().set("table.optimizer.incremental-agg-enabled", incremental)
        found = lines(env, "SELECT a, COUNT(DISTINCT b) n FROM s GROUP BY a")
        assert [line.split("(")[0] for line in found] == [
            *("GlobalGroupAggregate", "Exchange", "LocalGroupAggregate"),
            *("GlobalGroupAggregate", "Exchange", "LocalGroupAggregate"),
        ]
        said.append(without_effect(env._session.configuration, table_options))
    assert not any("incremental" in line for line in said[0])
    assert any("incremental-agg-enabled has no effect" in line for line in said[1])
