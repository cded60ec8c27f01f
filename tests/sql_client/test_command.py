"""``firesteel sql`` without a terminal: files, the standard input, exit codes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from firesteel.cli import main
from firesteel.datastream._session_defaults import set_session_defaults
from tests.runtime.support import local_platform
from tests.sql_client.support import ENDLESS, NUMBERS


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Jobs run in this process, without Spark."""
    monkeypatch.setattr("firesteel.cli._main.start_jvm", lambda: None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with local_platform():
        yield
    set_session_defaults({})


def run(*words: str | Path, typed: str = "") -> Result:
    return CliRunner().invoke(main, ["sql", "-D", "parallelism.default=1", *map(str, words)], input=typed)


@pytest.mark.usefixtures("here")
@pytest.mark.row("S-CLI-06")
def test_a_script_with_an_initialization_file(tmp_path: Path) -> None:
    init, script = tmp_path / "init.sql", tmp_path / "script.sql"
    init.write_text(f"{NUMBERS};\n")
    written = tmp_path / "out"
    script.write_text(
        "-- what is written can be read\n"
        "CREATE TABLE kept (id INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{written}', 'format' = 'csv');\n"
        "SET 'table.dml-sync' = 'true';\n"
        "INSERT INTO kept SELECT id FROM numbers;\n"
        "SELECT SUM(id) AS total FROM kept"
    )
    found = run("-i", init, "-f", script)
    assert found.exit_code == 0, found.output
    assert "Firesteel SQL> SELECT SUM(id) AS total FROM kept" in found.output
    assert "| +U |           6 |" in found.output
    script.write_text("SHOW TABLES; SELECT nope FROM numbers; SHOW CATALOGS;")
    found = run("-i", init, "-f", script)
    assert found.exit_code == 1
    assert "nope" in found.output
    assert "SHOW CATALOGS" not in found.output


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("by_file", [True, False])
def test_what_fails_ends_the_client_though_an_insert_runs(tmp_path: Path, by_file: bool) -> None:
    """The job has no end: to wait for it would keep the exit code back. It is named and cancelled."""
    text = (
        f"{ENDLESS}; CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole');\n"
        "INSERT INTO nowhere SELECT id FROM endless; SELEC 1; SHOW CATALOGS;\n"
    )
    script = tmp_path / "script.sql"
    script.write_text(text)
    found = run("-f", script) if by_file else run(typed=text)
    assert found.exit_code == 1, found.output
    (job_id,) = re.findall("Job ID: ([0-9a-f]{32})", found.output)
    assert f"still run in this process, and end with it: {job_id}" in found.output
    assert "default_catalog" not in found.output


@pytest.mark.usefixtures("here")
def test_statements_of_the_standard_input() -> None:
    found = run(typed="SHOW\nDATABASES; SHOW\nCATALOGS;\nQUIT;\nSHOW VIEWS;\n")
    assert found.exit_code == 0, found.output
    assert "default_database" in found.output
    assert "default_catalog" in found.output
    assert "Empty set" not in found.output
    assert run(typed="SELEC 1;\nSHOW CATALOGS;\n").exit_code == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["gateway"], "gateway needs --endpoint"),
        (["-e", "localhost:1"], "is of the mode gateway"),
        (["gateway", "-e", "localhost:1", "--master", "local"], "are for sessions in this process"),
        (["-m", "localhost:1", "--master", "local"], "leave --master out"),
        (["-D", "sql-client.verbos=true"], "sql-client.verbose"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], text: str) -> None:
    found = run(*words)
    assert found.exit_code != 0
    assert text in found.output
