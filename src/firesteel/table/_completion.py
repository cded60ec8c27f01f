"""What may stand at a place of a statement that is being written: keywords, tables, columns, functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from firesteel.common.errors import FiresteelError
from firesteel.sql.binder.tables import resolve
from firesteel.sql.parser.statement_parser import STATEMENT_WORDS
from firesteel.sql.parser.words import RESERVED
from firesteel.table._session import Session

__all__ = ["candidates", "word_before"]

_WORD: Final = re.compile(r"[\w$.`]*\Z")
_NAME: Final = re.compile(r"(?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))*")
_OF_TABLES: Final = re.compile(
    r"\b(?:FROM|JOIN|INTO|OVERWRITE|TABLE|VIEW|DESCRIBE|DESC|EXISTS)\s+\Z", re.IGNORECASE
)
_AFTER_LIST: Final = re.compile(r"\b(?:FROM|JOIN)\s+[^()]*,\s*\Z", re.IGNORECASE)
_USED: Final = re.compile(
    rf"\b(?:FROM|JOIN|INTO|TABLE)\s+({_NAME.pattern})(?:\s+(?:AS\s+)?(?!(?:ON|WHERE|JOIN|LEFT|GROUP)\b)(\w+))?",
    re.IGNORECASE,
)


def word_before(sql: str, position: int) -> str:
    """The part of a name, or of names with dots between them, that ends at *position*."""
    found = _WORD.search(sql[:position])
    return "" if found is None else found.group()


def candidates(session: Session, sql: str, position: int) -> list[str]:
    """What may stand in the place of ``word_before``, each once, in order of the names.

    :param position: a number of characters of *sql*.
    """
    position = max(0, min(position, len(sql)))
    word = word_before(sql, position)
    before = sql[: position - len(word)]
    fits = word.replace("`", "").lower()
    found = {name for name in _names(session, sql, before, word) if name.lower().startswith(fits)}
    return sorted(found, key=lambda name: (name.lower(), name))


def _names(session: Session, sql: str, before: str, word: str) -> Iterator[str]:
    if not before.strip():
        yield from STATEMENT_WORDS
        return
    if _OF_TABLES.search(before) or _AFTER_LIST.search(before):
        yield from _tables(session, word)
        return
    path = word.rpartition(".")[0].replace("`", "")
    used = dict(_used(session, sql))
    if path:
        yield from (f"{path}.{column}" for column in used.get(path, ()))
        return
    for name, columns in used.items():
        yield name
        yield from columns
    yield from (name.upper() for name in session.catalogs.function_names())
    yield from RESERVED


def _tables(session: Session, word: str) -> Iterator[str]:
    """Tables of the current database; behind a dot those of the database, or of the catalog, before it."""
    catalogs = session.catalogs
    path = word.replace("`", "").split(".")[:-1]
    with suppress(FiresteelError):
        if not path:
            yield from catalogs.list_tables()
            yield from catalogs.catalog(catalogs.current_catalog).list_databases()
            yield from catalogs.list_catalogs()
        elif len(path) == 2:
            yield from (".".join([*path, name]) for name in catalogs.list_tables(path[0], path[1]))
        elif path[0] in catalogs.list_catalogs():
            yield from (f"{path[0]}.{name}" for name in catalogs.catalog(path[0]).list_databases())
        else:
            yield from (f"{path[0]}.{name}" for name in catalogs.list_tables(None, path[0]))


def _used(session: Session, sql: str) -> Iterator[tuple[str, list[str]]]:
    """The tables that a statement names, by name and by alias, with their columns."""
    for match in _USED.finditer(sql):
        columns = _columns(session, match[1])
        if columns:
            yield match[1].replace("`", ""), columns
            if match[2]:
                yield match[2], columns


def _columns(session: Session, name: str) -> list[str]:
    with suppress(FiresteelError):
        found = session.catalogs.find_table(name.replace("`", "").split("."))
        if found is not None:
            return list(resolve(session.binder(), found).schema.names)
    return []
