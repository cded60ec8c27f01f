"""Sink that writes to a MongoDB collection at least once (Flink: ``MongoSink``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.errors import ConfigurationError, ConnectorError, TypeMismatchError
from firesteel.common.extras import extra
from firesteel.common.masking import remember_address
from firesteel.connectors._kept_client import KeptClient
from firesteel.program.sinks import Sink, SinkWriter, WriterContext

_RETRY_S: Final = 0.2
_PATIENCE_MS: Final = 5000  # to find a server before the job starts
_DUPLICATE: Final = 11000  # the server's error code for a duplicate key
_MODELS: Final = ("InsertOne", "ReplaceOne", "UpdateOne", "UpdateMany", "DeleteOne", "DeleteMany")


@dataclass(frozen=True, slots=True)
class MongoOptions:
    """:param batch_size: writes per request; None: all writes of an epoch.
    :param max_retries: how often a request without an answer is retried.
    :param retry_ms: the pause before a retry; None: 200 ms, and twice as long before each further one.
    :param ordered: whether writes of a request are done one after the other.
    """

    uri: str = field(repr=False)
    database: str
    collection: str
    batch_size: int | None = 1000
    batch_interval_ms: int | None = 1000
    max_retries: int = 3
    retry_ms: int | None = None
    ordered: bool = True
    bypass_validation: bool = False

    @property
    def address(self) -> str:
        """The addresses of the servers, without the password."""
        return self.uri.rpartition("://")[2].rpartition("@")[2].partition("/")[0]

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.collection}"

    @property
    def writing(self) -> dict[str, bool]:
        """Arguments of requests, where they are not the defaults."""
        made = {} if self.ordered else {"ordered": False}
        return made | {"bypass_document_validation": True} if self.bypass_validation else made

    def client(self, **options: Any) -> Any:
        """Create a client, which connects on first use."""
        pymongo = load_client()
        remember_address(self.uri)
        try:
            return pymongo.MongoClient(self.uri, **options)
        except (pymongo.errors.PyMongoError, ValueError) as error:
            raise ConfigurationError(
                "Not the URI of a MongoDB server.",
                detail=str(error),
                hint="mongodb://user:password@host:27017",
            ) from error


def load_client() -> Any:
    """Import the module pymongo."""
    return extra("pymongo", "MongoDB", "mongodb")


class Collection:
    """A collection, with a client that is kept between epochs. It is not pickled."""

    def __init__(self, options: MongoOptions) -> None:
        self.options = options
        self._kept = KeptClient()

    def __reduce__(self) -> tuple[Any, ...]:
        return Collection, (self.options,)

    def check(self) -> None:
        """Connect to the server with a short timeout.

        :raises ConnectorError: the server cannot be reached; the error says why.
        """
        client = self.options.client(serverSelectionTimeoutMS=_PATIENCE_MS, connectTimeoutMS=_PATIENCE_MS)
        try:
            client.admin.command("ping")
        except load_client().errors.PyMongoError as error:
            raise self._unreachable(error) from error
        finally:
            client.close()

    def write(self, models: Sequence[Any]) -> None:
        """Execute writes in order.

        :raises ConnectorError: the server rejects a write or cannot be reached.
        """
        errors = load_client().errors
        for retry in range(self.options.max_retries + 1):
            try:
                self._target().bulk_write(models, **self.options.writing)
                return
            except errors.BulkWriteError as error:
                raise self._refused(error) from error
            except errors.ConnectionFailure as error:
                # An insert that was done before its connection broke would fail as a duplicate.
                inserts = any(isinstance(model, load_client().InsertOne) for model in models)
                if inserts or retry == self.options.max_retries:
                    raise self._unreachable(error) from error
                fixed_ms = self.options.retry_ms
                time.sleep(_RETRY_S * 2**retry if fixed_ms is None else fixed_ms / 1000)
            except errors.PyMongoError as error:
                raise self._unreachable(error) from error

    def drop(self) -> None:
        self._kept.drop()

    def _target(self) -> Any:
        client = self._kept.client
        if client is None:
            client = self._kept.keep(self.options.client())
        return client[self.options.database][self.options.collection]

    def _refused(self, error: Any) -> ConnectorError:
        problems = [*error.details["writeErrors"], *error.details["writeConcernErrors"]]
        first = problems[0]
        code, reason = first["code"], first["errmsg"]
        repeated = "ReplaceOne(..., upsert=True) may come again, InsertOne with an _id may not"
        return ConnectorError(
            f"MongoDB did not take a write to {self.options.namespace}: {reason} (code {code})",
            detail=f"the write: {first['op']!r:.300}" if "op" in first else None,
            hint=repeated if code == _DUPLICATE else None,
        )

    def _unreachable(self, error: BaseException) -> ConnectorError:
        return ConnectorError(
            f"MongoDB at {self.options.address} does not serve {self.options.namespace}.",
            detail=str(error)[:500],
            hint="check host, port, user and password, and that the server runs",
        )


@dataclass(frozen=True, slots=True)
class MongoCollectionSink(Sink):
    """Executes a write for each record.

    :param model: returns the write for a record: ``pymongo.ReplaceOne`` or another bulk write model.
    """

    collection: Collection
    model: Callable[[Any], Any]

    @property
    def description(self) -> str:
        return f"MongoDB {self.collection.options.namespace}"

    def validate(self) -> None:
        self.collection.check()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _BulkWriter(self, context.check_waited_for)


class _BulkWriter(SinkWriter):
    """Sends requests one after the other, so that writes arrive in order."""

    def __init__(self, sink: MongoCollectionSink, check_waited_for: Callable[[], None]) -> None:
        self._check_waited_for = check_waited_for
        self._sink = sink
        pymongo = load_client()
        self._kinds = tuple(getattr(pymongo, name) for name in _MODELS)
        self._most = sink.collection.options.batch_size or 1 << 62
        self._models: list[Any] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        kinds, model_of = self._kinds, self._sink.model
        for value in values:  # hot
            model = model_of(value)
            if not isinstance(model, kinds):
                raise TypeMismatchError(
                    "The serialization schema of a MongoDB sink makes no write of a record.",
                    detail=f"{model!r:.200} of {value!r:.200}",
                    hint=f"return one of pymongo's {', '.join(_MODELS)}",
                )
            self._models.append(model)
            if len(self._models) >= self._most:
                self._send()

    @property
    def flush_interval_ms(self) -> float | None:
        return self._sink.collection.options.batch_interval_ms

    def flush(self, end_of_input: bool) -> None:
        if self._models:
            self._send()

    def _send(self) -> None:
        models, self._models = self._models, []
        self._check_waited_for()
        self._sink.collection.write(models)
