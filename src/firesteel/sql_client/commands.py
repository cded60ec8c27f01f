"""What a client understands by itself, before anything is asked of its session."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["HELP", "Command", "command_of"]


class Command(Enum):
    HELP = "HELP"
    QUIT = "QUIT"
    CLEAR = "CLEAR"


_WORDS: Final = {
    "HELP": Command.HELP,
    "QUIT": Command.QUIT,
    "EXIT": Command.QUIT,
    "CLEAR": Command.CLEAR,
}

_COMMANDS: Final = (
    ("HELP", "Print the available commands."),
    ("QUIT/EXIT", "Leave the client."),
    ("CLEAR", "Clear the terminal."),
    ("SET", "Set an option: SET 'key' = 'value';. SET; lists those that are set."),
    ("RESET", "Take an option back: RESET 'key';. RESET; takes all back."),
    ("SELECT", "Run a query and show its rows as sql-client.execution.result-mode says."),
    ("INSERT INTO, INSERT OVERWRITE", "Write the rows of a query to a table: starts a job."),
    ("BEGIN STATEMENT SET, END", "INSERT statements between them become one job."),
    ("EXPLAIN", "Show how a query or an INSERT is computed."),
    ("SHOW ..., DESCRIBE ...", "List or describe catalogs, databases, tables, functions, jobs and others."),
    ("SHOW JOBS, DESCRIBE JOB 'id'", "Show the jobs that are known."),
    ("STOP JOB 'id'", "End a job: [WITH SAVEPOINT] [WITH DRAIN]."),
)


def command_of(statement: str) -> Command | None:
    """The command that a statement is; None: it is one of SQL.

    >>> command_of("quit"), command_of("SELECT 1")
    (<Command.QUIT: 'QUIT'>, None)
    """
    return _WORDS.get(statement.strip().rstrip(";").strip().upper())


def _help() -> str:
    width = max(len(name) for name, _ in _COMMANDS) + 2
    lines = "\n".join(f"{name:<{width}}{text}" for name, text in _COMMANDS)
    return (
        f"The following commands are available:\n\n{lines}\n\n"
        'Hint: Make sure that a statement ends with ";" for finalizing (multi-line) statements.'
    )


HELP: Final = _help()
