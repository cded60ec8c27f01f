"""From lines that are typed to statements."""

from __future__ import annotations

from firesteel.sql.parser.errors import SqlParserError
from firesteel.sql.parser.scripts import split_script

__all__ = ["complete_statements", "is_complete", "statements_of"]


def is_complete(text: str) -> bool:
    """Whether a text can be run: it ends with a semicolon, outside of quotes and comments, or has no
    statement."""
    return complete_statements(text) is not None


def complete_statements(text: str) -> list[str] | None:
    """The statements of a text; None: its last one is not complete."""
    try:
        parts = split_script(text)
    except SqlParserError:  # a quote or a comment is open
        return None
    return [part.text for part in parts] if all(part.complete for part in parts) else None


def statements_of(script: str) -> list[str]:
    """The statements of a script; the last one needs no semicolon.

    :raises SqlParserError: a quote or a comment is not closed.
    """
    return [part.text for part in split_script(script)]
