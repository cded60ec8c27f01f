"""Source that reads a MongoDB collection once, in the order of ``_id`` (Flink: ``MongoSource``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from firesteel.common.errors import ConnectorError
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors._splits import FixedSplits
from firesteel.connectors.mongodb.sink import Collection, MongoOptions, load_client
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    Chunks,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)

__all__ = ["ID", "Decoder", "Documents", "MongoCollectionSource", "projection"]

ID: Final = "_id"
CHUNK: Final = 2048

#: Some documents, in their order.
Documents = Sequence[dict[str, Any]]


def projection(names: tuple[str, ...]) -> dict[str, int]:
    """Return which fields of documents are asked for."""
    return {**dict.fromkeys(names, 1), ID: int(ID in names or not names)}


class Decoder(Protocol):
    """What documents become."""

    def make(self) -> Callable[[Documents], Any]:
        """Return what makes the values of a chunk of documents; called once in each worker."""


@dataclass(frozen=True, slots=True)
class MongoCollectionSource(Source):
    """One split, whose positions are numbers of documents.

    :param fields: the fields that are asked for; empty: all.
    :param fetch: documents of a request; ``limit``: of all; None: no limit.
    """

    options: MongoOptions
    decoder: Decoder
    fields: tuple[str, ...] = ()
    fetch: int = CHUNK
    no_timeout: bool = True
    limit: int | None = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def description(self) -> str:
        return f"MongoDB {self.options.namespace}"

    def validate(self) -> None:
        """:raises ConnectorError: the server cannot be reached."""
        Collection(self.options).check()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FixedSplits([Split("collection", None)])

    def create_reader(self) -> SourceReader:
        return _Reader(self)


class _Cursor:
    """The documents of a collection. Going on from where it is costs nothing, another position a query."""

    def __init__(self, source: MongoCollectionSource, split: Split) -> None:
        self._source = source
        self._client: Any = None
        self._cursor: Any = None
        self._position = -1

    def go_to(self, position: int) -> None:
        if position == self._position:
            return
        self.close()
        source, options = self._source, self._source.options
        self._client = options.client(tz_aware=True)
        found = self._client[options.database][options.collection].find(
            {},
            projection(source.fields) if source.fields else None,
            skip=position,
            no_cursor_timeout=source.no_timeout,
            batch_size=source.fetch,
            sort=[(ID, 1)],
        )
        self._cursor, self._position = found, position

    def fetch(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        try:
            for document in self._cursor:
                found.append(document)
                if len(found) == count:
                    break
        except load_client().errors.PyMongoError as error:
            options = self._source.options
            raise ConnectorError(
                f"MongoDB at {options.address} cannot be read.",
                detail=f"{options.namespace}: {error}"[:500],
                hint="check host, port, user and password, and that the server runs",
            ) from error
        self._position += len(found)
        return found

    def close(self) -> None:
        if self._client is not None:
            self._cursor.close()
            self._client.close()
            self._client = None


class _Reader(SourceReader):
    def __init__(self, source: MongoCollectionSource) -> None:
        self._limit = source.limit
        self._decode = source.decoder.make()
        self._open = OpenFiles(partial(_Cursor, source))

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._open.read(range_, self._read)

    def _read(self, cursor: _Cursor, range_: ReadRange) -> Chunks:  # hot
        position, records, limit = range_.position or 0, range_.max_records, self._limit
        cursor.go_to(position)
        while records > 0:
            wanted = min(CHUNK, records, CHUNK if limit is None else limit - position)
            found = cursor.fetch(wanted)
            position += len(found)
            records -= len(found)
            ended = len(found) < wanted or position == limit
            yield Chunk(self._decode(found), None, position, ended)
            if ended:
                return

    def close(self) -> None:
        self._open.close()
