"""How the function of a window is called, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.program.functions.base import KeyedStateStore
from firesteel.program.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

#: ``(key, window, context, elements) -> results``
WindowCall = Callable[[Any, Any, "WindowContext", list[Any]], Iterable[Any] | None]


class WindowContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """What a process window function learns of its window. The operator sets ``current`` before each call."""

    def __init__(self, operator: Any, window_state: KeyedStateStore, global_state: KeyedStateStore) -> None:
        self._operator = operator
        self._window_state = window_state
        self._global_state = global_state
        self.current: Any = None

    def window(self) -> Any:
        return self.current

    def current_processing_time(self) -> int:
        return int(self._operator.context.clock.read())

    def current_watermark(self) -> int:
        return int(self._operator.watermark)

    def window_state(self) -> KeyedStateStore:
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        return self._global_state


def window_call(function: Any) -> WindowCall:
    """The call for a window function; None: the elements themselves are the result."""
    match function:
        case None:
            return lambda key, window, context, elements: elements
        case ProcessWindowFunction():
            process = function.process
            return lambda key, window, context, elements: process(key, context, elements)
        case WindowFunction():
            apply = function.apply
            return lambda key, window, context, elements: apply(key, window, elements)
        case ProcessAllWindowFunction():
            process_all = function.process
            return lambda key, window, context, elements: process_all(context, elements)
        case AllWindowFunction():
            apply_all = function.apply
            return lambda key, window, context, elements: apply_all(window, elements)
    raise AssertionError(f"the API refuses {type(function).__name__}")


def clear_call(function: Any) -> Callable[[WindowContext], None] | None:
    """The function's own ``clear(context)``; None when it has none to call."""
    for base in (ProcessWindowFunction, ProcessAllWindowFunction):
        if isinstance(function, base) and type(function).clear is not base.clear:
            return function.clear
    return None
