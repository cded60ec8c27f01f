"""What makes the state of an operator from a DataFrame (Flink: ``OperatorTransformation``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream import AggregateFunction, ReduceFunction, StreamExecutionEnvironment, WindowedStream
from firesteel.datastream.window import Evictor, Trigger, WindowAssigner
from firesteel.program.checks import require_no_life
from firesteel.program.functions.base import KeySelector
from firesteel.program.operators import OperatorSpec
from firesteel.state_processor._bootstrapping import spec_of
from firesteel.state_processor._dealing import Ship
from firesteel.state_processor._functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "KeyedOperatorTransformation",
    "OneInputTransformation",
    "OperatorTransformation",
    "StateBootstrapTransformation",
    "WindowedOperatorTransformation",
]


@dataclass(frozen=True, slots=True)
class StateBootstrapTransformation:
    """A DataFrame, and the operator that keeps something of its rows; ``SavepointWriter.with_operator`` takes
    it. Rows are ``Row`` objects with the names of the columns."""

    frame: DataFrame
    spec: OperatorSpec
    ship: Ship
    key: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    timestamp: Callable[[Any], int] | None = None

    @property
    def keyed(self) -> bool:
        return self.ship == "by key"


class OperatorTransformation:
    """Begins here: ``OperatorTransformation.bootstrap_with(frame)``."""

    @staticmethod
    def bootstrap_with(frame: DataFrame) -> OneInputTransformation:
        """Make state from the rows of a batch DataFrame."""
        if not hasattr(frame, "mapInArrow") or frame.isStreaming:
            raise ProgramError("State is made from a batch DataFrame of Spark.", detail=f"got {frame!r}")
        return OneInputTransformation(frame)


class OneInputTransformation:
    def __init__(self, frame: DataFrame, timestamp: Callable[[Any], int] | None = None) -> None:
        self._frame = frame
        self._timestamp = timestamp

    def assign_timestamps(self, timestamp: Callable[[Any], int]) -> OneInputTransformation:
        """Give rows the time that ``timestamp(row)`` says, in epoch milliseconds: for windows."""
        return OneInputTransformation(self._frame, timestamp)

    def key_by(
        self, key_selector: str | Callable[[Any], Any], key_type: TypeInformation | None = None
    ) -> KeyedOperatorTransformation:
        """Partition the rows as the job does: the same keys, the same ``key_type``.

        :param key_selector: the name of a column, or a function of a row.
        """
        require_no_life(
            key_selector,
            KeySelector,
            "key_by",
            detail="rows are dealt to tasks where there is no runtime context",
            hint="prepare in __init__",
        )
        selector = itemgetter(key_selector) if isinstance(key_selector, str) else key_selector
        return KeyedOperatorTransformation(self._frame, selector, key_type, self._timestamp)

    def transform(
        self, function: StateBootstrapFunction | BroadcastStateBootstrapFunction
    ) -> StateBootstrapTransformation:
        """Write operator state. Rows of a ``StateBootstrapFunction`` are spread over the subtasks, those of a
        ``BroadcastStateBootstrapFunction`` go to all."""
        match function:
            case StateBootstrapFunction():
                return StateBootstrapTransformation(self._frame, spec_of(function), "in turn")
            case BroadcastStateBootstrapFunction():
                return StateBootstrapTransformation(self._frame, spec_of(function), "to all")
        raise ProgramError(
            "Operator state is written by a StateBootstrapFunction or a BroadcastStateBootstrapFunction.",
            detail=f"got {function!r}",
            hint="keyed state: key_by(...) first",
        )


class KeyedOperatorTransformation:
    def __init__(
        self,
        frame: DataFrame,
        key: Callable[[Any], Any],
        key_type: TypeInformation | None,
        timestamp: Callable[[Any], int] | None,
    ) -> None:
        # The API of streams checks selector, type and windows, and knows their operators.
        env = StreamExecutionEnvironment.get_execution_environment()
        self._stream = env.from_collection([0]).key_by(key, key_type)
        self._frame = frame
        self._timestamp = timestamp

    def transform(self, function: KeyedStateBootstrapFunction) -> StateBootstrapTransformation:
        """Write keyed state and timers."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise ProgramError(
                "Keyed state is written by a KeyedStateBootstrapFunction.", detail=f"got {function!r}"
            )
        return self._of(spec_of(function))

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowedOperatorTransformation:
        """Put the rows into windows, as the job does; none of them fires."""
        return WindowedOperatorTransformation(self, self._stream.window(assigner))

    def _of(self, spec: OperatorSpec) -> StateBootstrapTransformation:
        partitioning = self._stream._partitioning
        made = StateBootstrapTransformation(self._frame, spec, "by key", timestamp=self._timestamp)
        return replace(made, key=partitioning.key_selector, key_type=partitioning.key_type)


class WindowedOperatorTransformation:
    """The settings must be those of the job's windows: what is stored depends on them."""

    def __init__(self, keyed: KeyedOperatorTransformation, windows: WindowedStream) -> None:
        self._keyed = keyed
        self._windows = windows

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        self._windows.allowed_lateness(time_ms)
        return self

    def reduce(
        self, reduce_function: Callable[[Any, Any], Any] | ReduceFunction
    ) -> StateBootstrapTransformation:
        return self._of(self._windows.reduce(reduce_function))

    def aggregate(self, aggregate_function: AggregateFunction) -> StateBootstrapTransformation:
        return self._of(self._windows.aggregate(aggregate_function))

    def apply(self, window_function: Any) -> StateBootstrapTransformation:
        return self._of(self._windows.apply(window_function))

    def process(self, process_window_function: Any) -> StateBootstrapTransformation:
        return self._of(self._windows.process(process_window_function))

    def _of(self, stream: Any) -> StateBootstrapTransformation:
        return self._keyed._of(stream._transformation.operator)
