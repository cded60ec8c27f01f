"""Statements typed at a terminal: history, completion, colors, several lines up to a semicolon."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from prompt_toolkit.shortcuts import CompleteStyle

from firesteel.sql_client.client import Client
from firesteel.sql_client.commands import command_of
from firesteel.sql_client.executor import Executor
from firesteel.sql_client.highlighting import FlinkSqlLexer
from firesteel.sql_client.statements import complete_statements, is_complete
from firesteel.storage.private_files import private_opener
from firesteel.table._completion import word_before

__all__ = ["WELCOME", "history_file", "interact"]

_PROMPT: Final = "Firesteel SQL> "
WELCOME: Final = "Welcome! Enter 'HELP;' to list all available commands. 'QUIT;' to exit.\n"


def history_file(chosen: str | None) -> Path:
    """Where the history is kept; made if it is not there, for its user alone."""
    if chosen is None:
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        path = Path(state) / "firesteel" / "sql-history"
    else:
        path = Path(chosen).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab", opener=private_opener):
        return path


def interact(
    client: Client, history: Path, terminal: Input | None = None, screen: Output | None = None
) -> None:
    """Take statements until the user leaves. Ctrl-C drops what is typed, Ctrl-D leaves.

    :param terminal: and *screen*; None: those of the process.
    """
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)),
        completer=_Names(client.executor),
        complete_style=CompleteStyle.MULTI_COLUMN,
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        lexer=PygmentsLexer(FlinkSqlLexer),
        multiline=True,
        prompt_continuation=lambda width, number, wrapped: "> ".rjust(width),
        key_bindings=_bindings(),
        input=terminal,
        output=screen,
    )
    while not client.has_quit:
        try:
            text = session.prompt(_PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            client.quit()
            continue
        client.run_all(_statements(text))


def _statements(text: str) -> list[str]:
    if command_of(text) is not None:
        return [text]
    return complete_statements(text) or []


def _bindings() -> KeyBindings:
    """Enter takes a completion, runs what is complete, and else begins a new line."""
    bindings = KeyBindings()

    @bindings.add("enter", filter=has_completions)
    def take(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("enter", filter=Condition(_can_run) & ~has_completions)
    def run(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings


def _can_run() -> bool:
    buffer = get_app().current_buffer
    rest = buffer.document.text_after_cursor.strip()
    text = buffer.text
    return not rest and (command_of(text) is not None or is_complete(text))


class _Names(Completer):
    """Asks the session."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        text, position = _last_statement(document)
        word = word_before(text, position)
        found: Any = []
        with contextlib.suppress(Exception):  # a completion has nobody to complain to
            found = self._executor.candidates(text, position)
        for name in found:
            yield Completion(name, start_position=-len(word))


def _last_statement(document: Document) -> tuple[str, int]:
    """The statement that the cursor is in, roughly: from the last semicolon before it on."""
    start = document.text_before_cursor.rfind(";") + 1
    return document.text[start:], document.cursor_position - start
