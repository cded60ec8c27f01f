"""Functions of two streams that meet in a window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.program.functions.base import Function


class JoinFunction(Function):
    """Makes one record of each pair (Flink: ``JoinFunction``)."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any: ...


class FlatJoinFunction(Function):
    """Makes any number of records of each pair (Flink: ``FlatJoinFunction``)."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any]: ...


class CoGroupFunction(Function):
    """Gets the records of both streams with one key and window (Flink: ``CoGroupFunction``)."""

    @abstractmethod
    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        """Either list may be empty, not both. The records are in the order in which they came."""
