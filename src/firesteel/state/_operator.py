"""The state of one operator, as its functions and the runtime see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from firesteel.datastream.state import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from firesteel.state._column import CanonicalKey, Column, check_kind
from firesteel.state._list_state import ListColumn
from firesteel.state._map_state import MapColumn
from firesteel.state._ttl import Ttl
from firesteel.state._value_state import AggregatingHandle, ReducingHandle, TtlValueColumn, ValueColumn
from firesteel.state.deadlines import Deadlines
from firesteel.state.keys import NO_KEY, raw_key
from firesteel.state.operator_state import BroadcastColumn, OperatorListColumn
from firesteel.state.panes import PaneColumn
from firesteel.state.time_buffer import TimeBufferColumn
from firesteel.state.timers import TimerQueue

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import SubtaskState

C = TypeVar("C", bound=Column)


class OperatorState:
    """Keyed state, timers and operator state of one operator.

    The runtime sets ``key`` to the canonical key (``keys.canonical``) and ``raw_key`` to the user's key
    before each record and timer, and ``key`` to ``NO_KEY`` where there is none.
    """

    def __init__(self, subtask: SubtaskState, core: StateCore, uid: str) -> None:
        self.key: Any = NO_KEY
        self.raw_key: Any = None
        self.uid = uid
        self._subtask = subtask
        self._core = core
        self._columns: dict[str, Column] = {}
        self.event_timers = TimerQueue(core, self, "_timer_state/event_user-timers")
        self.processing_timers = TimerQueue(core, self, "_timer_state/processing_user-timers")
        subtask.add_column(self.event_timers)
        subtask.add_column(self.processing_timers)

    # ---- keyed state

    def get_state(self, descriptor: Any) -> ValueState[Any]:
        """Raises StateError when the name belongs to another kind of state."""
        return self._value_column(descriptor, "value")

    def get_reducing_state(self, descriptor: Any) -> ReducingState[Any]:
        return ReducingHandle(self._value_column(descriptor, "reducing"), descriptor.get_reduce_function())

    def get_aggregating_state(self, descriptor: Any) -> AggregatingState[Any, Any]:
        column = self._value_column(descriptor, "aggregating")
        return AggregatingHandle(column, descriptor.get_agg_function())

    def get_list_state(self, descriptor: Any) -> ListState[Any]:
        ttl = Ttl.of(descriptor)
        name = descriptor.name
        return self._column(name, "list", ttl, lambda: ListColumn(self._core, self, name, ttl))

    def get_map_state(self, descriptor: Any) -> MapState[Any, Any]:
        ttl = Ttl.of(descriptor)
        name = descriptor.name
        return self._column(name, "map", ttl, lambda: MapColumn(self._core, self, name, ttl))

    def pane_state(self, name: str) -> PaneColumn:
        """One value for each key and pane of time, for the window operator (``firesteel.state.panes``)."""
        return self._column(name, "panes", None, lambda: PaneColumn(self._core, self.uid, name))

    def time_buffer(self, name: str, reach_ms: int) -> TimeBufferColumn:
        """The elements of each key by timestamp, up to ``reach_ms`` after it (see ``state.time_buffer``)."""

        def make() -> TimeBufferColumn:
            deadlines = Deadlines(self._core, self.uid, f"{name}/deadlines")
            self._subtask.add_column(deadlines)
            return TimeBufferColumn(self._core, self.uid, name, reach_ms, deadlines)

        return self._column(name, "time buffer", None, make)

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
            match column:
                case ValueColumn():
                    return column.value() is not None
                case ListColumn() | MapColumn():
                    return not column.is_empty()
            return False

        try:
            return self._subtask.keys_of(column, is_there)
        finally:
            self.key = current

    def _value_column(self, descriptor: Any, kind: str) -> ValueColumn:
        ttl = Ttl.of(descriptor)
        name = descriptor.name

        def make() -> ValueColumn:
            column = (
                ValueColumn(self._core, self, name)
                if ttl is None
                else TtlValueColumn(self._core, self, name, ttl)
            )
            column.kind = kind
            return column

        return self._column(name, kind, ttl, make)

    # ---- operator state

    def list_state(self, name: str) -> ListState[Any]:
        """A list of this subtask; dealt out anew over the subtasks when the parallelism changes."""
        return self._column(
            name, "operator list", None, lambda: OperatorListColumn(self._core, self, name, "operator list")
        )

    def union_list_state(self, name: str) -> ListState[Any]:
        """A list of which every subtask restores the entries of all subtasks."""
        return self._column(
            name, "union list", None, lambda: OperatorListColumn(self._core, self, name, "union list")
        )

    def broadcast_state(self, descriptor: Any) -> BroadcastState[Any, Any]:
        """A map that every subtask restores whole; the runtime lets only the broadcast side write it."""
        name = descriptor.name
        return self._column(name, "broadcast", None, lambda: BroadcastColumn(self._core, self, name))

    # ---- how

    def _column(self, name: str, kind: str, ttl: Ttl | None, make: Callable[[], C]) -> C:
        column = self._columns.get(name)
        if column is None:
            new = make()
            self._subtask.add_column(new)
            self._columns[name] = new
            return new
        check_kind(column, kind, ttl is not None, self.uid)
        return column  # type: ignore[return-value]
