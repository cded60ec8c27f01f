"""The state of one operator, as its functions and the runtime see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from firesteel.common._type_text import type_text
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.program.state.kinds import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from firesteel.state._column import CanonicalKey, Column, KeyScope, check_kind, differs
from firesteel.state._declared import Declared
from firesteel.state._ttl import Ttl
from firesteel.state.deadlines import Deadlines
from firesteel.state.keys import NO_KEY, raw_key
from firesteel.state.kinds import KINDS, Place, StateKind
from firesteel.state.operator_state import BROADCAST, OPERATOR_LIST, UNION_LIST
from firesteel.state.panes import PANES, PaneColumn, pane_windows
from firesteel.state.sessions import SESSIONS, SessionColumn
from firesteel.state.time_buffer import TIME_BUFFER, TimeBufferColumn
from firesteel.state.timers import TimerQueue

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state._stored_states import Inherited
    from firesteel.state.caches import Caches

C = TypeVar("C", bound=Column)


class OperatorState:
    """Keyed state, timers and operator state of one operator.

    Before each record and timer the runtime sets ``key`` to the canonical key (``keys.canonical``), and
    ``raw_key`` to the user's key, which it may leave out where that is the canonical one; ``key`` is
    ``NO_KEY`` where there is none.
    """

    def __init__(self, caches: Caches, core: StateCore, uid: str, scope: KeyScope) -> None:
        self.key: Any = NO_KEY
        self.raw_key: Any = None
        self.uid = uid
        self._scope = scope
        self._caches = caches
        self.core = core
        self._columns: dict[str, Column] = {}
        self._descriptors: dict[str, Any] = {}  # that the columns were made for
        self._asked_for: dict[str, tuple[Any, Any, Any]] = {}  # descriptor, time to live, handle
        self.declared = Declared(uid, core.limits.typed_values)
        self.event_timers = TimerQueue(core, self, "_timer_state/event_user-timers")
        self.processing_timers = TimerQueue(core, self, "_timer_state/processing_user-timers")
        self._add(self.event_timers, scope)
        self._add(self.processing_timers, scope)

    @property
    def current_key(self) -> Any:
        """The user's key."""
        return self.raw_key if type(self.key) is bytes else self.key

    # ---- keyed state

    def get_partitioned_state(self, descriptor: Any) -> Any:  # hot: triggers ask for each element
        """The keyed state of a descriptor, of the kind that it names.

        :raises StateError: the name belongs to another kind of state.
        :raises UnknownKindError: nothing that is imported knows the kind.
        """
        name, lives = descriptor.name, descriptor.ttl_config
        asked_for = self._asked_for.get(name)
        if asked_for is not None and asked_for[0] is descriptor and asked_for[1] is lives:
            return asked_for[2]
        handle = self._keyed(descriptor)
        self._asked_for[name] = descriptor, lives, handle
        return handle

    def _keyed(self, descriptor: Any) -> Any:
        kind = KINDS.named(descriptor.kind)
        handles, ttl = kind.asked_for, Ttl.of(descriptor)
        if ttl is not None and not handles.expires:
            raise UnsupportedFeatureError(
                f"State {descriptor.name!r} cannot have a time to live.", uid=self.uid
            )
        name = descriptor.name
        column = self._column(
            name, kind, ttl, lambda: handles.column(self, name, descriptor, ttl), descriptor
        )
        return handles.of(column, descriptor)

    def get_state(self, descriptor: Any) -> ValueState[Any]:
        handle: ValueState[Any] = self.get_partitioned_state(descriptor)
        return handle

    def get_reducing_state(self, descriptor: Any) -> ReducingState[Any]:
        handle: ReducingState[Any] = self.get_partitioned_state(descriptor)
        return handle

    def get_aggregating_state(self, descriptor: Any) -> AggregatingState[Any, Any]:
        handle: AggregatingState[Any, Any] = self.get_partitioned_state(descriptor)
        return handle

    def get_list_state(self, descriptor: Any) -> ListState[Any]:
        handle: ListState[Any] = self.get_partitioned_state(descriptor)
        return handle

    def get_map_state(self, descriptor: Any) -> MapState[Any, Any]:
        handle: MapState[Any, Any] = self.get_partitioned_state(descriptor)
        return handle

    def pane_state(self, name: str, size_ms: int = 0) -> PaneColumn:
        """One value for each key and pane of time, for the window operator (``firesteel.state.panes``).

        :param size_ms: how long the windows are that the panes stand for; 0: not known.
        """
        windows = pane_windows(size_ms) if size_ms else ""
        return self._column(name, PANES, None, lambda: PaneColumn(self.core, self.uid, name), windows=windows)

    def session_state(self, name: str) -> SessionColumn:
        """The sessions of each key with one value each, for the window operator (``state.sessions``)."""
        return self._column(
            name, SESSIONS, None, lambda: SessionColumn(self.core, self.uid, name, self._deadlines(name))
        )

    def time_buffer(self, name: str, reach_ms: int) -> TimeBufferColumn:
        """The elements of each key by timestamp, up to ``reach_ms`` after it (see ``state.time_buffer``)."""

        return self._column(
            name,
            TIME_BUFFER,
            None,
            lambda: TimeBufferColumn(self.core, self.uid, name, reach_ms, self._deadlines(name)),
        )

    def engine_state(
        self,
        name: str,
        kind: StateKind,
        make: Callable[[StateCore, str, str], C],
        ttl: Ttl | None = None,
    ) -> C:
        """Keyed state that an operator of the engine works on directly.

        :param make: ``(core, uid, name)`` -> its column, of *kind*.
        :param ttl: what the column keeps; None: it knows none.
        """
        return self._column(name, kind, ttl, lambda: make(self.core, self.uid, name))

    def deadlines(self, name: str) -> Deadlines:
        """One instant for each key, that belongs to the state *name* (``state.deadlines``)."""
        return self._deadlines(name)

    def inherited(self, name: str) -> Inherited | None:
        """What the state ``name`` was stored as until this epoch, when that was another kind of state: the
        operator puts it into the state as it is now."""
        return self._caches.inherited(self._columns[name])

    @property
    def column_ids(self) -> list[bytes]:
        """Those of the states that were asked for."""
        return [column.id for column in self._columns.values()]

    def has(self, name: str) -> bool:
        """Whether the state *name* was asked for before."""
        return name in self._columns

    def get_keys(self, name: str) -> Iterable[Any]:
        """The keys that have state under ``name``, in an order that depends on the keys alone."""
        return [raw_key(key) for key in self.canonical_keys(name)]

    def canonical_keys(self, name: str) -> list[CanonicalKey]:
        column = self._columns.get(name)
        if column is None:
            return []
        current = self.key

        def is_there(key: CanonicalKey) -> bool:
            self.key = key
            return column.has_content()

        try:
            return self._caches.keys_of(column, is_there)
        finally:
            self.key = current

    # ---- operator state

    def list_state(self, name: str, descriptor: Any = None) -> ListState[Any]:
        """Return a list of this subtask; its elements are redistributed when the parallelism changes.

        :param descriptor: gives the type of the elements; None: the type is not recorded.
        """
        handle: ListState[Any] = self._of_operator(name, OPERATOR_LIST, descriptor)
        return handle

    def union_list_state(self, name: str, descriptor: Any = None) -> ListState[Any]:
        """A list of which every subtask restores the entries of all subtasks."""
        handle: ListState[Any] = self._of_operator(name, UNION_LIST, descriptor)
        return handle

    def broadcast_state(self, descriptor: Any) -> BroadcastState[Any, Any]:
        """A map that every subtask restores whole; the runtime lets only the broadcast side write it."""
        handle: BroadcastState[Any, Any] = self._of_operator(descriptor.name, BROADCAST, descriptor)
        return handle

    def of_operator(self, kind: StateKind, descriptor: Any) -> Any:
        """The operator state of a descriptor, of a kind that belongs to no key."""
        return self._of_operator(descriptor.name, kind, descriptor)

    def _of_operator(self, name: str, kind: StateKind, descriptor: Any) -> Any:
        handles = kind.asked_for
        column = self._column(
            name, kind, None, lambda: handles.column(self, name, descriptor, None), descriptor
        )
        return handles.of(column, descriptor)

    # ---- how

    def _add(self, column: Column, scope: KeyScope) -> None:
        column.scope = scope
        self._caches.add(column)

    def _deadlines(self, name: str) -> Deadlines:
        """Those of the keys of the state ``name``."""
        deadlines = Deadlines(self.core, self.uid, f"{name}/deadlines")
        self._add(deadlines, self._scope)
        return deadlines

    def _column(
        self,
        name: str,
        kind: StateKind,
        ttl: Ttl | None,
        make: Callable[[], C],
        descriptor: Any = None,
        windows: str | None = None,
    ) -> C:
        column = self._columns.get(name)
        if column is None:
            new = make()
            new.kind = kind.name
            if descriptor is not None and descriptor.type_info is not None:
                new.type = type_text(descriptor.type_info)
                new.migrations = descriptor.migrations
            scope = KeyScope() if kind.place is Place.OPERATOR else self._scope
            self._add(new, scope if windows is None else scope._replace(window=windows))
            self._columns[name] = new
            self._descriptors[name] = descriptor
            return new
        check_kind(column, kind.name, ttl is not None, self.uid)
        if descriptor is not None and descriptor is not self._descriptors.get(name):
            self._check_type(column, descriptor)
        return column  # type: ignore[return-value]  # a kind has one class of columns

    def _check_type(self, column: Column, descriptor: Any) -> None:
        """The same state may be asked for with several descriptors, of one type."""
        declared = "" if descriptor.type_info is None else type_text(descriptor.type_info)
        if declared and column.type and declared != column.type:
            raise differs(column.name, "two types", column.type, declared, self.uid)
