"""The streams that a job keeps for later jobs (``ds.cache()``)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4
from weakref import WeakValueDictionary

from firesteel.common.errors import PathNotFoundError
from firesteel.common.job_status import JobStatus
from firesteel.common.logs import logger
from firesteel.connectors.kept.streams import keeping, remove
from firesteel.program.transformations import Cache, CacheTransformation, Transformation

log = logger(__name__)


class DataSets:
    """The kept streams of this process by id. It forgets those that the program has forgotten."""

    def __init__(self) -> None:
        self._caches: WeakValueDictionary[str, Cache] = WeakValueDictionary()

    def add(self, data_set_id: str, cache: Cache) -> None:
        self._caches[data_set_id] = cache

    def ids(self) -> tuple[str, ...]:
        """Those whose records are there; storage is asked."""
        return tuple(key for key, cache in list(self._caches.items()) if cache.origin is not None)

    def drop(self, data_set_id: str) -> None:
        """Remove the records; the next job that reads the stream computes it again.

        :raises PathNotFoundError: there are none.
        """
        cache = self._caches.pop(data_set_id, None)
        if cache is None or cache.origin is None:
            raise PathNotFoundError(
                f"There is no data set {data_set_id}.", hint="GET /datasets lists those that there are"
            )
        cache.drop()


class KeptStreams:
    """Those of a program whose records nobody has kept yet.

    :param root: where they are kept, each in a directory of its own.
    :param data_sets: learns of those that a job has kept.
    :param batch: a job in STREAMING mode keeps nothing, as in Flink.
    """

    def __init__(
        self, program: Sequence[Transformation], root: str, data_sets: DataSets, *, batch: bool
    ) -> None:
        self._data_sets = data_sets
        nodes = _not_kept(program)
        if nodes and not batch:
            log.warning("cached streams are kept by jobs in BATCH mode only: %s", nodes[0].name)
        self._kept = [(node, f"{root}/cache-{uuid4().hex}") for node in nodes if batch]
        #: What the program has more.
        self.sinks = [keeping(node, directory) for node, directory in self._kept]

    def job_ended(self, status: JobStatus) -> None:
        """Keep what the job has written only if it finished; otherwise it is not a result."""
        for node, directory in self._kept:
            if status is JobStatus.FINISHED:
                node.cache.keep(directory, node.input)
                self._data_sets.add(directory.rpartition("-")[2], node.cache)
            else:
                remove(directory)


def _not_kept(program: Sequence[Transformation]) -> list[CacheTransformation]:
    seen: dict[int, Transformation] = {}
    pending = list(program)
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            pending += node.inputs
    nodes = (node for node in seen.values() if isinstance(node, CacheTransformation))
    return sorted((node for node in nodes if node.cache.origin is None), key=lambda node: node.id)
