"""``DataStream.cache()``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.common.errors import ProgramError
from firesteel.connectors.kept.streams import StreamCache
from firesteel.program.call_site import call_site
from firesteel.program.transformations import ROUTES, CacheTransformation, Transformation

if TYPE_CHECKING:
    from firesteel.datastream._cached_stream import CachedDataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


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
