"""Collections of MongoDB, with the names of Flink's Java connector; PyFlink has none."""

from __future__ import annotations

from firesteel.connectors.mongodb.builders import (
    MongoSink,
    MongoSinkBuilder,
    MongoSource,
    MongoSourceBuilder,
)

__all__ = ["MongoSink", "MongoSinkBuilder", "MongoSource", "MongoSourceBuilder"]
