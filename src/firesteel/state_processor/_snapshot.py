"""What a job has stored, taken apart by operator: of a savepoint or checkpoint, or of a job that runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from firesteel.common.errors import ProgramError, StateError
from firesteel.jobmanager.checkpoints.storage import read_manifest
from firesteel.state._column import column_id
from firesteel.state.canonical import states_of
from firesteel.state.catalog import CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.kinds import Place, StateKind, kind_of
from firesteel.state.line import StateLine
from firesteel.state.manifest import Manifest, OperatorEntry, VertexEntry
from firesteel.state.timers import TIMERS
from firesteel.state.untrusted import require_plain
from firesteel.state_processor._identifier import OperatorIdentifier
from firesteel.state_processor._info import StateInfo
from firesteel.state_processor._types import declared_type

#: The names of its files are complete.
FILES = StateFiles("/")


@dataclass(frozen=True, slots=True)
class StoredOperator:
    """What a manifest holds of one operator.

    :param lines: of all subtasks of its vertex, in which other operators may have state too.
    :param states: its own states, by column id; timers are among them.
    """

    entry: OperatorEntry
    max_parallelism: int
    lines: tuple[StateLine, ...]
    states: Mapping[bytes, CatalogEntry]

    def has(self, name: str) -> bool:
        return column_id(self.entry.id, name) in self.states

    def keyed_state(self, name: str) -> CatalogEntry:
        """The state of that name, which keys have.

        :raises StateError: the operator has none, or it belongs to no key.
        """
        found = self.state(name)
        if kind_of(found).place is Place.OPERATOR or found.kind == TIMERS.name:
            raise self._of_another_kind(found, "keyed")
        return found

    def state(self, name: str, *kinds: StateKind) -> CatalogEntry:
        """The state of that name.

        :raises StateError: the operator has none, or it is of another kind.
        """
        found = self.states.get(column_id(self.entry.id, name))
        if found is None:
            names = sorted(f"{s.name!r} ({s.kind})" for s in self.states.values() if s.kind != TIMERS.name)
            raise StateError(
                f"Operator {self.entry.name!r} has no state {name!r}.",
                detail=f"it has {', '.join(names)}" if names else "it has none at all",
                uid=self.entry.uid,
            )
        names = [kind.name for kind in kinds]
        if kinds and found.kind not in names:
            raise self._of_another_kind(found, " or ".join(names))
        return found

    def _of_another_kind(self, found: CatalogEntry, asked: str) -> StateError:
        return StateError(
            f"State {found.name!r} of operator {self.entry.name!r} is a {found.kind} state.",
            detail=f"asked for as a {asked} state",
            hint="read it as the kind it is: keyed_state, list_state, union_state, broadcast_state",
            uid=self.entry.uid,
        )


class StoredOperators:
    """The operators of some vertices, by their ids. Reads what is stored about the states, nothing of their
    content.

    :param vertices: the names of their files are complete.
    :param where: what holds them, for errors.
    """

    def __init__(self, vertices: Iterable[VertexEntry], where: str) -> None:
        self._where = where
        self.by_id: dict[str, StoredOperator] = {}
        for vertex in vertices:
            self._take(vertex)

    def _take(self, vertex: VertexEntry) -> None:
        states = states_of(vertex.lines, FILES)
        for operator in vertex.operators:
            own = {column: state for column, state in states.items() if state.uid == operator.id}
            self.by_id[operator.id] = StoredOperator(operator, vertex.max_parallelism, vertex.lines, own)

    def find(self, operator: OperatorIdentifier | str) -> StoredOperator:
        """
        :raises StateError: there is no such operator.
        """
        wanted = OperatorIdentifier.of(operator)
        found = self.by_id.get(wanted.id)
        if found is None:
            there = sorted(e.uid or e.id for e in (o.entry for o in self.by_id.values() if o.states))
            raise StateError(
                f"{self._where} holds nothing of an operator with the {wanted}.",
                detail=f"with state are {', '.join(there)}" if there else "no operator in it has state",
                hint="firesteel state ls shows what it holds",
            )
        return found

    def states(self) -> list[StateInfo]:
        """All states, by operator and name."""
        return sorted(
            (
                StateInfo(
                    operator=operator.entry.name,
                    uid=operator.entry.uid,
                    operator_id=operator.entry.id,
                    name=state.name,
                    kind=state.kind,
                    type_info=declared_type(state.type),
                    key_type=declared_type(state.key),
                    has_ttl=state.ttl,
                )
                for operator in self.by_id.values()
                for state in operator.states.values()
            ),
            key=lambda info: (info.uid or "", info.operator_id, info.name),
        )


class Snapshot:
    """A manifest and its operators.

    :raises PathNotFoundError: there is none.
    :param untrusted: look through its whole content first.
    :raises StateCorruptionError: it is damaged, or files are missing.
    :raises StateError: it is not trusted, and holds more than plain data.
    """

    def __init__(self, path: str, *, untrusted: bool = False) -> None:
        if not isinstance(path, str):
            raise ProgramError("The path of a savepoint is a text.", detail=f"got {path!r}")
        self.manifest: Manifest = read_manifest(path)
        if untrusted:
            require_plain(self.manifest, FILES)
        self.operators = StoredOperators(self.manifest.vertices, path)
