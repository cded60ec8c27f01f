"""How the binder refuses: Flink's message with the place, the marked text and a near name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final, NoReturn

from sqlglot import exp

from firesteel.sql.parser.errors import SqlValidationError, marked, place_of, span_of

__all__ = ["near", "refuse"]

_NEAR: Final = "did you mean"


def refuse(sql: str, node: exp.Expr | None, message: str, hint: str | None = None) -> NoReturn:
    """Raise ``SQL validation failed. From line 1, column 8 to line 1, column 10: ...``."""
    if hint is not None and hint.startswith(_NEAR):
        message, hint = f"{message}; {hint}", None
    start = None if node is None else node.meta.get("start")
    if start is None or node is None or not sql:
        raise SqlValidationError(f"SQL validation failed. {message}", hint=hint)
    end = node.meta.get("end", start)
    line, column = place_of(sql, start)
    raise SqlValidationError(
        f"SQL validation failed. {span_of(sql, start, end)}: {message}",
        line=line,
        column=column,
        detail=marked(sql, start, end),
        hint=hint,
    )


def near(name: str, known: Iterable[str]) -> str | None:
    """``did you mean 'x'?``, if something known is like it; ``refuse`` puts it behind the message."""
    by_lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return f"{_NEAR} {by_lower[found[0]]!r}?" if found else None
