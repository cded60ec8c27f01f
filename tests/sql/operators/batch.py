"""What a batch query gives: DuckDB as an oracle, where its SQL and Flink's agree."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

_EPOCH = dt.datetime(1970, 1, 1)


def at(ms: int) -> dt.datetime:
    """An instant, as rows of table programs have it."""
    return _EPOCH + dt.timedelta(milliseconds=ms)


def ms(value: Any) -> Any:
    """Times as milliseconds, everything else as it is."""
    return round((value - _EPOCH).total_seconds() * 1000) if isinstance(value, dt.datetime) else value


def plain(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows with times as milliseconds, sorted."""
    return sorted((tuple(map(ms, row)) for row in rows), key=repr)


def batch(sql: str, **tables: tuple[str, Iterable[Sequence[Any]]]) -> list[tuple[Any, ...]]:
    """The rows of a query, sorted. :param tables: the columns of each, and its rows; times are BIGINT."""
    with duckdb.connect() as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            filled = plain(rows)
            if filled:
                marks = ", ".join("?" * len(filled[0]))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", filled)
        return plain(connection.execute(sql).fetchall())
