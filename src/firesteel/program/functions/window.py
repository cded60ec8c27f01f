"""Window functions: what is made of the elements of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from firesteel.program.functions.base import Function, KeyedStateStore

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Gets the elements of one key and window."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]: ...


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Gets the elements of one window of a stream without a key."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]: ...


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Like ``WindowFunction``, with a context: time, state of the window, state of the key."""

    class Context(ABC, Generic[W2]):
        @abstractmethod
        def window(self) -> W2: ...

        @abstractmethod
        def current_processing_time(self) -> int: ...

        @abstractmethod
        def current_watermark(self) -> int: ...

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and window; to be removed in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key, common to its windows."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]: ...

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Remove the state of a window that is gone."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Like ``AllWindowFunction``, with a context."""

    class Context(ABC, Generic[W2]):
        @abstractmethod
        def window(self) -> W2: ...

        @abstractmethod
        def window_state(self) -> KeyedStateStore: ...

        @abstractmethod
        def global_state(self) -> KeyedStateStore: ...

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]: ...

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Remove the state of a window that is gone."""
