"""Reading the committed state of a subtask from outside: for tests, and for whoever looks into a job.

What is read is the line, as a process finds it that has nothing of the state; nothing that is
done here changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import StateError
from firesteel.program.state.descriptors import StateDescriptor
from firesteel.program.time_domain import TimeDomain
from firesteel.state._column import COLUMN_ID_BYTES, column_id, key_end
from firesteel.state._overlay import Overlay
from firesteel.state.backend import SubtaskState
from firesteel.state.catalog import CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.keys import canonical
from firesteel.state.kinds import Handles, Place, kind_of
from firesteel.state.line import StateLine
from firesteel.state.timers import TIMERS

_FOREVER: Final = 2**63 - 1
_BESIDE = slice(3, 3 + COLUMN_ID_BYTES)  # the column id of an entry that lies beside the keys


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that is set: it fires for ``key`` when the time of ``domain`` comes to ``timestamp``."""

    timestamp: int
    key: Any
    domain: TimeDomain


class _Named:
    """Stands for the descriptor of a state that is asked for by its name: what is stored is what is given."""

    type_info = ttl_config = None
    migrations: Mapping[str, Any] = {}

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind

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
        readable = (entry for entry in self._state.catalog if kind_of(entry).handles is not None)
        return sorted(readable, key=lambda entry: (entry.uid, entry.name))

    def keyed(self, entry: CatalogEntry, descriptor: StateDescriptor | None, key: Any) -> Any:
        """What the state holds for ``key``: the value (None: nothing), a list, or a dict.

        Without a descriptor an aggregating state gives its accumulator, and one with a time to live cannot be
        read (StateError).
        """
        state, handles = self._state.operator(entry.uid), _handles(entry)
        handle = state.get_partitioned_state(_described(entry, descriptor))
        state.key, state.raw_key = canonical(key), key
        return handles.content(handle)

    def keys(self, entry: CatalogEntry, descriptor: StateDescriptor | None) -> list[Any]:
        """The keys that have something in the state."""
        state, handles = self._state.operator(entry.uid), _handles(entry)
        handle = state.get_partitioned_state(_described(entry, descriptor))
        found = []
        for key in state.get_keys(entry.name):  # among them those whose values have expired
            state.key, state.raw_key = canonical(key), key
            if handles.has_content(handle):
                found.append(key)
        return found

    def of_operator(self, entry: CatalogEntry, descriptor: StateDescriptor | None) -> Any:
        """What the operator state holds here: a list, or the dict of a broadcast state."""
        kind = kind_of(entry)
        state = self._state.operator(entry.uid)
        return kind.asked_for.content(state.of_operator(kind, _described(entry, descriptor)))

    def timers(self) -> list[Timer]:
        """All timers that are set: by operator, domain, time and key."""
        uids = sorted({entry.uid for entry in self._state.catalog if entry.kind == TIMERS.name})
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
        kinds = {column_id(entry.uid, entry.name): kind_of(entry) for entry in catalog}
        groups = self._key_groups
        of_keys: dict[bytes, int] = {}
        by_time = {column for column, kind in kinds.items() if kind.place is Place.TIME}
        beside = 0
        for key, value in self._overlay.scan_all(groups.start, groups.stop - 1).items():
            if not key[2]:
                beside += kinds[key[_BESIDE]].count(value) if key[_BESIDE] in by_time else 0
                continue
            end = key_end(key)
            state = key[end : end + COLUMN_ID_BYTES]
            of_keys[key[:end] + state] = kinds[state].count(value)
        return sum(of_keys.values()) + beside


def is_keyed(entry: CatalogEntry) -> bool:
    """Whether it is state that functions keep for keys."""
    kind = kind_of(entry)
    return kind.handles is not None and kind.place is not Place.OPERATOR


def _handles(entry: CatalogEntry) -> Handles:
    return kind_of(entry).asked_for


def _described(entry: CatalogEntry, descriptor: StateDescriptor | None) -> Any:
    """The descriptor to read ``entry`` with; StateError when it cannot be its own."""
    if descriptor is None:
        if entry.ttl:
            raise StateError(
                f"State {entry.name!r} has a time to live, so its name is not enough to read it.",
                hint="pass the descriptor that the function uses",
            )
        return _Named(entry.name, entry.kind)
    if not isinstance(descriptor, kind_of(entry).asked_for.descriptor):
        raise StateError(
            f"State {entry.name!r} is a {entry.kind} state.",
            detail=f"asked for with a {type(descriptor).__name__}",
            hint="pass the descriptor that the function uses, or the name alone",
        )
    return descriptor
