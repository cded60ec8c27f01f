"""What is kept of the elements of a window, by the key of that window's state.

``add`` and the others are called with any current key; they set the key of the window's state themselves and
leave it set: the operator sets its own again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol

from firesteel.common.typeinfo import Types
from firesteel.program.operators import Window, WindowContents
from firesteel.program.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from firesteel.program.windows.evictors import TimestampedValue
from firesteel.runtime.operators.base import method_of
from firesteel.state.backend import OperatorState

WINDOW_STATE_NAME = "window-contents"  # as in Flink

#: What an evictor does to the elements of the window that fires, before or after the function is called.
Evict = Callable[[list[TimestampedValue]], None]


class Partial(NamedTuple):
    """Elements that were aggregated before the exchange, where an element could be."""

    accumulator: Any


class Contents(Protocol):
    """The contents of the windows of one operator."""

    def add(self, key: bytes, value: Any, timestamp: int) -> None: ...

    def elements(self, key: bytes) -> list[Any] | None:
        """What the window function gets, None when there is nothing to fire for."""

    def clear(self, key: bytes) -> None: ...

    def merge(self, target: bytes, sources: Sequence[bytes]) -> None:
        """Move what is kept under ``sources`` to ``target``."""


class ListContents:
    """All elements, in the order in which they came."""

    def __init__(self, state: OperatorState) -> None:
        self._state = state
        descriptor = ListStateDescriptor(WINDOW_STATE_NAME, Types.PICKLED_BYTE_ARRAY())
        self._list: Any = state.get_list_state(descriptor)

    def add(self, key: bytes, value: Any, timestamp: int) -> None:
        self._state.key = key
        self._list.add(value)

    def elements(self, key: bytes) -> list[Any] | None:
        self._state.key = key
        return list(self._list.get()) or None

    def clear(self, key: bytes) -> None:
        self._state.key = key
        self._list.clear()

    def merge(self, target: bytes, sources: Sequence[bytes]) -> None:
        for source in sources:
            self._state.key = source
            moved = list(self._list.get())
            self._list.clear()
            self._state.key = target
            self._list.add_all(moved)


class SingleContents:
    """One value: the elements reduced, or the accumulator of an aggregate function."""

    def __init__(
        self,
        state: OperatorState,
        add: Callable[[Any, Any], Any],
        merge: Callable[[Any, Any], Any],
        result: Callable[[Any], Any] | None,
    ) -> None:
        self._state = state
        self._add = add
        self._merge = merge
        self._result = result
        descriptor = ValueStateDescriptor(WINDOW_STATE_NAME, Types.PICKLED_BYTE_ARRAY())
        self._value: Any = state.get_state(descriptor)

    def add(self, key: bytes, value: Any, timestamp: int) -> None:
        self._state.key = key
        self._value.update(self._add(self._value.value(), value))

    def elements(self, key: bytes) -> list[Any] | None:
        self._state.key = key
        value = self._value.value()
        if value is not None and self._result is not None:
            value = self._result(value)
        return None if value is None else [value]

    def clear(self, key: bytes) -> None:
        self._state.key = key
        self._value.clear()

    def merge(self, target: bytes, sources: Sequence[bytes]) -> None:
        for source in sources:
            self._state.key = source
            moved = self._value.value()
            if moved is None:
                continue
            self._value.clear()
            self._state.key = target
            held = self._value.value()
            self._value.update(moved if held is None else self._merge(held, moved))

    def put(self, key: bytes, value: Any) -> None:
        """Set what is kept."""
        self._state.key = key
        self._value.update(value)


class EvictingContents:
    """All elements with their timestamps; what an evictor removes is gone for good.

    ``contents`` is applied to what the evictor leaves, each time the window fires.
    """

    def __init__(self, state: OperatorState, contents: WindowContents) -> None:
        self._state = state
        self._fold = fold_of(contents)
        descriptor = ListStateDescriptor(WINDOW_STATE_NAME, Types.PICKLED_BYTE_ARRAY())
        self._list: Any = state.get_list_state(descriptor)

    def add(self, key: bytes, value: Any, timestamp: int) -> None:
        self._state.key = key
        self._list.add((value, timestamp))

    def stamped(self, key: bytes) -> list[TimestampedValue]:
        self._state.key = key
        return [TimestampedValue(value, timestamp) for value, timestamp in self._list.get()]

    def replace(self, key: bytes, elements: list[TimestampedValue]) -> None:
        self._state.key = key
        self._list.update([(e.value, e.timestamp) for e in elements])

    def fold(self, elements: list[TimestampedValue]) -> list[Any]:
        return self._fold([e.value for e in elements])

    def elements(self, key: bytes) -> list[Any] | None:
        return self.fold(self.stamped(key)) or None

    def clear(self, key: bytes) -> None:
        self._state.key = key
        self._list.clear()

    def merge(self, target: bytes, sources: Sequence[bytes]) -> None:
        for source in sources:
            self._state.key = source
            moved = list(self._list.get())
            self._list.clear()
            self._state.key = target
            self._list.add_all(moved)


def fold_of(contents: WindowContents) -> Callable[[list[Any]], list[Any]]:
    """Elements -> what the window function gets, for contents that were not aggregated one by one."""
    function = contents.function
    match contents.kind:
        case "reduce":
            step = method_of(function, "reduce")
            return lambda values: [reduce(step, values)] if values else []
        case "aggregate":

            def aggregate(values: Iterable[Any]) -> list[Any]:
                accumulator = function.create_accumulator()
                for value in values:
                    accumulator = function.add(value, accumulator)
                return [function.get_result(accumulator)]

            return aggregate
        case "list":
            return lambda values: values


def step_of(contents: WindowContents, combined: bool) -> Callable[[Any, Any], Any]:
    """``(what is kept or None, element) -> what is kept`` of reduce and aggregate contents.

    :param combined: an element may be a ``Partial``.
    """
    function = contents.function
    if contents.kind == "reduce":
        step = method_of(function, "reduce")
        return lambda held, value: value if held is None else step(held, value)
    create, add = function.create_accumulator, function.add
    if not combined:
        return lambda held, value: add(value, create() if held is None else held)
    merge = function.merge

    def add_or_merge(held: Any, value: Any) -> Any:
        if type(value) is not Partial:
            return add(value, create() if held is None else held)
        return value.accumulator if held is None else merge(held, value.accumulator)

    return add_or_merge


def folding(
    contents: WindowContents, combined: bool
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], Callable[[Any], Any] | None]:
    """``step_of`` reduce or aggregate contents, how two that are kept become one, and what the result of one
    is; None: it is the result itself."""
    function, step = contents.function, step_of(contents, combined)
    if contents.kind == "reduce":
        return step, method_of(function, "reduce"), None
    return step, function.merge, function.get_result


def make_contents(spec: Window, state: OperatorState) -> Contents:
    if spec.evictor is not None:
        return EvictingContents(state, spec.contents)
    if spec.contents.kind == "list":
        return ListContents(state)
    return SingleContents(state, *folding(spec.contents, spec.combined))
