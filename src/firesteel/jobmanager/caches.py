"""The streams that a job keeps for later jobs (``ds.cache()``)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from firesteel.common.job_status import JobStatus
from firesteel.common.logs import logger
from firesteel.connectors.kept.streams import keeping, remove
from firesteel.program.transformations import CacheTransformation, Transformation

log = logger(__name__)


class KeptStreams:
    """Those of a program whose records nobody has kept yet.

    :param root: where they are kept, each in a directory of its own.
    :param batch: a job in STREAMING mode keeps nothing, as in Flink.
    """

    def __init__(self, program: Sequence[Transformation], root: str, *, batch: bool) -> None:
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
