"""Builders of the MongoDB source and sink, with the names of Flink's Java connector; PyFlink has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final, Self

from firesteel.common._map_all import map_all
from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ProgramError
from firesteel.connectors.mongodb.sink import Collection, MongoCollectionSink, MongoOptions
from firesteel.connectors.mongodb.source import Decoder, Documents, MongoCollectionSource
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.connector_wrappers import DeliveryGuarantee, SinkWrapper, SourceWrapper

_ONE_READER: Final = "a collection is read by one subtask"


class _Builder:
    """What both builders ask for: a collection, and a function for its documents."""

    _who: ClassVar[str]
    _what: ClassVar[str]
    _schema: ClassVar[str]  # what the function is called

    def __init__(self) -> None:
        self._options = MongoOptions("", "", "")
        self._function: Callable[[Any], Any] | None = None

    def set_uri(self, uri: str) -> Self:
        """Set the URI: ``mongodb://user:password@host:port``, optionally followed by ``/?`` and driver
        options."""
        return self._with(uri=require_text(uri, "URI", self._who))

    def set_database(self, database: str) -> Self:
        return self._with(database=require_text(database, "database", self._who))

    def set_collection(self, collection: str) -> Self:
        return self._with(collection=require_text(collection, "collection", self._who))

    def _with(self, **options: Any) -> Self:
        self._options = replace(self._options, **options)
        return self

    def _set_function(self, given: Any, hint: str) -> Self:
        if not callable(given) or isinstance(given, type):
            raise WrongArgumentError(
                f"The {self._schema} schema must be a function.",
                operator=self._who,
                detail=f"got {given!r}",
                hint=hint,
            )
        self._function = given
        return self

    def _complete(self) -> tuple[MongoOptions, Callable[[Any], Any]]:
        """:raises ProgramError: a setting is missing."""
        options = self._options
        given = {
            "set_uri": options.uri,
            "set_database": options.database,
            "set_collection": options.collection,
            f"set_{self._schema}_schema": self._function,
        }
        missing = [name for name, value in given.items() if not value]
        if missing or self._function is None:
            raise ProgramError(
                f"A MongoDB {self._what} lacks something.",
                operator=self._who,
                hint=f"call {', '.join(missing)}",
            )
        return options, self._function


class MongoSink(SinkWrapper):
    """Writes to a collection, at least once; see ``builder``. Idempotent writes, such as replacing a document
    by ``_id``, take effect exactly once. (Flink: ``MongoSink``.)

    >>> from pymongo import ReplaceOne
    >>> sink = (
    ...     MongoSink.builder()
    ...     .set_uri("mongodb://localhost:27017")
    ...     .set_database("shop")
    ...     .set_collection("orders")
    ...     .set_serialization_schema(lambda order: ReplaceOne({"_id": order["_id"]}, order, upsert=True))
    ...     .build()
    ... )
    """

    @staticmethod
    def builder() -> MongoSinkBuilder:
        return MongoSinkBuilder()


class MongoSinkBuilder(_Builder):
    """Requires URI, database, collection and a serialization schema."""

    _who, _what, _schema = "MongoSink", "sink", "serialization"

    def set_batch_size(self, batch_size: int) -> Self:
        """Set the number of writes per request; the default is 1000, and -1 means all writes of an epoch."""
        size = None if batch_size == -1 else require_int(batch_size, "batch size", 1, None, self._who)
        return self._with(batch_size=size)

    def set_batch_interval_ms(self, batch_interval_ms: int) -> Self:
        """Set how long a write may wait for its batch to fill, in real time; -1: until the batch is full or
        the epoch ends. No write waits longer than its epoch. Default: 1,000."""
        interval_ms = require_int(batch_interval_ms, "batch interval", -1, None, self._who)
        return self._with(batch_interval_ms=None if interval_ms == -1 else interval_ms)

    def set_max_retries(self, max_retries: int) -> Self:
        """Set how often a request without an answer is retried, after the driver's own retries; the default
        is 3. Inserts are not retried because they may have been done: the job fails."""
        return self._with(max_retries=require_int(max_retries, "number of retries", 0, None, self._who))

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Accepts ``AT_LEAST_ONCE`` and ``NONE``, which has no effect: an epoch ends when everything is
        written."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise WrongArgumentError(
                "Not a DeliveryGuarantee.", operator=self._who, detail=f"got {delivery_guarantee!r}"
            )
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise ProgramError(
                "A MongoDB sink cannot write exactly once.",
                operator=self._who,
                hint="AT_LEAST_ONCE, with writes that may come again: ReplaceOne(..., upsert=True)",
            )
        if delivery_guarantee is DeliveryGuarantee.NONE:
            tell_no_effect("DeliveryGuarantee.NONE", "an epoch ends when all is written: at least once")
        return self

    def set_serialization_schema(self, serialization_schema: Callable[[Any], Any]) -> Self:
        """Set the function that converts a record to a write: pymongo's ``InsertOne``, ``ReplaceOne``,
        ``UpdateOne``, ``UpdateMany``, ``DeleteOne`` or ``DeleteMany``."""
        hint = "lambda record: ReplaceOne({'_id': record['_id']}, record, upsert=True)"
        return self._set_function(serialization_schema, hint)

    def build(self) -> MongoSink:
        """Build the sink.

        :raises ProgramError: a setting is missing, or the URI is invalid.
        """
        options, function = self._complete()
        return MongoSink(MongoCollectionSink(Collection(options), function))


@dataclass(frozen=True, slots=True)
class _Each(Decoder):
    function: Callable[[Any], Any]

    def make(self) -> Callable[[Documents], list[Any]]:
        return partial(map_all, self.function)


class MongoSource(SourceWrapper):
    """Reads a collection once, in the order of ``_id``; see ``builder``. (Flink: ``MongoSource``.)

    >>> source = (
    ...     MongoSource.builder()
    ...     .set_uri("mongodb://localhost:27017")
    ...     .set_database("shop")
    ...     .set_collection("orders")
    ...     .set_projected_fields("customer", "cents")
    ...     .set_deserialization_schema(lambda order: (order["customer"], order["cents"]))
    ...     .build()
    ... )
    """

    @staticmethod
    def builder() -> MongoSourceBuilder:
        return MongoSourceBuilder()


class MongoSourceBuilder(_Builder):
    """Requires URI, database, collection and a deserialization schema."""

    _who, _what, _schema = "MongoSource", "source", "deserialization"

    def __init__(self) -> None:
        super().__init__()
        self._reading: dict[str, Any] = {}

    def set_fetch_size(self, fetch_size: int) -> Self:
        """Set the number of documents of a request; the default is 2048."""
        self._reading["fetch"] = require_int(fetch_size, "fetch size", 1, None, self._who)
        return self

    def set_no_cursor_timeout(self, no_cursor_timeout: bool) -> Self:
        """Set whether the server keeps a cursor that nothing is read from for ten minutes; true by
        default."""
        self._reading["no_timeout"] = bool(no_cursor_timeout)
        return self

    def set_limit(self, limit: int) -> Self:
        """Set the number of documents that are read at most; -1, the default, means all."""
        if limit != -1:
            require_int(limit, "limit", 1, None, self._who)
        self._reading["limit"] = None if limit == -1 else limit
        return self

    def set_projected_fields(self, *fields: str) -> Self:
        """Set the fields that documents come with; without it all."""
        self._reading["fields"] = tuple(require_text(field, "field", self._who) for field in fields)
        return self

    def set_partition_size(self, partition_size: int) -> Self:
        """Has no effect, and a warning says so."""
        tell_no_effect("set_partition_size", _ONE_READER)
        return self

    def set_samples_per_partition(self, samples_per_partition: int) -> Self:
        """Has no effect, and a warning says so."""
        tell_no_effect("set_samples_per_partition", _ONE_READER)
        return self

    def set_deserialization_schema(self, deserialization_schema: Callable[[Any], Any]) -> Self:
        """Set the function that converts a document, a ``dict`` as pymongo gives it, to a record."""
        hint = "lambda document: (document['customer'], document['cents'])"
        return self._set_function(deserialization_schema, hint)

    def build(self) -> MongoSource:
        """Build the source.

        :raises ProgramError: a setting is missing, or the URI is invalid.
        """
        options, function = self._complete()
        options.client(connect=False).close()
        return MongoSource(MongoCollectionSource(options, _Each(function), **self._reading))
