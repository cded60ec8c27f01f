"""What planning costs, counted in work and not in time."""

from __future__ import annotations

import sys

from firesteel.connectors import plugins
from firesteel.sql.connectors import factory
from firesteel.sql.planner import builder
from firesteel.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from firesteel.testing import MiniCluster


def test_a_node_of_an_insert_is_built_once(monkeypatch):
    built = []
    plan = builder.Planner.plan

    def counted(self, node):
        if id(node) not in self._done:
            built.append(type(node).__name__)
        return plan(self, node)

    monkeypatch.setattr(builder.Planner, "plan", counted)
    with MiniCluster.in_process():
        env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        env.execute_sql("CREATE TABLE snk (a INT, n BIGINT) WITH ('connector' = 'blackhole')")
        sql = "INSERT INTO snk SELECT a, COUNT(*) FROM (VALUES (1), (2)) AS t (a) GROUP BY a"
        assert "changelogMode=[NONE]" in env.explain_sql(sql, ExplainDetail.CHANGELOG_MODE)
        built.clear()
        env.execute_sql(sql).wait()
    assert [built.count(name) for name in ("Sink", "Aggregate")] == [1, 1]


def test_installed_packages_are_looked_through_once_for_a_connector(monkeypatch):
    asked = []
    look = plugins.entry_points

    def counted(**more):
        asked.append(more)
        return look(**more)

    monkeypatch.setattr(plugins, "entry_points", counted)
    monkeypatch.setattr(factory, "_looked_for", set())
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name in ("a", "b", "c"):
        env.execute_sql(f"CREATE TABLE {name} (k INT, v STRING) WITH ('connector' = 'datagen')")
    env.explain_sql("SELECT a.k, b.v, c.v FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k")
    assert len(asked) == 1


def test_a_query_of_many_columns_and_joins_is_planned_with_work_in_proportion():
    """Twice the columns and joins: not more than about four times the calls."""
    assert _calls(20, 10) < 6 * _calls(10, 5)


def _calls(columns, joins):
    """How many Python functions are called to plan a query."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    names = [f"c{i}" for i in range(columns)]
    for j in range(joins + 1):
        declared = ", ".join(f"{name} BIGINT" for name in names)
        env.execute_sql(f"CREATE TABLE t{j} (k INT, {declared}) WITH ('connector' = 'datagen')")
    chosen = ", ".join(f"t{j}.{name} AS {name}_{j}" for j in range(joins + 1) for name in names)
    joined = " ".join(f"JOIN t{j} ON t{j - 1}.k = t{j}.k" for j in range(1, joins + 1))
    sql = f"SELECT {chosen} FROM t0 {joined} WHERE t0.c1 > 5 AND t{joins}.c2 < 7"
    env.explain_sql("SELECT 1")  # what is made once is made
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        env._session.physical(env.sql_query(sql)._node)
    finally:
        sys.setprofile(None)
    return count
