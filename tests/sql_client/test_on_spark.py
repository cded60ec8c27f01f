"""``firesteel sql`` on Spark: jobs of a session are listed, stopped with a savepoint, and go on with another
parallelism; Ctrl-C ends a script with its jobs."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cluster.support import environment
from tests.spark.support import firesteel, started
from tests.sql.recoverable import AGGREGATE, TOP_N, WINDOW, Input
from tests.sql_client.support import ENDLESS
from tests.waiting import patience, until

pytestmark = pytest.mark.spark

_GIVEN = Input(rows=20_000, rate=1_000)  # the start of each job takes some seconds of it


class _Session:
    """A client whose standard input is written here."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.said: list[str] = []

    def run(self, statement: str, answer: str) -> re.Match[str]:
        """Send a statement; the first line of what it says that matches."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{statement};\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            self.said.append(line)
            if found := re.search(answer, line):
                return found
        raise AssertionError("".join(self.said))

    def end(self) -> int:
        out, _ = self._process.communicate(timeout=patience(120))
        self.said.append(out)
        return self._process.returncode


@contextmanager
def _session(directory: Path) -> Iterator[_Session]:
    process = subprocess.Popen(
        firesteel(
            *("sql", "--master", "local[2]", "-D", "table.local-time-zone=UTC"),
            *("-D", f"execution.checkpointing.savepoint-dir={directory}/savepoints"),
        ),
        cwd=directory,
        env=environment(TMPDIR=str(directory)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:  # closes its pipes
        try:
            yield _Session(process)
        finally:
            process.kill()


def _tables(directory: Path) -> list[str]:
    database = directory / "results.db"
    with closing(sqlite3.connect(database)) as made:
        made.execute("CREATE TABLE counted (g INT, c INT, ks INT, s INT, PRIMARY KEY (g, c))")
        made.execute("CREATE TABLE best (k INT, r INT, n INT, PRIMARY KEY (k, r))")
    jdbc = f"'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{database}'"
    return [
        *_GIVEN.tables(),
        "CREATE TABLE counted (g BIGINT, c BIGINT, ks BIGINT, s BIGINT, PRIMARY KEY (g, c) NOT ENFORCED) "
        f"WITH ({jdbc}, 'table-name' = 'counted')",
        "CREATE TABLE best (k BIGINT, r BIGINT, n BIGINT, PRIMARY KEY (k, r) NOT ENFORCED) "
        f"WITH ({jdbc}, 'table-name' = 'best')",
        "CREATE TABLE windows (g BIGINT, s INT, c BIGINT, t BIGINT, d BIGINT) "
        f"WITH ('connector' = 'filesystem', 'path' = '{directory}/windows', 'format' = 'csv')",
    ]


def _rows(directory: Path, table: str) -> list[tuple[int, ...]]:
    with closing(sqlite3.connect(directory / "results.db")) as results:
        return sorted(results.execute(f"SELECT * FROM {table}").fetchall())


def _in_windows(directory: Path) -> list[tuple[int, ...]]:
    parts = [p for p in (directory / "windows").rglob("part-*") if not p.name.startswith(".")]
    return sorted(
        tuple(map(int, line.split(","))) for part in parts for line in part.read_text().splitlines()
    )


@pytest.mark.row("S-SQL-15")
def test_a_job_is_stopped_and_goes_on_with_another_parallelism(tmp_path: Path) -> None:
    inserts = "; ".join(
        f"INSERT INTO {table} {query.sql}"
        for table, query in (("counted", AGGREGATE), ("best", TOP_N), ("windows", WINDOW))
    )
    with _session(tmp_path) as session:
        for statement in _tables(tmp_path):
            session.run(statement, "Execute statement succeeded")
        for parallelism in (2, 3, 1):
            session.run(f"SET 'parallelism.default' = '{parallelism}'", "succeeded")
            seen = _rows(tmp_path, "counted")
            job = session.run(f"EXECUTE STATEMENT SET BEGIN {inserts}; END", r"Job ID: ([0-9a-f]{32})")[1]
            if parallelism == 1:
                break
            session.run("SHOW JOBS", rf"{job} .* RUNNING")
            until(lambda seen=seen: _rows(tmp_path, "counted") != seen, "no row comes", 60)  # type: ignore[misc]
            path = session.run(f"STOP JOB '{job}' WITH SAVEPOINT", rf"({tmp_path}/savepoints/\S+)")[1]
            session.run("SHOW JOBS", rf"{job} .* FINISHED")
            session.run(f"SET 'execution.state-recovery.path' = '{path}'", "succeeded")
        assert session.end() == 0, "".join(session.said)
    assert _rows(tmp_path, "counted") == sorted(AGGREGATE.expected(_GIVEN))
    assert _rows(tmp_path, "best") == sorted(TOP_N.expected(_GIVEN))
    assert _in_windows(tmp_path) == sorted(WINDOW.expected(_GIVEN))


@pytest.mark.row("S-CLI-06")
def test_ctrl_c_ends_a_script_with_its_jobs(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        f"{ENDLESS};\nCREATE TABLE kept (id BIGINT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/kept', 'format' = 'csv');\nINSERT INTO kept SELECT id FROM endless;\n"
    )
    command = firesteel("sql", "--master", "local[2]", "-f", script)
    with started(command, tmp_path, environment()) as program:
        program.wait_for(lambda lines: any("Job ID: " in line for line in lines))
        until(lambda: list((tmp_path / "kept").rglob("*part-*")), "the job does not write", 60)
        program.signal_group(signal.SIGINT)
        ended = program.end()
    assert ended.code != 0
    assert "Traceback" not in ended.out + ended.err, ended
