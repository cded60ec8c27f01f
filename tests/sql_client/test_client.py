"""What the client prints, without a terminal."""

from __future__ import annotations

import pytest

from firesteel.sql_client.commands import Command, command_of
from firesteel.sql_client.result_tables import Changelog, Materialized
from firesteel.sql_client.statements import complete_statements, is_complete
from tests.sql_client.support import NUMBERS, client


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';'", False),
        ("SELECT ';", False),
        ("SELECT 1 -- ;", False),
        ("SELECT 1; /* open", False),
        ("", True),
        ("BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;", True),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", False),
    ],
)
def test_a_statement_ends_with_a_semicolon_outside_of_quotes_and_comments(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_several_statements_may_stand_in_a_line() -> None:
    assert complete_statements("SELECT 1; SELECT 'a;b' ;") == ["SELECT 1", "SELECT 'a;b'"]


@pytest.mark.parametrize(
    ("text", "command"),
    [("quit;", Command.QUIT), ("EXIT", Command.QUIT), (" help ;", Command.HELP), ("clear", Command.CLEAR)],
)
def test_commands_are_known_in_any_case(text: str, command: Command) -> None:
    assert command_of(text) is command


def test_statements_and_their_results() -> None:
    with client() as (found, lines):
        assert found.run(NUMBERS)
        assert lines == ["[INFO] Execute statement succeeded."]
        lines.clear()
        assert found.run("SELECT id, id * 2 AS twice FROM numbers")
        assert lines[:3] == [
            "+----+-------------+-------------+",
            "| op |          id |       twice |",
            "+----+-------------+-------------+",
        ]
        assert sorted(lines[3:6]) == [
            "| +I |           1 |           2 |",
            "| +I |           2 |           4 |",
            "| +I |           3 |           6 |",
        ]
        assert lines[7:] == ["Received a total of 3 rows"]
        lines.clear()
        assert found.run("SHOW TABLES")
        assert lines == [
            *("+------------+", "| table name |", "+------------+", "|    numbers |", "+------------+"),
            "1 row in set",
        ]
        lines.clear()
        assert found.run("SHOW VIEWS")
        assert lines == ["Empty set"]


def test_batch_mode_prints_a_table() -> None:
    with client(**{"execution.runtime-mode": "BATCH"}) as (found, lines):
        assert found.run(NUMBERS)
        lines.clear()
        assert found.run("SELECT COUNT(*) AS c FROM numbers")
        assert lines == ["+---+", "| c |", "+---+", "| 3 |", "+---+", "1 row in set"]


def test_an_insert_says_its_job_which_is_listed_and_waited_for() -> None:
    with client() as (found, lines):
        assert found.run(NUMBERS)
        assert found.run("CREATE TABLE nowhere (id INT) WITH ('connector' = 'blackhole')")
        lines.clear()
        assert found.run("INSERT INTO nowhere SELECT id FROM numbers")
        assert lines[:2] == [
            "[INFO] Submitting SQL update statement to the cluster...",
            "[INFO] SQL update statement has been successfully submitted to the cluster:",
        ]
        job_id = lines[2].removeprefix("Job ID: ")
        assert found.wait_for_jobs()
        lines.clear()
        assert found.run(f"DESCRIBE JOB '{job_id}'")
        assert job_id in lines[3]
        assert "FINISHED" in lines[3]
        assert found.run("SET 'table.dml-sync' = 'true'")
        lines.clear()
        assert found.run("INSERT INTO nowhere SELECT id FROM numbers")
        assert lines[-1] == "[INFO] Complete execution of the SQL update statement."
        lines.clear()
        assert found.run("SHOW JOBS")
        assert lines[-1] == "2 rows in set"


def test_errors_name_their_place() -> None:
    with client() as (found, lines):
        assert not found.run("SELECT 1 +")
        assert not found.run("SELECT nope FROM (VALUES (1)) AS t(a)")
        text = "\n".join(lines)
        assert text.startswith(
            "[ERROR] Could not execute SQL statement. Reason:\nSqlParserError: SQL parse failed."
        )
        assert "line 1" in text
        assert "nope" in text
        assert "^^^^" in text
        assert "Traceback" not in text
        lines.clear()
        assert found.run("SET 'sql-client.verbose' = 'true'")
        assert not found.run("SELECT nope")
        assert "Traceback (most recent call last)" in "\n".join(lines)


def test_statements_after_one_that_fails_are_not_run() -> None:
    with client() as (found, lines):
        assert not found.run_all(["SHOW CATALOGS", "SELEC", "SHOW DATABASES"], echo=True)
        assert "Firesteel SQL> SELEC" in lines
        assert "Firesteel SQL> SHOW DATABASES" not in lines


@pytest.mark.parametrize(
    "statement", ["SELECT 1", "INSERT INTO t SELECT 1", "WITH a AS (SELECT 1) SELECT * FROM a"]
)
def test_an_initialization_file_has_no_queries(statement: str) -> None:
    with client() as (found, lines):
        assert not found.initialize([NUMBERS, statement])
        assert "may not have queries" in lines[-1]


def test_what_may_stand_at_a_place() -> None:
    with client() as (found, _):
        assert found.run(NUMBERS)
        assert found.run("CREATE VIEW news AS SELECT id FROM numbers")

        def at(sql: str) -> list[str]:
            text, _, rest = sql.partition("|")
            return list(found.executor.candidates(text + rest, len(text)))

        assert at("SELECT * FROM n|") == ["news", "numbers"]
        assert "word" in at("SELECT w| FROM numbers")
        assert at("SELECT n.i| FROM numbers AS n") == ["n.id"]
        assert "CONCAT_WS" in at("SELECT CONC| FROM numbers")
        assert "WHERE" in at("SELECT * FROM numbers WH|")
        assert at("SHO|") == ["SHOW"]
        assert at("SELECT * FROM default_catalog.|") == ["default_catalog.default_database"]


def test_stop_job() -> None:
    with client() as (found, lines):
        assert not found.run("STOP JOB 'ffffffffffffffffffffffffffffffff'")
        assert "there is no job of this id" in "\n".join(lines)


# ---- tables of results


def test_a_retraction_takes_the_last_row_that_is_equal() -> None:
    table = Materialized(10)
    table.add([("+I", ["a", "1"]), ("+I", ["b", "1"]), ("+I", ["a", "1"])])
    table.add([("-U", ["a", "1"]), ("+U", ["a", "2"])])
    assert table.rows(0, 9) == [["a", "1"], ["b", "1"], ["a", "2"]]
    table.add([("-D", ["b", "1"]), ("-D", ["nobody", "1"])])
    assert (len(table), table.rows(1, 9)) == (2, [["a", "2"]])


def test_the_oldest_rows_are_dropped() -> None:
    table = Materialized(2)
    table.add([("+I", [str(i % 3)]) for i in range(5)])
    assert (table.rows(0, 9), table.dropped) == ([["0"], ["1"]], 3)
    table.add([("-D", ["2"])])  # it was dropped
    assert len(table) == 2
    changes = Changelog(2)
    changes.add([("+I", ["1"]), ("-U", ["1"]), ("+U", ["2"])])
    assert (changes.rows(0, 9), changes.dropped) == ([["-U", "1"], ["+U", "2"]], 1)
