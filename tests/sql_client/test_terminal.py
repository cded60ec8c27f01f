"""The client at a pseudo terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.waiting import patience

ROOT = Path(__file__).parents[2]
PROMPT = "Firesteel SQL>"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn]:
    found = pexpect.spawn(
        sys.executable,
        ["-m", "tests.sql_client.support", str(tmp_path / "history")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "TERM": "xterm"},
        dimensions=(30, 120),
        timeout=patience(60),
        encoding="utf-8",
    )
    found.expect(PROMPT)
    yield found
    found.close(force=True)


def test_a_person_at_the_terminal(terminal: pexpect.spawn, tmp_path: Path) -> None:
    terminal.send("SELECT COUNT(*) AS many\r")  # no semicolon: the next line goes on
    terminal.send("FROM numbers;\r")
    terminal.expect(r"\+U.+3 \|")
    terminal.expect("Received a total of")
    terminal.expect(PROMPT)
    # a name is completed
    terminal.send("DESCRIBE numb\t")
    terminal.expect("numbers")
    terminal.send(";\r")
    terminal.expect("rows in set")
    # Ctrl-C drops what is typed
    terminal.send("SELECT nonsense")
    terminal.send("\x03")
    terminal.expect(PROMPT)
    # Ctrl-C ends a query, and not the client
    terminal.send("SELECT id AS n FROM endless;\r")
    terminal.expect(r"\+I \| +\d+ \|")
    terminal.send("\x03")
    terminal.expect(r"Query terminated, received a total of \d+ rows")
    terminal.expect(PROMPT)
    # the whole screen
    terminal.send("SET 'sql-client.execution.result-mode' = 'TABLE';\r")
    terminal.expect("Execute statement succeeded")
    terminal.expect(PROMPT)
    terminal.send("SELECT MAX(id) AS largest FROM endless;\r")
    terminal.expect("SQL Query Result")
    terminal.expect("largest")
    terminal.send("q")
    terminal.expect("Result retrieval cancelled")
    terminal.expect(PROMPT)
    terminal.send("QUIT;\r")
    terminal.expect("left")
    terminal.expect(pexpect.EOF)
    history = (tmp_path / "history").read_text()
    assert "+SELECT COUNT(*) AS many\n+FROM numbers;" in history
