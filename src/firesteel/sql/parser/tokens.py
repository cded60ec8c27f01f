"""Flink's lexical rules: words, quoting, literals, comments, hints.

All words are read as words; which of them are keywords is a question of where they stand. So a token is one
of: a word, a quoted name, a literal, a sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as SqlglotToken, TokenType
from sqlglot.tokens import Tokenizer as SqlglotTokenizer

from firesteel.sql.parser.errors import Place, SqlParserError

__all__ = ["END", "NAME", "NUMBER", "SIGN", "STRING", "WORD", "Token", "Tokenizer", "tokenize"]

WORD: Final = "word"
NAME: Final = "name"  # in backticks
STRING: Final = "string"
HEX: Final = "hex"
UNICODE: Final = "unicode"
NUMBER: Final = "number"
SIGN: Final = "sign"
END: Final = "end"


class Tokenizer(SqlglotTokenizer):
    QUOTES = ["'"]
    IDENTIFIERS = ["`"]
    HEX_STRINGS = [("x'", "'"), ("X'", "'")]
    UNICODE_STRINGS = [("U&'", "'"), ("u&'", "'")]
    COMMENTS = ["--", "//", ("/*", "*/")]
    STRING_ESCAPES = ["'"]
    IDENTIFIER_ESCAPES = ["`"]
    NESTED_COMMENTS = False
    VAR_SINGLE_TOKENS = {"$"}
    KEYWORDS = {
        "/*+": TokenType.HINT,
        "||": TokenType.DPIPE,
        ">=": TokenType.GTE,
        "<=": TokenType.LTE,
        "<>": TokenType.NEQ,
        "!=": TokenType.NEQ,
        "=>": TokenType.FARROW,
    }
    COMMANDS: ClassVar[set[TokenType]] = set()


_KINDS: Final[dict[TokenType, str]] = {
    TokenType.VAR: WORD,
    TokenType.IDENTIFIER: NAME,
    TokenType.STRING: STRING,
    TokenType.HEX_STRING: HEX,
    TokenType.UNICODE_STRING: UNICODE,
    TokenType.NUMBER: NUMBER,
}


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    :param text: as written; of strings and names without quotes. :param upper: of words, for comparisons;
        of signs the sign; of others empty.
    :param start: offset of the first character, *end* of the last one.
    :param hint: the text of a hint ``/*+ ... */`` that follows, or None.
    """

    kind: str
    text: str
    upper: str
    start: int
    end: int
    hint: str | None = None


_HINT: Final = re.compile(r"\s*/\*\+(.*?)\*/", re.DOTALL)
_WORD_START: Final = re.compile(r"[^\W\d]|\$")


def tokenize(sql: str, tokenizer: Any) -> list[Token]:
    """The tokens of a text, the last of which is its end.

    :raises SqlParserError: a quote or a comment is not closed, or a character belongs to no token.
    """
    try:
        raw = tokenizer.tokenize(sql)
    except TokenError as error:
        start = _unclosed(sql)
        place = Place(sql, start, start)
        raise SqlParserError.at(
            place,
            f"SQL parse failed. Lexical error at {place.where}.",
            hint="a quote or a comment that begins here is not closed",
        ) from error
    tokens = list(_without_joined([t for t in raw if t.token_type is not TokenType.HINT], sql))
    made = [
        _made(sql, token, tokens[i + 1].start if i + 1 < len(tokens) else len(sql))
        for i, token in enumerate(tokens)
    ]
    return [*made, Token(END, "<EOF>", "", len(sql), len(sql))]


def _without_joined(tokens: list[SqlglotToken], sql: str) -> Iterator[SqlglotToken]:
    """A word may follow a number at once: ``2else`` is 2 and ELSE (not 2e and a name), ``0x1F`` is 0 and a
    name."""
    last: SqlglotToken | None = None
    for token in tokens:
        text = sql[token.start : token.end + 1]
        if last is not None and last.token_type is TokenType.VAR and last.end + 1 == token.start:
            # the rest of the word whose first letter stood with the number
            joined = token.token_type is TokenType.VAR
            yield _piece(last, TokenType.VAR, sql, last.start, token.end if joined else last.end)
            last = None
            if joined:
                continue
        elif last is not None:
            yield last
            last = None
        if token.token_type is TokenType.NUMBER and text[-1] in "eE":
            yield _piece(token, TokenType.NUMBER, sql, token.start, token.end - 1)
            last = _piece(token, TokenType.VAR, sql, token.end, token.end)
        elif text[:2] in ("0x", "0X") and token.token_type is not TokenType.VAR:
            yield _piece(token, TokenType.NUMBER, sql, token.start, token.start)
            yield _piece(token, TokenType.VAR, sql, token.start + 1, token.end)
        else:
            yield token
    if last is not None:
        yield last


def _piece(token: SqlglotToken, kind: TokenType, sql: str, start: int, end: int) -> SqlglotToken:
    return SqlglotToken(kind, sql[start : end + 1], token.line, token.col, start, end)


def _made(sql: str, token: SqlglotToken, next_start: int) -> Token:
    kind = _KINDS.get(token.token_type, SIGN)
    text = token.text
    if token.token_type is TokenType.UNKNOWN or (kind == WORD and not _WORD_START.match(text)):
        place = Place(sql, token.start, token.end)
        raise SqlParserError.at(
            place,
            f'SQL parse failed. Lexical error at {place.where}.  Encountered: "{text[0]}".',
            hint="names are quoted with backticks, texts with single quotes" if text[0] == '"' else None,
        )
    hint = _HINT.match(sql, token.end + 1) if next_start > token.end + 4 else None
    upper = text.upper() if kind == WORD else text if kind == SIGN else ""
    return Token(kind, text, upper, token.start, token.end, hint.group(1) if hint else None)


def _unclosed(sql: str) -> int:
    """Where the quote or the comment begins that is not closed."""
    pattern = re.compile(
        r"'(?:[^']|'')*(?P<a>'|$)|`(?:[^`]|``)*(?P<b>`|$)|--[^\n]*|//[^\n]*|/\*.*?(?P<c>\*/|$)", re.DOTALL
    )
    for found in pattern.finditer(sql):
        if "" in (found["a"], found["b"], found["c"]):
            return found.start()
    return len(sql)
