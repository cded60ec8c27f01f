"""Reading the committed state of a subtask from outside: for tests, and for whoever looks into a job.

What is read is the line, as a process finds it that has nothing of the state (invariant I3); nothing that is
done here changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import StateError
from firesteel.program.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from firesteel.program.time_domain import TimeDomain
from firesteel.state._column import COLUMN_ID_BYTES, column_id, key_end
from firesteel.state._operator import OperatorState
from firesteel.state._overlay import Overlay
from firesteel.state.backend import SubtaskState
from firesteel.state.catalog import CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.keys import canonical
from firesteel.state.line import StateLine
from firesteel.state.sessions import SessionColumn, session_count
from firesteel.state.timers import TimerQueue

_FOREVER: Final = 2**63 - 1
_BESIDE = slice(3, 3 + COLUMN_ID_BYTES)  # the column id of an entry that lies beside the keys

# Kind of state -> how its handle is had from an operator's state, and what the handle holds.
_KEYED: Final[dict[str, tuple[Callable[[OperatorState, Any], Any], Callable[[Any], Any]]]] = {
    "value": (OperatorState.get_state, lambda handle: handle.value()),
    "list": (OperatorState.get_list_state, lambda handle: list(handle.get() or ())),
    "map": (OperatorState.get_map_state, lambda handle: dict(handle.items())),
    "reducing": (OperatorState.get_reducing_state, lambda handle: handle.get()),
    "aggregating": (OperatorState.get_aggregating_state, lambda handle: handle.get()),
}
_COLLECTIONS: Final = frozenset(("list", "map"))  # empty ones are as good as none
_OF_OPERATORS: Final[dict[str, Callable[[OperatorState, Any], Any]]] = {
    "operator list": lambda state, d: list(state.list_state(d.name).get() or ()),
    "union list": lambda state, d: list(state.union_list_state(d.name).get() or ()),
    "broadcast": lambda state, d: dict(state.broadcast_state(d).items()),
}
_KINDS: Final[dict[type, tuple[str, ...]]] = {
    ValueStateDescriptor: ("value",),
    ListStateDescriptor: ("list", "operator list", "union list"),
    MapStateDescriptor: ("map", "broadcast"),
    ReducingStateDescriptor: ("reducing",),
    AggregatingStateDescriptor: ("aggregating",),
}


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that is set: it fires for ``key`` when the time of ``domain`` comes to ``timestamp``."""

    timestamp: int
    key: Any
    domain: TimeDomain


class _Named:
    """Stands for the descriptor of a state that is asked for by its name: what is stored is what is given."""

    type_info = None
    migrations: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def get_reduce_function(self) -> Any:
        return self

    def get_agg_function(self) -> Any:
        return self

    def reduce(self, old: Any, new: Any) -> Any:
        raise AssertionError("nothing is added to a state that is only read")

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


class StateReader:
    """The state of one subtask as of ``line``.

    :param now_ms: processing time, for states with a time to live.
    """

    def __init__(
        self, line: StateLine, files: StateFiles, *, max_parallelism: int, key_groups: range, now_ms: int = 0
    ) -> None:
        self._key_groups = key_groups
        self._overlay = Overlay(files)
        self._overlay.move_to(line)
        self._state = SubtaskState(
            job_id="",
            attempt=0,
            vertex_id="",
            subtask=0,
            max_parallelism=max_parallelism,
            key_groups=key_groups,
            files=files,
        )
        self._state.begin(line, now_ms)

    @property
    def states(self) -> list[CatalogEntry]:
        """The states that functions have written, by operator id and name; timers are not among them."""
        readable = (entry for entry in self._state.catalog if entry.kind in _KEYED | _OF_OPERATORS)
        return sorted(readable, key=lambda entry: (entry.uid, entry.name))

    def keyed(self, entry: CatalogEntry, descriptor: StateDescriptor | None, key: Any) -> Any:
        """What the state holds for ``key``: the value (None: nothing), a list, or a dict.

        Without a descriptor an aggregating state gives its accumulator, and one with a time to live cannot be
        read (StateError).
        """
        state = self._state.operator(entry.uid)
        get_handle, content = _KEYED[entry.kind]
        handle = get_handle(state, _described(entry, descriptor))
        state.key, state.raw_key = canonical(key), key
        return content(handle)

    def keys(self, entry: CatalogEntry, descriptor: StateDescriptor | None) -> list[Any]:
        """The keys that have something in the state."""
        state = self._state.operator(entry.uid)
        get_handle, content = _KEYED[entry.kind]
        handle = get_handle(state, _described(entry, descriptor))
        found = []
        for key in state.get_keys(entry.name):  # among them those whose values have expired
            state.key, state.raw_key = canonical(key), key
            held = content(handle)
            if held or (held is not None and entry.kind not in _COLLECTIONS):
                found.append(key)
        return found

    def of_operator(self, entry: CatalogEntry, descriptor: StateDescriptor | None) -> Any:
        """What the operator state holds here: a list, or the dict of a broadcast state."""
        return _OF_OPERATORS[entry.kind](self._state.operator(entry.uid), _described(entry, descriptor))

    def timers(self) -> list[Timer]:
        """All timers that are set: by operator, domain, time and key."""
        uids = sorted({entry.uid for entry in self._state.catalog if entry.kind == TimerQueue.kind})
        found: list[Timer] = []
        for uid in uids:
            state = self._state.operator(uid)
            for queue, domain in (
                (state.event_timers, TimeDomain.EVENT_TIME),
                (state.processing_timers, TimeDomain.PROCESSING_TIME),
            ):
                while (timer := queue.pop(_FOREVER)) is not None:
                    found.append(Timer(timer[0], timer[1], domain))
        return found

    def count_entries(self) -> int:
        """How many (key, state) pairs there are, windows counted one by one, timers not at all; what has
        expired counts until it is removed."""
        catalog = self._state.catalog
        kinds = {column_id(entry.uid, entry.name): entry.kind for entry in catalog}
        groups = self._key_groups
        of_keys: dict[bytes, int] = {}
        beside = 0
        for key, value in self._overlay.scan_all(groups.start, groups.stop - 1).items():
            if not key[2]:
                beside += kinds[key[_BESIDE]] != TimerQueue.kind
                continue
            end = key_end(key)
            state = key[end : end + COLUMN_ID_BYTES]
            of_keys[key[:end] + state] = session_count(value) if kinds[state] == SessionColumn.kind else 1
        return sum(of_keys.values()) + beside


def is_keyed(entry: CatalogEntry) -> bool:
    return entry.kind in _KEYED


def _described(entry: CatalogEntry, descriptor: StateDescriptor | None) -> Any:
    """The descriptor to read ``entry`` with; StateError when it cannot be its own."""
    if descriptor is None:
        if entry.ttl:
            raise StateError(
                f"State {entry.name!r} has a time to live, so its name is not enough to read it.",
                hint="pass the descriptor that the function uses",
            )
        return _Named(entry.name)
    kinds = next((k for cls, k in _KINDS.items() if isinstance(descriptor, cls)), ())
    if entry.kind not in kinds:
        raise StateError(
            f"State {entry.name!r} is a {entry.kind} state.",
            detail=f"asked for with a {type(descriptor).__name__}",
            hint="pass the descriptor that the function uses, or the name alone",
        )
    return descriptor
