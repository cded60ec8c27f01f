"""Collections as sources: read once, in the order of ``_id``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from firesteel.common.errors import ConnectorError
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors._splits import FixedSplits
from firesteel.connectors.mongodb.sink import Collection, MongoOptions, load_client
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.program.transformations import SourceTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.mongodb.values import ID, reader
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.types import RowType

__all__ = ["MongoScan", "projection"]

_CHUNK: Final = 2048


def projection(names: tuple[str, ...]) -> dict[str, int]:
    """Return which fields of documents are asked for."""
    return {**dict.fromkeys(names, 1), ID: int(ID in names or not names)}


@dataclass(frozen=True, slots=True)
class MongoSource(Source):
    """:param row: the columns that are read. Positions are numbers of documents."""

    options: MongoOptions
    row: RowType
    fetch: int = _CHUNK
    no_timeout: bool = True

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


class _Documents:
    """The documents of a collection. Going on from where it is costs nothing, another position a query."""

    def __init__(self, source: MongoSource, split: Split) -> None:
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
            projection(source.row.names),
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
    def __init__(self, source: MongoSource) -> None:
        self._row = source.row
        self._fields = [(f.name, reader(f.data_type)) for f in source.row.fields]
        self._open = OpenFiles(partial(_Documents, source))

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._open.read(range_, self._read)

    def _read(self, documents: _Documents, range_: ReadRange) -> Iterator[Chunk]:  # hot
        position, records = range_.position or 0, range_.max_records
        documents.go_to(position)
        while records > 0:
            wanted = min(_CHUNK, records)
            found = documents.fetch(wanted)
            position += len(found)
            records -= len(found)
            rows = [tuple(read(d.get(name)) for name, read in self._fields) for d in found]
            values: Any = columns_of(rows, self._row)
            ended = len(found) < wanted
            yield Chunk(values, None, position, ended)
            if ended:
                return

    def close(self) -> None:
        self._open.close()


@dataclass(frozen=True, slots=True)
class MongoScan:
    """What reads a table."""

    context: TableContext
    options: MongoOptions
    bounded = True
    changelog_mode = frozenset({"+I"})

    def build(self, run: Any, node: p.TableSourceScan) -> Transformation:
        options = self.context.options
        source = MongoSource(
            self.options, node.row, options["scan.fetch-size"], options["scan.cursor.no-timeout"]
        )
        made = SourceTransformation(
            name=f"Source: {node.table.name.rpartition('.')[2]}",
            source=source,
            output_type=columns_type(node.row),
            parallelism=options["scan.parallelism"],
        )
        found: Transformation = run.add(made, node)
        return found
