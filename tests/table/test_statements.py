"""Statements and what they give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.graph.job_graph import create_job_graph
from firesteel.graph.stream_graph import NodeKind
from firesteel.table import (
    DataTypes,
    ExplainDetail,
    PlanReference,
    ResultKind,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
)
from firesteel.util.exceptions import TableException
from tests.table.support import batch_tables, changes, files, kept, rows, tables


def printed(made: Any, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    made.print()
    return capsys.readouterr().out


def test_a_result_is_printed_as_in_flink(capsys: pytest.CaptureFixture[str]) -> None:
    with tables() as t:
        query = "SELECT a, COUNT(*) AS n FROM (VALUES ('x'), ('x')) AS t(a) GROUP BY a"
        assert printed(t.execute_sql(query), capsys) == (
            "+----+--------------------------------+----------------------+\n"
            "| op |                              a |                    n |\n"
            "+----+--------------------------------+----------------------+\n"
            "| +I |                              x |                    1 |\n"
            "| -U |                              x |                    1 |\n"
            "| +U |                              x |                    2 |\n"
            "+----+--------------------------------+----------------------+\n"
            "3 rows in set\n"
        )
        assert (
            printed(t.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')"), capsys)
            == "OK\n"
        )
        assert printed(t.execute_sql("SHOW TABLES"), capsys) == (
            "+------------+\n| table name |\n+------------+\n|          t |\n+------------+\n1 row in set\n"
        )
    with batch_tables() as b:
        found = printed(b.execute_sql(query), capsys)
        assert found.splitlines()[1:4:2] == ["| a | n |", "| x | 2 |"]


def test_tables_are_described_and_shown_as_they_were_made() -> None:
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE t (a INT NOT NULL, ts TIMESTAMP(3), b AS a + 1, "
            "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, "
            "PRIMARY KEY (a) NOT ENFORCED) COMMENT 'numbers' WITH ('connector' = 'datagen')"
        )
        assert rows(t.execute_sql("DESCRIBE t")) == [
            ("a", "INT", False, "PRI(a)", None, None),
            ("ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts` - INTERVAL '5' SECOND"),
            ("b", "INT", False, None, "AS `a` + 1", None),
        ]
        ((text,),) = rows(t.execute_sql("SHOW CREATE TABLE t"))
        assert "PRIMARY KEY (`a`) NOT ENFORCED" in text
        t.execute_sql("DROP TABLE t")
        t.execute_sql(text)
        assert rows(t.execute_sql("SHOW CREATE TABLE t")) == [(text,)]


@pytest.mark.row("S-SQL-35")
def test_catalogs_databases_views_and_functions_come_and_go() -> None:
    with tables() as t:
        t.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
        t.execute_sql("USE CATALOG c")
        t.execute_sql("CREATE DATABASE d COMMENT 'x'")
        t.execute_sql("USE d")
        assert (t.get_current_catalog(), t.get_current_database()) == ("c", "d")
        t.execute_sql("CREATE VIEW v AS SELECT 1 AS n")
        assert t.list_views() == ["v"]
        assert rows(t.execute_sql("SELECT * FROM c.d.v")) == [(1,)]
        assert t.execute_sql("DROP VIEW v").get_result_kind() is ResultKind.SUCCESS
        assert t.list_views() == []
        with pytest.raises(Exception, match="v"):
            t.execute_sql("DROP VIEW v")
        t.execute_sql("DROP VIEW IF EXISTS v")
        assert "UPPER" in [name.upper() for name in t.list_functions()]
        assert rows(t.execute_sql("SHOW CURRENT DATABASE")) == [("d",)]


def test_settings_are_set_shown_and_reset() -> None:
    with tables() as t:
        t.execute_sql("SET 'table.exec.state.ttl' = '1 h'")
        assert t.get_config().get("table.exec.state.ttl", "") == "1 h"
        assert ("table.exec.state.ttl", "1 h") in rows(t.execute_sql("SET"))
        t.execute_sql("RESET 'table.exec.state.ttl'")
        assert t.get_config().get("table.exec.state.ttl", "none") == "none"


@pytest.mark.row("S-SQL-33")
def test_one_statement_set_is_one_job(tmp_path: Path) -> None:
    with tables() as t:
        for name in ("a", "b"):
            t.execute_sql(
                f"CREATE TABLE {name} (n INT) WITH "
                f"('connector' = 'filesystem', 'path' = '{tmp_path / name}', 'format' = 'json')"
            )
        together = t.create_statement_set()
        together.add_insert_sql("INSERT INTO a VALUES (1)")
        together.add_insert(
            "b", t.from_elements([(2,)], DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())]))
        )
        together.execute().wait()
        assert (rows(t.from_path("a")), rows(t.from_path("b"))) == ([(1,)], [(2,)])
        t.execute_sql(
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a VALUES (3); INSERT INTO b SELECT n FROM a; END"
        ).wait()
        assert kept(t.from_path("a")) == [(1,), (3,)]


def test_a_table_is_made_of_a_query(tmp_path: Path) -> None:
    with tables() as t:
        t.execute_sql(
            f"CREATE TABLE c WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv') AS "
            "SELECT a, a * 2 AS b FROM (VALUES (1), (2)) AS v(a)"
        ).wait()
        assert kept(t.from_path("c")) == [(1, 2), (2, 4)]


def test_plans_are_kept_in_files(tmp_path: Path) -> None:
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (n INT) {files(tmp_path / 'f', 'csv')}")
        plan = t.compile_plan_sql("INSERT INTO f VALUES (1)")
        plan.write_to_file(tmp_path / "plan.json")
        with pytest.raises(Exception, match="Cannot overwrite the plan file"):
            plan.write_to_file(tmp_path / "plan.json")
        t.load_plan(PlanReference.from_file(str(tmp_path / "plan.json"))).execute().wait()
        t.execute_sql(f"COMPILE PLAN '{tmp_path}/other.json' FOR INSERT INTO f VALUES (2)")
        t.execute_sql(f"EXECUTE PLAN '{tmp_path}/other.json'").wait()
        assert kept(t.from_path("f")) == [(1,), (2,)]
        (tmp_path / "none.json").write_text("{}")
        with pytest.raises(Exception, match="no plan that Firesteel has compiled"):
            t.load_plan(PlanReference.from_file(str(tmp_path / "none.json")))


def test_descriptors_are_tables(tmp_path: Path) -> None:
    with tables() as t:
        schema = Schema.new_builder().column("n", DataTypes.INT()).column("s", DataTypes.STRING()).build()
        made = (
            TableDescriptor.for_connector("filesystem")
            .schema(schema)
            .option("path", str(tmp_path))
            .format("json")
        )
        t.create_temporary_table("f", made.build())
        t.from_elements(
            [(1, "x")], schema_of(("n", DataTypes.INT()), ("s", DataTypes.STRING()))
        ).execute_insert("f").wait()
        assert changes(t.from_path("f")) == ["+I[1, x]"]


def schema_of(*fields: Any) -> Any:
    return DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in fields])


def orders(t: StreamTableEnvironment) -> None:
    t.execute_sql("CREATE TABLE o (id BIGINT, who STRING, n INT) WITH ('connector' = 'datagen')")


@pytest.mark.row("S-SQL-04")
def test_the_operators_of_a_plan_are_those_of_the_job() -> None:
    """EXPLAIN names them by the ids that they have in its graph, and adds none to the program."""
    query = (
        "SELECT o.who, SUM(o.n) AS s FROM o JOIN o AS other ON o.id = other.id WHERE o.n > 1 GROUP BY o.who"
    )
    insert = f"INSERT INTO sums SELECT * FROM ({query}) WHERE s > 3"
    with tables(2) as t:
        orders(t)
        t.execute_sql("CREATE TABLE sums (who STRING, s INT) WITH ('connector' = 'print')")
        explained = t.explain_sql(insert, ExplainDetail.JSON_EXECUTION_PLAN)
        nodes = json.loads(explained.partition("== Physical Execution Plan ==")[2])["nodes"]
        planned = {node["uid"]: node["type"].partition("[")[0] for node in nodes if "uid" in node}
        statements = t.create_statement_set()
        statements.add_insert_sql(insert)
        statements.attach_as_datastream()
        environment = t._session.environment
        graph = create_job_graph(environment.get_stream_graph())
        operators = {o.node.uid: o.node for vertex in graph.vertices for o in vertex.operators}
    assert set(planned.values()) >= {"Join", "GroupAggregate", "Calc", "TableSourceScan"}
    assert planned.keys() <= operators.keys()
    ends = {uid for uid, node in operators.items() if node.kind is NodeKind.SINK}
    assert operators.keys() - planned.keys() == ends
    assert all(operators[uid].name.startswith(("Source: ", name)) for uid, name in planned.items())


@pytest.mark.row("S-SQL-33")
def test_plans_are_explained_with_their_changes() -> None:
    with tables() as t:
        orders(t)
        text = t.explain_sql("SELECT who, SUM(n) AS s FROM o GROUP BY who", ExplainDetail.CHANGELOG_MODE)
        assert text == (
            "== Abstract Syntax Tree ==\n"
            "LogicalAggregate(group=[{0}], s=[SUM($1)])\n"
            "+- LogicalProject(who=[$1], n=[$2])\n"
            "   +- LogicalTableScan(table=[[default_catalog, default_database, o]])\n"
            "\n"
            "== Optimized Physical Plan ==\n"
            "GroupAggregate(groupBy=[who], select=[who, SUM(n) AS s], changelogMode=[I,UA])\n"
            "+- Exchange(distribution=[hash[who]], changelogMode=[I])\n"
            "   +- TableSourceScan(table=[[default_catalog, default_database, o, project=[who, n]]], "
            "fields=[who, n], changelogMode=[I])\n"
            "\n"
            "== Optimized Execution Plan ==\n"
            "GroupAggregate(groupBy=[who], select=[who, SUM(n) AS s])\n"
            "+- Exchange(distribution=[hash[who]])\n"
            "   +- TableSourceScan(table=[[default_catalog, default_database, o, project=[who, n]]], "
            "fields=[who, n])\n"
        )


@pytest.mark.row("S-CONN-06", "S-CONN-14", "S-CONN-15")
@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("delta", "io.delta:delta-spark_2.13"),
        ("hive", "enableHiveSupport"),
        ("iceberg", "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13"),
        ("paimon", "org.apache.paimon:paimon-spark-4.0_2.13"),
    ],
)
def test_what_only_spark_reads_is_refused_with_the_package_that_it_takes(name: str, needed: str) -> None:
    with tables() as t:
        t.execute_sql(f"CREATE TABLE lake (a INT) WITH ('connector' = '{name}')")
        for statement in (f"CREATE CATALOG c WITH ('type' = '{name}')", "SELECT * FROM lake"):
            with pytest.raises(
                TableException, match=f"Could not find any factory for identifier '{name}'"
            ) as e:
                t.execute_sql(statement)
            assert needed in (e.value.hint or "")
            assert "t_env.from_spark(spark.table(...))" in (e.value.hint or "")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT whoo FROM o", r"whoo(.|\n)*who"),
        ("SELECT id FROM o ORDER BY id", "Sort on a non-time-attribute field is not supported"),
        (
            "INSERT INTO append SELECT COUNT(*) FROM o",
            "doesn't support consuming update changes which is produced by",
        ),
        (
            "SELECT * FROM strange",
            "Could not find any factory for identifier 'dategen'(.|\n)*did you mean datagen",
        ),
        (
            "SELECT * FROM wrong",
            "Unsupported options found for 'datagen'(.|\n)*rows-per-secnd(.|\n)*rows-per-second",
        ),
        ("SELECT * FROM append", None),
        ("ADD JAR 'x.jar'", None),
    ],
)
def test_what_cannot_be_done_is_refused_in_flinks_words(
    statement: str, message: str | None, tmp_path: Path
) -> None:
    with tables() as t:
        orders(t)
        t.execute_sql("CREATE TABLE strange (a INT) WITH ('connector' = 'dategen')")
        t.execute_sql("CREATE TABLE wrong (a INT) WITH ('connector' = 'datagen', 'rows-per-secnd' = '1')")
        t.execute_sql(
            "CREATE TABLE append (a BIGINT) WITH "
            f"('connector' = 'filesystem', 'path' = '{tmp_path / 'none'}', 'format' = 'csv')"
        )
        with pytest.raises(Exception, match=message or "."):
            t.execute_sql(statement)


def test_a_view_means_the_same_in_every_database() -> None:
    with tables() as t:
        t.execute_sql("CREATE TABLE o (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
        query = "WITH w AS (SELECT o.n FROM {0}) SELECT a.n FROM w AS a JOIN {0} ON a.n = o.n"
        t.execute_sql("CREATE VIEW v AS " + query.format("o"))
        full = "`default_catalog`.`default_database`.`o`"
        (text,) = rows(t.execute_sql("SHOW CREATE VIEW v"))[0]
        assert f"AS {query.format(full)}\n" in text
        t.execute_sql("CREATE DATABASE d")
        t.execute_sql("USE d")
        assert t.sql_query("SELECT * FROM default_database.v").get_schema().get_field_names() == ["n"]
        t.execute_sql("ALTER VIEW default_database.v AS SELECT n AS m FROM default_database.o")
        t.execute_sql("USE default_database")
        assert f"AS SELECT n AS m FROM {full}" in rows(t.execute_sql("SHOW CREATE VIEW v"))[0][0]


def test_two_inserts_into_a_table_of_plans_of_other_heights() -> None:
    with tables() as t:
        t.execute_sql("CREATE TABLE s (a INT NOT NULL, n BIGINT) WITH ('connector' = 'blackhole')")
        statements = t.create_statement_set()
        statements.add_insert_sql(
            "INSERT INTO s SELECT a, COUNT(*) FROM (VALUES (1), (1)) AS t(a) GROUP BY a"
        )
        statements.add_insert_sql("INSERT INTO s SELECT 1, CAST(2 AS BIGINT)")
        statements.execute().wait()


def test_what_could_not_be_translated_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    from firesteel.sql.translate.translator import Translator

    with tables() as t:
        t.execute_sql("CREATE TABLE s (a INT NOT NULL) WITH ('connector' = 'blackhole')")
        right = Translator.give_uid

        def fails(self: Translator, made: Any, node: Any, role: str) -> None:
            right(self, made, node, role)
            if role == "sink":
                raise RuntimeError("no")

        with monkeypatch.context() as patched:
            patched.setattr(Translator, "give_uid", fails)
            with pytest.raises(RuntimeError):
                t.execute_sql("INSERT INTO s SELECT 1")
        assert t._session.environment._transformations == []
        assert t._session.environment._uids == {}
