"""What a job says of the SQL that it runs: in its view, in the REST API, and when it is shipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from firesteel.cluster.shipped import pack, unpack
from firesteel.table import StreamTableEnvironment
from tests.rest.support import served
from tests.runtime.support import environment, local_platform


@dataclass(frozen=True)
class Sql:
    tables: StreamTableEnvironment
    client: TestClient

    def run(self, statement: str) -> None:
        self.tables.execute_sql(statement).wait()

    def shown(self) -> list[dict[str, Any]]:
        """What the newest job says."""
        job_id = self.client.get("/jobs/overview").json()["jobs"][0]["jid"]
        answer = self.client.get(f"/firesteel/v1/jobs/{job_id}/sql")
        assert answer.status_code == 200
        live = self.client.get(f"/firesteel/v1/jobs/{job_id}").json()
        vertices = {vertex["id"] for vertex in live["vertices"]}
        found: list[dict[str, Any]] = answer.json()["statements"]
        assert live["statements"] == len(found)
        for statement in found:
            assert statement["vertices"]
            assert set(statement["vertices"]) <= vertices
        return found

    def texts(self) -> list[str]:
        return [statement["text"] for statement in self.shown()]


@pytest.fixture
def sql() -> Iterator[Sql]:
    with local_platform(), served() as (client, _):
        tables = StreamTableEnvironment.create(environment(1))
        found = Sql(tables, client)
        found.run("CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
        for name in ("a", "b"):
            found.run(f"CREATE TABLE {name} (n BIGINT) WITH ('connector' = 'blackhole')")
        yield found


ONE = "INSERT INTO a SELECT n FROM numbers"
TWO = "INSERT INTO b SELECT n + 1 FROM numbers"


def test_an_insert_and_a_query(sql: Sql) -> None:
    sql.run(f"  {ONE}\n")
    assert sql.texts() == [ONE]
    assert len(list(sql.tables.execute_sql("SELECT n FROM numbers").collect())) == 3
    assert sql.texts() == ["SELECT n FROM numbers"]
    with pytest.raises(Exception, match="no_such_table"):
        sql.run("INSERT INTO a SELECT n FROM no_such_table")


def test_statement_sets_have_all_their_texts_in_order(sql: Sql, tmp_path: Path) -> None:
    both = sql.tables.create_statement_set()
    both.add_insert_sql(TWO).add_insert_sql(ONE)
    both.add_insert("b", sql.tables.from_path("numbers"))  # it has no text
    both.execute().wait()
    assert sql.texts() == [TWO, ONE]
    whole = f"EXECUTE STATEMENT SET BEGIN {ONE}; {TWO}; END"
    sql.run(whole)
    assert sql.texts() == [whole], "it is one text"
    for statement in ("BEGIN STATEMENT SET", ONE, TWO, "END"):
        sql.run(statement)
    assert sql.texts() == [ONE, TWO]
    plan = sql.tables.compile_plan_sql(TWO)
    plan.write_to_file(str(tmp_path / "plan.json"))
    sql.run(f"EXECUTE PLAN '{tmp_path}/plan.json'")
    assert sql.texts() == [TWO], "a plan has the text that it was made of"


def test_secrets_are_masked_and_long_texts_are_cut(sql: Sql) -> None:
    sql.run(f"INSERT INTO a SELECT n FROM numbers /* {'long ' * 30_000} */")
    (text,) = sql.texts()
    assert len(text) < 101_000
    assert text.endswith("characters more")
    sql.run("CREATE TABLE copied WITH ('connector' = 'blackhole') AS SELECT n FROM numbers")
    (text,) = sql.texts()
    assert text.startswith("CREATE TABLE copied")
    sql.run("INSERT INTO a SELECT n FROM numbers -- 'password' = 'hunter22222'")
    (text,) = sql.texts()
    assert "hunter2" not in text
    assert "'password' = '******'" in text


def test_a_program_without_sql_has_none_and_texts_travel_with_a_program(sql: Sql) -> None:
    env = environment(1)
    env.from_collection([1]).print()
    env.execute()
    assert sql.shown() == []
    both = sql.tables.create_statement_set()
    both.add_insert_sql(ONE)
    both.attach_as_datastream()
    env = sql.tables._session.environment
    program = env._take_program()
    shipped = unpack(pack(env, program, ()), lambda setup: None)
    assert [t.statement for t in shipped.transformations if t.statement] == [ONE]
