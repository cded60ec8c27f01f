"""What plans say was pushed into a source, as Flink 2.3 shows it."""

from __future__ import annotations

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    files = f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path_factory.mktemp('f')}', 'format' = 'json')"
    env.execute_sql(f"CREATE TABLE f (a INT, b BIGINT, c STRING) {files}")
    env.execute_sql(
        f"CREATE TABLE m (a INT, b BIGINT, path STRING METADATA FROM 'file.path' VIRTUAL, d DOUBLE) {files}"
    )
    return env


@pytest.mark.parametrize(
    ("sql", "scan"),
    [
        ("SELECT a FROM f", "f, project=[a], metadata=[]]], fields=[a]"),
        ("SELECT a, b, c FROM f", "f]], fields=[a, b, c]"),
        (
            "SELECT b, a FROM f WHERE a > 3",
            "f, filter=[>(a, 3)], project=[a, b], metadata=[]]], fields=[a, b]",
        ),
        ("SELECT a, path FROM m", "m, project=[a], metadata=[file.path]]], fields=[a, path]"),
    ],
)
def test_a_scan(env, sql, scan):
    text = env.explain_sql(sql)
    assert f"TableSourceScan(table=[[default_catalog, default_database, {scan})" in text
