"""Flink's dialect for sqlglot: ``sqlglot.parse_one(text, dialect=Flink)`` gives the trees that the binder
reads.

The tokens and the nodes are sqlglot's. The productions are ours (``queries.py`` and what it stands on):
those of sqlglot are made to accept what any dialect writes, and here a text is to be refused where Flink
refuses it, with the place.
"""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp, parser as sqlglot_parser
from sqlglot.dialects.dialect import Dialect

from firesteel.sql.parser.queries import QueryParser
from firesteel.sql.parser.tokens import Tokenizer as FlinkTokenizer, tokenize

__all__ = ["FLINK", "Flink", "parse_expression", "parse_query"]


class _Parser(sqlglot_parser.Parser):
    """What sqlglot calls."""

    def parse(self, raw_tokens: Any, sql: str | None = None) -> list[exp.Expr | None]:
        return [parse_query(sql or "")]


class Flink(Dialect):
    """Flink SQL 2.3."""

    Tokenizer = FlinkTokenizer
    Parser = _Parser


FLINK: Final = Flink()


def parse_query(sql: str) -> exp.Expr:
    """The tree of one query.

    :raises SqlParserError: it is none.
    """
    cursor = QueryParser(sql, tokenize(sql, FLINK.tokenizer()))
    made = cursor.query()
    cursor.take(";")
    if not cursor.at_end():
        cursor.refuse()
    return made


def parse_expression(sql: str) -> exp.Expr:
    """The tree of one expression, as in a computed column.

    :raises SqlParserError: it is none.
    """
    cursor = QueryParser(sql, tokenize(sql, FLINK.tokenizer()))
    made = cursor.expression()
    if not cursor.at_end():
        cursor.refuse()
    return made
