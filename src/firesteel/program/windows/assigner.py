"""What an assigner of windows is; programs may bring their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.common.serializer import TypeSerializer

if TYPE_CHECKING:
    from firesteel.program.functions.base import RuntimeContext
    from firesteel.program.windows.triggers import Trigger

T = TypeVar("T")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowAssigner(ABC, Generic[T, W]):
    """Says which windows an element belongs to (Flink: ``WindowAssigner``)."""

    class WindowAssignerContext(ABC):
        """What an assigner may ask for."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The time of the clock, in epoch milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Gives access to state of the key of the element."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of ``element``: none, one or several. ``timestamp`` is ``-(2**63)`` for an element
        that has none."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger of a program that sets none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Writes the windows of this assigner."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """True if the windows end by the watermark, False if by the clock or never."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may grow together, as sessions do."""

    class MergeCallback(ABC, Generic[W2]):
        """Hears which windows become one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """``to_be_merged`` become ``merge_result``."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Tell ``callback`` which of ``windows`` become one."""


class SessionWindowTimeGapExtractor(ABC):
    """Says how long after an element its session ends."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap after ``element`` in milliseconds, at least 1."""
