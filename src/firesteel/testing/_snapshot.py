"""The state of a harness, taken out and put into another one."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.common.errors import StateError
from firesteel.jobmanager.lines import Subtask
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state.rescale import rescaled
from firesteel.testing._job import HandDrivenJob

__all__ = ["Snapshot"]


@dataclass(frozen=True, slots=True)
class _VertexState:
    name: str
    max_parallelism: int
    lines: tuple[StateLine, ...]  # by subtask


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Keyed state, timers and operator state of what ran in a harness, and its processing time.

    As in a savepoint of Flink's there are no watermarks in it: event time begins anew. It is self-contained
    and may be pickled, for a test that restores the state of an earlier version of a function.
    """

    processing_time: int
    _vertices: dict[str, _VertexState] = field(repr=False)
    _files: dict[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, job: HandDrivenJob, processing_time: int) -> Snapshot:
        held, vertices = job.lines, {}
        for vertex in job.graph.vertices:
            keys = [(vertex.id, subtask) for subtask in range(vertex.parallelism)]
            if all(key in held for key in keys):
                lines = tuple(held[key] for key in keys)
                vertices[vertex.id] = _VertexState(vertex.name, vertex.max_parallelism, lines)
        paths = {run.path for state in vertices.values() for line in state.lines for run in line.runs}
        return cls(processing_time, vertices, {path: job.files.read(path) for path in paths})

    def lines_for(self, job: HandDrivenJob) -> dict[Subtask, StateLine]:
        """The state lines with which ``job`` begins; writes their files into its state directory."""
        _write(self._files, job.files)
        lines: dict[Subtask, StateLine] = {}
        for vertex_id, state in self._vertices.items():
            vertex = next((v for v in job.graph.vertices if v.id == vertex_id), None)
            if vertex is None:
                raise StateError(
                    f"The snapshot has state of {state.name!r}, and there is no such operator here.",
                    detail=f"operators here: {', '.join(v.name for v in job.graph.vertices)}",
                    hint="restore it into the same transformation, or give the operators uids",
                )
            if vertex.max_parallelism != state.max_parallelism:
                raise StateError(
                    f"The max parallelism of {state.name!r} cannot change.",
                    detail=f"it was {state.max_parallelism} and is {vertex.max_parallelism} now",
                    hint="keys are dealt out by it: restore with the same max_parallelism",
                )
            new = rescaled(
                state.lines, job.files, state.max_parallelism, vertex.parallelism, f"rescaled-{vertex_id}"
            )
            lines.update({(vertex_id, subtask): line for subtask, line in enumerate(new)})
        return lines


def _write(content: dict[str, bytes], files: StateFiles) -> None:
    for path, data in content.items():
        files.write_once(path, data)
