"""How the binder refuses: Flink's message with the place, the marked text and a near name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final, NoReturn

from sqlglot import exp

from firesteel.sql.parser.errors import Place, SqlValidationError

__all__ = ["near", "place_in", "refuse"]

_NEAR: Final = "did you mean"


def refuse(sql: str, node: exp.Expr | None, message: str, hint: str | None = None) -> NoReturn:
    """Raise ``SQL validation failed. From line 1, column 8 to line 1, column 10: ...``."""
    if hint is not None and hint.startswith(_NEAR):
        message, hint = f"{message}; {hint}", None
    place = place_in(sql, node)
    if place is None:
        raise SqlValidationError(f"SQL validation failed. {message}", hint=hint)
    line, column = place.line_and_column
    raise SqlValidationError(
        f"SQL validation failed. {place.span}: {message}",
        line=line,
        column=column,
        detail=place.marked,
        hint=hint,
    )


def place_in(sql: str, node: exp.Expr | None) -> Place | None:
    """Return where *node* stands in *sql*; None: it comes from no text."""
    start = None if node is None else node.meta.get("start")
    if node is None or start is None or not sql:
        return None
    return Place(sql, start, node.meta.get("end", start))


def near(name: str, known: Iterable[str]) -> str | None:
    """``did you mean 'x'?``, if something known is like it; ``refuse`` puts it behind the message."""
    by_lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return f"{_NEAR} {by_lower[found[0]]!r}?" if found else None
