"""Collections that are written: documents are added, or replaced in their fields and deleted by ``_id``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.columns import DELETE, UPDATE_BEFORE, columns_in
from firesteel.connectors.mongodb.sink import Collection, MongoOptions, load_client
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import Sink, SinkWriter, WriterContext
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.buffering import FLUSH_INTERVAL, FLUSH_ROWS, BufferedSink
from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.mongodb.values import ID, object_id, writer
from firesteel.sql.connectors.sinks import kinds_by_key, sink_transformation
from firesteel.sql.operators.objects import objects_of
from firesteel.sql.types import RowType

__all__ = ["MongoTarget"]


@dataclass(frozen=True, slots=True)
class MongoTableSink(Sink):
    """:param keys: columns of the primary key, whose value is ``_id``; none: documents are added.
    :param shard_keys: columns that say where in a sharded collection a document is.
    """

    collection: Collection
    row: RowType
    keys: tuple[str, ...] = ()
    shard_keys: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        return f"MongoDB {self.collection.options.namespace}"

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.UPSERT if self.keys else SinkPromise.AT_LEAST_ONCE

    def validate(self) -> None:
        self.collection.check()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self)


class _Writer(SinkWriter):
    """Writes each batch in one request."""

    def __init__(self, sink: MongoTableSink) -> None:
        self._sink = sink
        self._convert = [writer(data_type) for data_type in sink.row.types]
        self._client = load_client()

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        columns = columns_in(values)
        row = self._sink.row
        fields = [
            [convert(value) for value in objects_of(array, data_type)]
            for array, data_type, convert in zip(columns.arrays, row.types, self._convert, strict=True)
        ]
        documents = (dict(zip(row.names, found, strict=True)) for found in zip(*fields, strict=True))
        if self._sink.keys:
            kinds = columns.kinds_or_inserts().tolist()
            models = [self._change(*found) for found in zip(kinds, documents, strict=True)]
        else:
            models = [self._client.InsertOne(document) for document in documents]
        if models:
            self._sink.collection.write(models)

    def _change(self, kind: int, document: dict[str, Any]) -> Any:
        where = {ID: self._id(document)} | {name: document[name] for name in self._sink.shard_keys}
        if kind in (DELETE, UPDATE_BEFORE):
            return self._client.DeleteOne(where)
        changed = {name: value for name, value in document.items() if name not in where}
        if not changed:
            return self._client.UpdateOne(where, {"$setOnInsert": where}, upsert=True)
        return self._client.UpdateOne(where, {"$set": changed}, upsert=True)

    def _id(self, document: dict[str, Any]) -> Any:
        keys = self._sink.keys
        if len(keys) > 1:
            return {name: document[name] for name in keys}
        value = document[keys[0]]
        found = object_id(value) if isinstance(value, str) else None
        return value if found is None else found


@dataclass(frozen=True, slots=True)
class MongoTarget:
    """What writes a table: by key where it has a primary key."""

    context: TableContext
    options: MongoOptions
    deletes_old_rows = True

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        return kinds_by_key(self.context.schema)

    def attach(self, environment: Any, rows: Transformation, node: p.Sink) -> SinkTransformation:
        context, options, row = self.context, self.context.options, node.row
        key = context.schema.primary_key
        keys = () if key is None else tuple(key.columns)
        sink = MongoTableSink(Collection(self.options), row, keys, tuple(context.table.partition_keys))
        places = tuple(row.names.index(name) for name in keys)
        buffered = BufferedSink(sink, places, options[FLUSH_ROWS], options[FLUSH_INTERVAL])
        return sink_transformation(environment, rows, node, buffered, options["sink.parallelism"])
