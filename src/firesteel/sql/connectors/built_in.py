"""The connectors of this package: one line each."""

from __future__ import annotations

from functools import cache

from firesteel.sql.connectors.factory import TABLE_CONNECTORS

__all__ = ["register"]


@cache
def register() -> None:
    """Have them in the registry."""
    from firesteel.sql.connectors import blackhole, datagen, filesystem, printing
    from firesteel.sql.connectors.elasticsearch.tables import CONNECTORS
    from firesteel.sql.connectors.jdbc import tables
    from firesteel.sql.connectors.kafka import append, upsert
    from firesteel.sql.connectors.mongodb import tables as mongodb
    from firesteel.sql.connectors.spark import scan as spark

    for module in (append, blackhole, datagen, filesystem, mongodb, printing, spark, tables, upsert):
        TABLE_CONNECTORS.register(module.CONNECTOR)
    for connector in CONNECTORS:
        TABLE_CONNECTORS.register(connector)
