"""From a manifest to what a job begins with: state is found by operator id and state name, whatever has
become of chains and parallelism since."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from firesteel.common.errors import StateError
from firesteel.graph.job_graph import JobGraph, JobVertex
from firesteel.graph.uids import PLANNED
from firesteel.state.canonical import by_operator, catalog, combined
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state.manifest import Manifest, OperatorEntry, SubtaskEntry, VertexEntry
from firesteel.state.rescale import rescaled

Subtask = tuple[str, int]  # vertex id, subtask


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a job begins with. Empty: from the start.

    :param exact: the graph is the one that the manifest was made with: subtasks go on where they were.
    :param stands_alone: from its first checkpoint on the job needs nothing that belongs to somebody else.
    """

    subtasks: Mapping[Subtask, SubtaskEntry] = field(default_factory=dict)
    sources: Mapping[str, bytes] = field(default_factory=dict)
    sinks: Mapping[str, bytes] = field(default_factory=dict)
    accumulators: bytes = b""
    now_ms: int = 0
    exact: bool = False
    stands_alone: bool = False


def topology_of(graph: JobGraph) -> str:
    """A digest of everything that what subtasks remember of their channels depends on."""
    vertices = [(v.id, v.parallelism, v.max_parallelism, v.operator_ids) for v in graph.vertices]
    edges = [
        (e.id, e.source_operator, e.target_operator, e.input_index, e.partitioning.kind.value, e.tag_id)
        for e in graph.edges
    ]
    return hashlib.blake2b(repr((vertices, edges)).encode(), digest_size=16).hexdigest()


def adopt_max_parallelism(graph: JobGraph, manifest: Manifest) -> JobGraph:
    """The graph with the max parallelism of keyed state where the program sets none."""
    frozen = {o.id: v.max_parallelism for v in manifest.vertices for o in v.operators}

    def adopted(vertex: JobVertex) -> JobVertex:
        number = next((frozen[i] for i in vertex.operator_ids if i in frozen), vertex.max_parallelism)
        if not _is_keyed(vertex) or vertex.head.node.max_parallelism_is_set:
            return vertex
        operators = tuple(replace(o, node=replace(o.node, max_parallelism=number)) for o in vertex.operators)
        return replace(vertex, max_parallelism=number, operators=operators)

    return replace(graph, vertices=tuple(map(adopted, graph.vertices)))


def _is_keyed(vertex: JobVertex) -> bool:
    return any(operator.node.keyed for operator in vertex.operators)


class Restorer:
    """Fits the content of a manifest to a job graph.

    :param files: the state directory of the new job, which receives what has to be rewritten.
    :param name: the prefix of new files and lines; it must not have been used in ``files``.
    """

    def __init__(
        self, manifest: Manifest, graph: JobGraph, files: StateFiles, name: str, *, allow_non_restored: bool
    ) -> None:
        self._manifest = manifest
        self._graph = graph
        self._files = files
        self._name = name
        self._allowed = allow_non_restored
        self._homes = {i: vertex for vertex in graph.vertices for i in vertex.operator_ids}

    def beginning(self) -> Beginning:
        """:raises StateError: the manifest holds state of an operator that the job does not have, or the job
        has another max parallelism."""
        manifest = self._manifest
        exact = not manifest.savepoint and manifest.topology == topology_of(self._graph)
        parts = self._parts()
        self._check_known("the progress of source", manifest.sources)
        self._check_known("output that is not committed, of sink", manifest.sinks)
        lines = {
            vertex.id: self._lines(vertex, parts[vertex.id])
            for vertex in self._graph.vertices
            if vertex.id in parts
        }
        return Beginning(
            subtasks=self._exact_subtasks(lines) if exact else _new_subtasks(lines),
            sources={i: state for i, state in manifest.sources.items() if i in self._homes},
            sinks={i: state for i, state in manifest.sinks.items() if i in self._homes},
            accumulators=manifest.accumulators,
            now_ms=manifest.now_ms,
            exact=exact,
        )

    # ---- which old state goes where

    def _parts(self) -> dict[str, list[VertexEntry]]:
        """New vertex id -> the old vertices, or the operators taken out of them, whose state it takes."""
        parts: dict[str, list[VertexEntry]] = {}
        for old in self._manifest.vertices:
            owners = self._owners(old)
            self._check_known("the state of operator", owners)
            homes = {self._homes[i].id for i in owners if i in self._homes}
            if len(homes) == 1 and owners <= self._homes.keys():
                parts.setdefault(homes.pop(), []).append(old)
            elif homes:
                for part in self._taken_apart(old):
                    home = self._homes.get(part.id)
                    if home is not None:
                        parts.setdefault(home.id, []).append(part)
        return parts

    def _owners(self, old: VertexEntry) -> set[str]:
        """The operators of an old vertex that have state."""
        return {e.uid for line in old.lines if line.manifest_id for e in catalog(line, self._files).values()}

    def _taken_apart(self, old: VertexEntry) -> list[VertexEntry]:
        name = f"{self._name}-{old.id}"
        parts = by_operator(old.lines, self._files, self._files, old.max_parallelism, name)
        return [
            VertexEntry(uid, uid, old.max_parallelism, (), tuple(map(SubtaskEntry, lines)))
            for uid, lines in parts.items()
        ]

    def _check_known(self, what: str, operators: Mapping[str, bytes] | set[str]) -> None:
        if self._allowed:
            return
        entries = self._manifest.operators
        for lost in sorted(set(operators) - self._homes.keys()):
            entry = entries.get(lost)
            raise StateError(
                f"The checkpoint or savepoint holds {what} {entry.name if entry else lost!r}, "
                "and the job has no such operator.",
                detail=f"operator id {lost}, of job {self._manifest.job_name!r}",
                hint=f"{_how_to_find(entry)}; to drop what has no operator use "
                "--allow-non-restored-state (execution.state-recovery.ignore-unclaimed-state)",
                uid=entry.uid if entry else None,
            )

    # ---- how it gets there

    def _lines(self, vertex: JobVertex, parts: list[VertexEntry]) -> list[StateLine]:
        for part in parts if _is_keyed(vertex) else ():
            self._check_max_parallelism(vertex, part)
        dealt = [
            rescaled(
                part.lines,
                self._files,
                vertex.max_parallelism,
                vertex.parallelism,
                f"{self._name}-{number}-{vertex.id}",
            )
            for number, part in enumerate(parts)
        ]
        if len(dealt) == 1:
            return dealt[0]
        return [combined(lines, f"{self._name}-{vertex.id}") for lines in zip(*dealt, strict=True)]

    def _check_max_parallelism(self, vertex: JobVertex, part: VertexEntry) -> None:
        if part.max_parallelism == vertex.max_parallelism and vertex.parallelism <= part.max_parallelism:
            return
        raise StateError(
            f"The state was made with max parallelism {part.max_parallelism}, which cannot change.",
            detail=f"the job has max parallelism {vertex.max_parallelism}, parallelism {vertex.parallelism}",
            hint=f"set the max parallelism to {part.max_parallelism}, the parallelism to no more than that",
            operator=vertex.name,
        )

    def _exact_subtasks(self, lines: Mapping[str, list[StateLine]]) -> dict[Subtask, SubtaskEntry]:
        return {
            (old.id, number): SubtaskEntry(
                lines[old.id][number] if old.id in lines else entry.line,
                entry.carry,
                entry.next_timer_ms,
                entry.ended,
            )
            for old in self._manifest.vertices
            for number, entry in enumerate(old.subtasks)
        }


def _how_to_find(entry: OperatorEntry | None) -> str:
    if entry is None or entry.uid is None or not entry.uid.startswith(PLANNED):
        return "give operators a uid that stays"
    return (
        "the operators of a statement are found by the tables that they read: state it as before, or compare "
        "the uids in EXPLAIN JSON_EXECUTION_PLAN with those of `firesteel savepoint inspect` and give the "
        "state the uid that its operator has now (SavepointWriter.change_operator_identifier)"
    )


def _new_subtasks(lines: Mapping[str, list[StateLine]]) -> dict[Subtask, SubtaskEntry]:
    return {
        (vertex, number): SubtaskEntry(line)
        for vertex, of_vertex in lines.items()
        for number, line in enumerate(of_vertex)
    }
