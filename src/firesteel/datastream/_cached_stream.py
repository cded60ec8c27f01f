"""Streams whose records later jobs of the environment read again (Flink: ``CachedDataStream``)."""

from __future__ import annotations

from firesteel.common.errors import ProgramError
from firesteel.datastream._data_stream import DataStream
from firesteel.program.transformations import CacheTransformation, Transformation


class CachedDataStream(DataStream):
    """A stream whose records are kept by the first job that reads it: later jobs of the environment read what
    was kept, and nothing before it runs again. From ``DataStream.cache()``.

    The records lie in the state directory until ``invalidate()``, ``env.close()`` or the end of the program.
    """

    def invalidate(self) -> None:
        """Drop what is kept; the next job that reads the stream computes it again."""
        self._cached.cache.drop()

    @property
    def _cached(self) -> CacheTransformation:
        assert isinstance(self._transformation, CacheTransformation)
        return self._transformation

    def _operator(self, setting: str) -> Transformation:
        raise ProgramError(
            f"The {setting} cannot be set or read on a cached stream.",
            operator=self._transformation.name,
            hint=f"set the {setting} before cache()",
        )
