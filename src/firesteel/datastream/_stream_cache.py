"""What is kept of streams for later jobs: ``DataStream.cache()``."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from firesteel.common.errors import ProgramError
from firesteel.connectors._storage import resolve
from firesteel.connectors.kept_records import KeepSink, KeptRecords
from firesteel.datastream._call_site import call_site
from firesteel.datastream._transformations import (
    ROUTES,
    CacheTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)

if TYPE_CHECKING:
    from firesteel.datastream._cached_stream import CachedDataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


class StreamCache:
    """The records of one stream. They go with the cache, with ``drop`` and at the end of the program."""

    def __init__(self) -> None:
        self._origin: SourceTransformation | None = None
        self._records: KeptRecords | None = None
        self._remove: Callable[[], Any] | None = None

    @property
    def origin(self) -> Transformation | None:
        """What reads the records; None: there are none, or some are lost."""
        if self._records is not None and not self._records.are_there():
            self.drop()
        return self._origin

    def keep(self, directory: str, stream: Transformation) -> None:
        """A job has come to its end and left the records of ``stream`` in ``directory``."""
        self.drop()
        self._records = KeptRecords.in_directory(directory)
        self._remove = weakref.finalize(self, remove, directory)
        self._origin = SourceTransformation(
            name=f"Cached {stream.name}",
            source=self._records,
            output_type=stream.output_type,
            parallelism=_producer(stream).parallelism,
        )

    def drop(self) -> None:
        remove, self._remove = self._remove, None
        self._origin = self._records = None
        if remove is not None:
            remove()


def remove(directory: str) -> None:
    storage, inner = resolve(directory)
    storage.delete_tree(inner)


def keeping(node: CacheTransformation, directory: str) -> SinkTransformation:
    """The sink that a job has more which is to keep the records of a stream."""
    return SinkTransformation(
        name=node.name,
        input=node.input,
        sink=KeepSink(directory),
        parallelism=_producer(node.input).parallelism,
    )


def _producer(stream: Transformation) -> Transformation:
    return stream.input if isinstance(stream, SideOutputTransformation) else stream


class Cacheable:
    """Base of streams whose records can be kept."""

    _env: StreamExecutionEnvironment
    _transformation: Transformation

    def cache(self) -> CachedDataStream:
        """Have the records kept by the first job that reads them, for the later jobs of the environment: they
        read what was kept. A job in STREAMING mode reads it too, but keeps nothing itself, and says so.

        :raises ProgramError: after a partitioning or union.
        """
        from firesteel.datastream._cached_stream import CachedDataStream

        transformation = self._transformation
        if isinstance(transformation, ROUTES):
            raise ProgramError(
                "Only what an operator or a side output gives can be cached.",
                operator=transformation.name,
                hint="call cache() before key_by() or another partitioning, and on each stream of a union",
            )
        cache = StreamCache()
        self._env._caches.append(cache)
        node = CacheTransformation(
            name=f"Cache of {transformation.name}",
            input=transformation,
            cache=cache,
            output_type=transformation.output_type,
            created_at=call_site(),
        )
        return CachedDataStream(self._env, node)  # no part of the program before something reads it
