"""SQL in JDBC's syntax: ``?`` is a parameter, ``??`` is the operator ``?``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from firesteel.common.errors import ConfigurationError

# Tokens in which a question mark has no meaning, then question marks.
_TOKENS: Final = re.compile(
    r"""
    '(?:[^']|'')*' | "(?:[^"]|"")*"          # texts and quoted names
    | \$(\w*)\$.*?\$\1\$                      # PostgreSQL's dollar quotes
    | --[^\n]* | /\*.*?\*/                    # comments
    | \?\? | \?
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """:param parameters: the number of parameters."""

    sql: str
    parameters: int

    def render(self, placeholder: Callable[[int], str], escape: Callable[[str], str] = str) -> str:
        """Return the statement with other placeholders, numbered from 1; ``escape`` is applied to the text
        between them."""
        parts, end, number = [], 0, 0
        for token in _TOKENS.finditer(self.sql):
            parts.append(escape(self.sql[end : token.start()]))
            end = token.end()
            if token[0] == "?":
                number += 1
                parts.append(placeholder(number))
            else:
                parts.append(escape("?" if token[0] == "??" else token[0]))
        return "".join(parts) + escape(self.sql[end:])


def parse(sql: object) -> Statement:
    if not isinstance(sql, str) or not sql.strip():
        raise ConfigurationError("A JDBC statement is empty.", detail=f"got {sql!r}")
    text = sql.strip().rstrip(";")
    return Statement(text, sum(token[0] == "?" for token in _TOKENS.finditer(text)))


def insert_statement(table: str, fields: Sequence[str]) -> str:
    """Return ``INSERT INTO table(a, b) VALUES (?, ?)`` with quoted names. (Flink: ``JdbcDialect``.)"""
    names = ", ".join(map(quoted, fields))
    return f"INSERT INTO {quoted_table(table)}({names}) VALUES ({', '.join('?' * len(fields))})"


def upsert_statement(table: str, fields: Sequence[str], unique_key_fields: Sequence[str]) -> str:
    """Return an INSERT that replaces the row with the same key, in the syntax of PostgreSQL and SQLite.

    :param unique_key_fields: the columns of a unique index or primary key of the table.
    """
    strange = set(unique_key_fields) - set(fields)
    if not unique_key_fields or strange:
        raise ConfigurationError(
            "An upsert needs the fields of a unique key, which are among all fields.",
            detail=f"fields {list(fields)}, key {list(unique_key_fields)}",
        )
    updates = [f"{quoted(f)} = EXCLUDED.{quoted(f)}" for f in fields if f not in unique_key_fields]
    action = f"UPDATE SET {', '.join(updates)}" if updates else "NOTHING"
    keys = ", ".join(map(quoted, unique_key_fields))
    return f"{insert_statement(table, fields)} ON CONFLICT ({keys}) DO {action}"


def delete_statement(table: str, unique_key_fields: Sequence[str]) -> str:
    """Return a DELETE of the row with a key."""
    return f"DELETE FROM {quoted_table(table)} WHERE {equal_to_parameters(unique_key_fields)}"


def select_statement(table: str, fields: Sequence[str], condition: str = "") -> str:
    """Return ``SELECT a, b FROM table`` with quoted names."""
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {', '.join(map(quoted, fields))} FROM {quoted_table(table)}{where}"


def equal_to_parameters(fields: Sequence[str]) -> str:
    """Return the condition ``a = ? AND b = ?`` with quoted names."""
    return " AND ".join(f"{quoted(field)} = ?" for field in fields)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted_table(table: str) -> str:
    """Return ``schema.table`` with each part quoted."""
    return ".".join(map(quoted, table.split(".")))
