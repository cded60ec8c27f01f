"""Relational databases (PyFlink: ``pyflink.datastream.connectors.jdbc``; the source, the exactly-once sink
and the lookup are those of Flink's Java API).

Tested against PostgreSQL and SQLite. See ``docs/jdbc.md``."""

from __future__ import annotations

from firesteel.connectors.jdbc.builders import (
    JdbcLookupFunction,
    JdbcNumericBetweenParametersProvider,
    JdbcSink,
    JdbcSource,
)
from firesteel.connectors.jdbc.builders_options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
)
from firesteel.connectors.jdbc.statements import insert_statement, upsert_statement

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExactlyOnceOptions",
    "JdbcExecutionOptions",
    "JdbcLookupFunction",
    "JdbcNumericBetweenParametersProvider",
    "JdbcSink",
    "JdbcSource",
    "insert_statement",
    "upsert_statement",
]
