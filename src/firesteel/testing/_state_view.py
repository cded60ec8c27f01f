"""What a test sees of the state of a job: by operator, state and key, over all subtasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common.errors import ProgramError, StateError
from firesteel.common.key_groups import key_group_range, subtask_of
from firesteel.datastream.state import StateDescriptor
from firesteel.graph.job_graph import JobGraph
from firesteel.program.checks import require_int
from firesteel.state.catalog import CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.keys import key_group
from firesteel.state.line import StateLine
from firesteel.state.reader import StateReader, Timer, is_keyed


class StateView:
    """The committed state of all subtasks at one moment."""

    def __init__(
        self, graph: JobGraph, lines: Mapping[tuple[str, int], StateLine], files: StateFiles, now_ms: int
    ) -> None:
        operators = [(operator, vertex) for vertex in graph.vertices for operator in vertex.operators]
        self._nodes = {operator.operator_id: operator.node for operator, _ in operators}
        self._vertices = {operator.operator_id: vertex for operator, vertex in operators}
        self._readers: dict[tuple[str, int], StateReader] = {}  # by vertex and subtask
        for (vertex_id, subtask), line in lines.items():
            vertex = graph.vertex(vertex_id)
            self._readers[vertex_id, subtask] = StateReader(
                line,
                files,
                max_parallelism=vertex.max_parallelism,
                key_groups=key_group_range(vertex.max_parallelism, vertex.parallelism, subtask),
                now_ms=now_ms,
            )

    def value(self, state: str | StateDescriptor, key: Any, operator: str | None) -> Any:
        entry = self._find(state, operator, keyed=True)
        vertex = self._vertices[entry.uid]
        group = key_group(key, vertex.max_parallelism)
        subtask = subtask_of(group, vertex.max_parallelism, vertex.parallelism)
        return self._readers[vertex.id, subtask].keyed(entry, _descriptor(state), key)

    def keys(self, state: str | StateDescriptor, operator: str | None) -> list[Any]:
        entry = self._find(state, operator, keyed=True)
        vertex = self._vertices[entry.uid]
        readers = [self._readers[vertex.id, subtask] for subtask in range(vertex.parallelism)]
        return [key for reader in readers for key in reader.keys(entry, _descriptor(state))]

    def of_operator(self, state: str | StateDescriptor, operator: str | None, subtask: int) -> Any:
        entry = self._find(state, operator, keyed=False)
        vertex = self._vertices[entry.uid]
        require_int(subtask, "subtask", 0, vertex.parallelism - 1)
        return self._readers[vertex.id, subtask].of_operator(entry, _descriptor(state))

    def timers(self) -> list[Timer]:
        found = [timer for reader in self._readers.values() for timer in reader.timers()]
        return sorted(found, key=lambda timer: (timer.domain.value, timer.timestamp))

    def count_entries(self) -> int:
        return sum(reader.count_entries() for reader in self._readers.values())

    def _find(self, state: str | StateDescriptor, operator: str | None, *, keyed: bool) -> CatalogEntry:
        """The one state that is meant; StateError or ProgramError when there is none, or more than one."""
        name = state if isinstance(state, str) else state.get_name()
        all_states = {entry for reader in self._readers.values() for entry in reader.states}
        found = [e for e in all_states if e.name == name and operator in (None, *self._names(e.uid))]
        if len(found) > 1:
            raise ProgramError(
                f"{len(found)} operators have a state {name!r}.",
                detail=", ".join(sorted(self._nodes[e.uid].name for e in found)),
                hint="say which: operator=<name or uid>",
            )
        if not found:
            there = sorted(f"{e.name!r} of {self._nodes[e.uid].name!r}" for e in all_states)
            raise StateError(
                f"There is no state {name!r}" + (f" of operator {operator!r}." if operator else "."),
                detail=f"there is {', '.join(there)}" if there else "no function has written any state yet",
            )
        if is_keyed(found[0]) != keyed:
            raise ProgramError(
                f"State {name!r} is {'operator' if keyed else 'keyed'} state.",
                hint="read it with operator_state(...)" if keyed else "read it with state(..., key)",
            )
        return found[0]

    def _names(self, operator_id: str) -> tuple[str | None, ...]:
        node = self._nodes[operator_id]
        return node.name, node.uid, operator_id


def _descriptor(state: str | StateDescriptor) -> StateDescriptor | None:
    return None if isinstance(state, str) else state
