"""Flink's SQL in colors."""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from firesteel.sql.parser.statement_parser import STATEMENT_WORDS
from firesteel.sql.parser.words import RESERVED

__all__ = ["FlinkSqlLexer"]


class FlinkSqlLexer(RegexLexer):
    """Words, names in backticks, literals, hints and comments."""

    name = "Flink SQL"
    flags = re.MULTILINE | re.IGNORECASE
    tokens = {
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*\+", Comment.Preproc, "hint"),
            (r"/\*", Comment.Multiline, "comment"),
            (r"'(?:[^']|'')*'?", String.Single),
            (r"`(?:[^`]|``)*`?", Name.Variable),
            (r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", Number),
            (words(sorted(RESERVED | set(STATEMENT_WORDS)), prefix=r"\b", suffix=r"\b"), Keyword),
            (r"[a-zA-Z_$][\w$]*(?=\s*\()", Name.Function),
            (r"[a-zA-Z_$][\w$]*", Name),
            (r"[-+*/%<>=!|]+", Operator),
            (r"[(){}\[\],;.]", Punctuation),
            (r".", Text),
        ],
        "comment": [(r"\*/", Comment.Multiline, "#pop"), (r"[^*]+|\*", Comment.Multiline)],
        "hint": [(r"\*/", Comment.Preproc, "#pop"), (r"[^*]+|\*", Comment.Preproc)],
    }
