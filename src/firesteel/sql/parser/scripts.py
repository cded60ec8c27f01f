"""Scripts: from a text to its statements, each with its place."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.sql.parser.dialect import FLINK
from firesteel.sql.parser.tokens import END, SIGN, WORD, Token, tokenize

__all__ = ["ScriptPart", "split_script"]


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """A statement of a script, without its semicolon. :param line: where it begins. :param complete: it
    ends in one."""

    text: str
    line: int
    complete: bool = True


def split_script(sql: str) -> list[ScriptPart]:
    """The statements of a script, in order. Semicolons inside quotes, comments and BEGIN ... END of a
    statement set do not end one.

    :raises SqlParserError: a quote or a comment is not closed.
    """
    parts: list[ScriptPart] = []
    current: list[Token] = []
    in_set = False
    for token in tokenize(sql, FLINK.tokenizer()):
        if token.kind == END:
            break
        if token.kind == SIGN and token.text == ";" and not in_set:
            _add(parts, sql, current, True)
            current = []
            continue
        current.append(token)
        if token.kind == WORD and token.upper == "BEGIN":
            in_set = [t.upper for t in current[-3:-1]] == ["STATEMENT", "SET"]
        elif token.kind == WORD and token.upper == "END" and in_set:
            in_set = not (len(current) > 1 and current[-2].text in (";", "BEGIN"))
    _add(parts, sql, current, False)
    return parts


def _add(parts: list[ScriptPart], sql: str, tokens: list[Token], complete: bool) -> None:
    if tokens:
        start = tokens[0].start
        text = sql[start : tokens[-1].end + 1]
        if tokens[-1].hint is not None:
            text = sql[start : sql.index("*/", tokens[-1].end) + 2]
        parts.append(ScriptPart(text, sql.count("\n", 0, start) + 1, complete))
