"""Through Spark's own processes: from a table of PostgreSQL into another, exactly once."""

from __future__ import annotations

from contextlib import closing

import pytest

from firesteel.common import Configuration, Row, Types, WatermarkStrategy
from firesteel.datastream.connectors.jdbc import (
    JdbcNumericBetweenParametersProvider,
    JdbcSink,
    JdbcSource,
    insert_statement,
)
from firesteel.testing import MiniCluster

from .conftest import Target

ROW = Types.ROW_NAMED(["id", "text"], [Types.LONG(), Types.STRING()])
ROWS = 3_000
LONG = 1_000


@pytest.mark.spark
def test_from_table_to_table_with_a_worker_killed(postgres: Target) -> None:
    with closing(postgres.connect()) as db:
        db.execute("CREATE TABLE given (id BIGINT, text TEXT)")
        db.execute("CREATE TABLE taken (id BIGINT, text TEXT)")
        text = f"'text ' || n || repeat('y', {LONG})"  # so much that tasks commit it
        db.execute(f"INSERT INTO given SELECT n, {text} FROM generate_series(1, {ROWS}) AS n")
    options = postgres.options
    builder = JdbcSource.builder().set_sql("SELECT id, text FROM given WHERE id BETWEEN ? AND ?")
    builder.set_type_information(ROW).set_db_url(options.url).set_username(str(options.user))
    builder.set_password(str(options.password))
    provider = JdbcNumericBetweenParametersProvider(1, ROWS).of_batch_num(4)
    source = builder.set_jdbc_parameter_values_provider(provider).build()
    configuration = Configuration()
    configuration.set_string("firesteel.epoch.max-records", "200")
    configuration.set_string("execution.checkpointing.interval", "200 ms")
    with MiniCluster("local[2,4]") as cluster:
        env = cluster.environment(configuration, parallelism=2)
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "given").rebalance()
        upper = rows.map(lambda row: Row(id=row.id, text=row.text.upper()), ROW)
        upper.sink_to(
            JdbcSink.exactly_once_sink(insert_statement("taken", ["id", "text"]), ROW, postgres.connection)
        )
        client = env.execute_async("from table to table")
        while not postgres.run("SELECT 1 FROM taken LIMIT 1"):
            assert not client.get_job_status().result().is_globally_terminal_state()
        cluster.kill_python_worker()
        client.get_job_execution_result().result()
    found = postgres.run("SELECT id, text FROM taken ORDER BY id")
    assert found == [(n, f"TEXT {n}{'Y' * LONG}") for n in range(1, ROWS + 1)]
