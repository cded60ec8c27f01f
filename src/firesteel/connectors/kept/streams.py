"""Caches streams for later jobs (``ds.cache()``): the sink and the source."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from firesteel.connectors.kept.records import KeepSink, KeptRecords
from firesteel.program.transformations import (
    CacheTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from firesteel.storage.filesystems import resolve


class StreamCache:
    """The records of one cached stream. They are removed with the cache, by ``drop``, or at the end of the
    program."""

    def __init__(self) -> None:
        self._origin: SourceTransformation | None = None
        self._records: KeptRecords | None = None
        self._remove: Callable[[], Any] | None = None

    @property
    def origin(self) -> Transformation | None:
        """Return the source of the records; None if there are none, or some are lost."""
        if self._records is not None and not self._records.are_there():
            self.drop()
        return self._origin

    def keep(self, directory: str, stream: Transformation) -> None:
        """Called when a job has finished and has left the records of ``stream`` in ``directory``."""
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
    """Return the additional sink of a job that caches the records of a stream."""
    return SinkTransformation(
        name=node.name,
        input=node.input,
        sink=KeepSink(directory),
        parallelism=_producer(node.input).parallelism,
    )


def _producer(stream: Transformation) -> Transformation:
    return stream.input if isinstance(stream, SideOutputTransformation) else stream
