"""Window join and co-group: two streams, one key, one window.

Both are a window over the union of the two streams, in which a record is ``(0, record)`` or ``(1, record)``.
That is also what triggers, evictors and gap extractors of the window see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, Self, TypeVar

from firesteel.common.errors import ProgramError
from firesteel.common.time import Length
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.datastream._windowed_stream import WindowedStream
from firesteel.program import operators as ops
from firesteel.program.checks import (
    WrongArgumentError,
    as_callable,
    check_picklable,
    require_callable,
    require_function,
    to_type_information,
)
from firesteel.program.functions.base import Function, KeySelector, RuntimeContext, function_behind
from firesteel.program.functions.join import CoGroupFunction, FlatJoinFunction, JoinFunction
from firesteel.program.functions.window import WindowFunction
from firesteel.program.windows.assigner import WindowAssigner
from firesteel.program.windows.evictors import Evictor
from firesteel.program.windows.triggers import Trigger

Selector = Callable[[Any], Any] | KeySelector
Groups = tuple[list[Any], list[Any]]
Tagged = tuple[int, Any]


# ---- in the worker ----


def _tag_first(record: Any) -> Tagged:
    return 0, record


def _tag_second(record: Any) -> Tagged:
    return 1, record


class _KeyOfEither(KeySelector):
    """The key of a tagged record."""

    def __init__(self, *selectors: Callable[[Any], Any]) -> None:
        self.selectors = selectors

    def open(self, runtime_context: RuntimeContext) -> None:
        for selector in self._functions():
            selector.open(runtime_context)

    def close(self) -> None:
        for selector in self._functions():
            selector.close()

    def _functions(self) -> list[Function]:
        return [f for f in map(function_behind, self.selectors) if f is not None]

    def get_key(self, tagged: Tagged) -> Any:
        side, record = tagged
        return self.selectors[side](record)


class CoGroupWindowFunction(WindowFunction[Tagged, Any, Any, Any]):
    """Takes the two groups of a window apart for ``evaluate(function, first, second)``."""

    def __init__(self, function: Any, evaluate: Callable[[Any, list[Any], list[Any]], Iterable[Any]]) -> None:
        self.function = function
        self.evaluate = evaluate

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self.function, Function):
            self.function.open(runtime_context)

    def apply(self, key: Any, window: Any, inputs: Iterable[Tagged]) -> Iterable[Any]:
        groups: Groups = ([], [])
        for side, record in inputs:
            groups[side].append(record)
        return self.evaluate(self.function, *groups)

    def close(self) -> None:
        if isinstance(self.function, Function):
            self.function.close()


def _co_group(function: CoGroupFunction, first: list[Any], second: list[Any]) -> Iterable[Any]:
    return function.co_group(first, second)


def _join(function: Any, first: list[Any], second: list[Any]) -> Iterable[Any]:
    join = function.join if isinstance(function, JoinFunction) else function
    return (join(one, two) for one in first for two in second)


def _flat_join(function: FlatJoinFunction, first: list[Any], second: list[Any]) -> Iterable[Any]:
    for one in first:
        for two in second:
            yield from function.join(one, two) or ()


# ---- in the program ----


class _WithWindow:
    """Two streams, their keys and a window (Flink: ``WithWindow``)."""

    def __init__(self, windows: WindowedStream) -> None:
        self._windows = windows

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """See ``WindowedStream.trigger``."""
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """See ``WindowedStream.evictor``; the records of both streams count as the elements of the window."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: Length | int) -> Self:
        """See ``WindowedStream.allowed_lateness``."""
        self._windows.allowed_lateness(time_ms)
        return self


class JoinWindows(_WithWindow):
    """A window join that waits for its function."""

    def apply(
        self,
        function: Callable[[Any, Any], Any] | JoinFunction | FlatJoinFunction,
        output_type: OutputType = None,
    ) -> DataStream:
        """Call ``function`` with each pair of a window: those of the first record of the first stream come
        first, each in the order of the second stream."""
        evaluate = _join
        if isinstance(function, FlatJoinFunction):
            evaluate = _flat_join
        else:
            require_callable(function, JoinFunction, "join")
        check_picklable(function, "join")
        return self._windows.apply(CoGroupWindowFunction(function, evaluate), output_type)


class CoGroupWindows(_WithWindow):
    """A co-group that waits for its function."""

    def apply(self, function: CoGroupFunction, output_type: OutputType = None) -> DataStream:
        """Call ``function`` with the records of both streams, for every window with a record of either."""
        hint = "derive the class from CoGroupFunction; join() takes a callable"
        require_function(function, CoGroupFunction, "co_group", hint)
        check_picklable(function, "co_group")
        return self._windows.apply(CoGroupWindowFunction(function, _co_group), output_type)


W = TypeVar("W", bound=_WithWindow)


class EqualTo(Generic[W]):
    """Two streams with their keys; ``window`` comes next."""

    def __init__(self, streams: _TwoStreams[W], key: _KeyOfEither, key_type: TypeInformation | None) -> None:
        self._streams = streams
        self._key = key
        self._key_type = key_type

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> W:
        """The windows that records meet in."""
        streams = self._streams
        tagged = _tag(streams.first, _tag_first).union(_tag(streams.second, _tag_second))
        return streams.windows_class(tagged.key_by(self._key, self._key_type).window(window_assigner))


class Where(Generic[W]):
    """Two streams and the key of the first one; ``equal_to`` comes next."""

    def __init__(self, streams: _TwoStreams[W], key: Selector, key_type: OutputType) -> None:
        self._streams = streams
        self._selector = streams.selector(key)
        self._key_type = to_type_information(key_type, "key type", streams.operation)

    def equal_to(self, key_selector: Selector, key_type: OutputType = None) -> EqualTo[W]:
        """The key of the records of the second stream, of the same type as that of the first."""
        operation = self._streams.operation
        second_type = to_type_information(key_type, "key type", operation)
        if second_type is not None and second_type != self._key_type:
            raise ProgramError(
                "The keys of both streams must be of one type.",
                operator=operation,
                detail=f"{self._key_type} and {second_type}",
                hint="declare the same key_type for both, or only for the first",
            )
        key = _KeyOfEither(self._selector, self._streams.selector(key_selector))
        return EqualTo(self._streams, key, self._key_type)


class _TwoStreams(Generic[W]):
    operation: ClassVar[str]
    windows_class: type[W]

    def __init__(self, first: DataStream, second: DataStream) -> None:
        if not isinstance(second, DataStream):
            raise WrongArgumentError(
                f"{self.operation}() takes a stream.", operator=self.operation, detail=f"got {second!r}"
            )
        first._require_same_environment(second, self.operation)
        self.first = first
        self.second = second

    def where(self, key_selector: Selector, key_type: OutputType = None) -> Where[W]:
        """The key of the records of the first stream."""
        return Where(self, key_selector, key_type)

    def selector(self, key_selector: Selector) -> Callable[[Any], Any]:
        selector = as_callable(key_selector, KeySelector, "get_key", self.operation)
        check_picklable(key_selector, self.operation)
        return selector


class JoinedStreams(_TwoStreams[JoinWindows]):
    """Two streams to join (Flink: ``JoinedStreams``): a record without a partner gives nothing."""

    operation = "join"
    windows_class = JoinWindows


class CoGroupedStreams(_TwoStreams[CoGroupWindows]):
    """Two streams to co-group (Flink: ``CoGroupedStreams``): a record without a partner is a group too."""

    operation = "co_group"
    windows_class = CoGroupWindows


def _tag(stream: DataStream, tag: Callable[[Any], Tagged]) -> DataStream:
    """The tagged records, made where the records are: the order of a subtask's records must last."""
    origin = stream._origin_stream if isinstance(stream, KeyedStream) else stream
    tagged = origin._transform("Map", ops.Map(tag), None)
    tagged._transformation.parallelism = origin._transformation.parallelism
    return tagged
