"""A kind of state from outside: the smallest numbers that were added, for each key."""

from __future__ import annotations

from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import StateDescriptor
from firesteel.state.columns import ValueColumn, recoding, rows_by_key, single, value_column
from firesteel.state.kinds import KINDS, Handles, StateKind


class SmallestStateDescriptor(StateDescriptor):
    """Asks for the ``count`` smallest numbers of each key."""

    kind = "smallest"

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, Types.LIST(Types.LONG()))
        self.count = count


class SmallestState:
    def __init__(self, column: ValueColumn, descriptor: Any) -> None:
        self.column = column
        self._count = getattr(descriptor, "count", None)  # asked for by its name alone it is only read

    def add(self, number: int) -> None:
        self.column.update(sorted([*self.get(), number])[: self._count])

    def get(self) -> list[int]:
        return self.column.value() or []

    def clear(self) -> None:
        self.column.clear()


def _put(state: SmallestState, numbers: list[int]) -> bool:
    taken = bool(state.get())
    state.column.update(sorted(numbers))
    return taken


def _merge(target: SmallestState, source: SmallestState) -> None:
    for number in source.get():
        target.add(number)


KINDS.register(
    StateKind(
        name=SmallestStateDescriptor.kind,
        rows=rows_by_key(single),
        recoding=recoding,
        handles=Handles(
            descriptor=SmallestStateDescriptor,
            column=value_column,
            of=SmallestState,
            content=SmallestState.get,
            is_collection=True,
            put=_put,
            merge=_merge,
            expires=True,
        ),
    )
)
