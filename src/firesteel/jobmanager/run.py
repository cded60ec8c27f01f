"""What a job is between two failures: its sources, its committed state, and the cut through both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from firesteel.graph.job_graph import JobGraph, JobVertex
from firesteel.jobmanager.checkpoint_notices import CheckpointNotices
from firesteel.jobmanager.checkpoints import accumulators as stored_accumulators
from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.checkpoints.restore import Beginning, topology_of
from firesteel.jobmanager.checkpoints.storage import copy_into
from firesteel.jobmanager.committed import CommittedCut, CommittedState
from firesteel.jobmanager.lines import Subtask
from firesteel.jobmanager.sources import JobSources
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest, OperatorEntry, SubtaskEntry, VertexEntry, vertex_with_paths


@dataclass(frozen=True, slots=True)
class CutInfo:
    """What a manifest says of the job and the moment."""

    id: int
    job_id: str
    claim: str
    triggered_ms: int
    epoch: int
    now_ms: int


class JobRun:
    """One run of a job, from ``beginning`` on."""

    def __init__(
        self,
        graph: JobGraph,
        subtasks: list[Subtask],
        files: StateFiles,
        shared: SharedFiles,
        beginning: Beginning,
        checkpointing: bool,
        real_time: bool = False,
    ) -> None:
        self._graph = graph
        self._files = files
        self._shared = shared
        self.sources = JobSources(graph, files.root, checkpointing, real_time)
        self.sources.restore(beginning.sources, beginning.exact)
        self.state = CommittedState(files, subtasks, beginning.subtasks, shared)
        self.notices = CheckpointNotices()

    def rescaled(
        self, graph: JobGraph, subtasks: list[Subtask], begin: Mapping[Subtask, SubtaskEntry]
    ) -> JobRun:
        """The run that goes on from here with other subtasks, and with the same sources; this one is over.

        :param begin: the state of the new subtasks, which is made of that of the old ones.
        """
        run: JobRun = object.__new__(JobRun)
        run._graph, run._files, run._shared = graph, self._files, self._shared
        run.sources, run.notices = self.sources, self.notices
        run.state = CommittedState(self._files, subtasks, begin, self._shared)
        self.state.release()  # after the new one has taken what it needs
        self.sources.rescale({vertex.id: vertex.parallelism for vertex in graph.vertices})
        return run

    @property
    def files(self) -> set[str]:
        """The state files that the run needs now."""
        return {ref.path for subtask in self.state.subtasks for ref in self.state.line(subtask).runs}

    def stand_alone(self) -> None:
        """Copy the files that belong to somebody else, who may remove them: what follows refers to the copies
        (Flink: ``NO_CLAIM``)."""
        copies = {path: copy_into(self._files, path) for path in self.files if not self._shared.is_own(path)}
        if copies:
            self.state.rename(lambda path: copies.get(path, path))

    def cut(self, info: CutInfo, sinks: dict[str, bytes], accumulators: Mapping[str, Any]) -> Manifest:
        """Everything that the committed epochs have come to; between two epochs."""
        return Manifest(
            id=info.id,
            savepoint=False,
            job_id=info.job_id,
            job_name=self._graph.name,
            claim=info.claim,
            triggered_ms=info.triggered_ms,
            epoch=info.epoch,
            now_ms=info.now_ms,
            topology=topology_of(self._graph),
            vertices=tuple(map(self._vertex, self._graph.vertices)),
            sources=self.sources.snapshot(),
            sinks=sinks,
            accumulators=stored_accumulators.pack(accumulators),
            claimed=self._shared.claimed,
        )

    def committed(self, epoch: int, now_ms: int) -> CommittedCut:
        """The state alone, for those who read it."""
        named = (vertex_with_paths(self._vertex(v), self._files.path_of) for v in self._graph.vertices)
        return CommittedCut(epoch, now_ms, tuple(named))

    def _vertex(self, vertex: JobVertex) -> VertexEntry:
        return VertexEntry(
            id=vertex.id,
            name=vertex.name,
            max_parallelism=vertex.max_parallelism,
            operators=tuple(OperatorEntry(o.operator_id, o.node.name, o.node.uid) for o in vertex.operators),
            subtasks=tuple(self.state.entry((vertex.id, i)) for i in range(vertex.parallelism)),
        )


def for_savepoint(manifest: Manifest) -> Manifest:
    """The part of a cut that a job with another graph can begin with: no watermarks, as in Flink."""
    vertices = tuple(
        msgspec.structs.replace(v, subtasks=tuple(SubtaskEntry(s.line) for s in v.subtasks))
        for v in manifest.vertices
    )
    return msgspec.structs.replace(manifest, savepoint=True, vertices=vertices, accumulators=b"", claimed=())
