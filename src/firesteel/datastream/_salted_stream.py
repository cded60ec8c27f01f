"""Keyed streams whose hot keys are spread: aggregated by key and salt first, then by key.

All records of a key go to one subtask, so a key that has most of the records keeps one subtask busy and the
others waiting. With a *salt* for each record, the first stage aggregates by key and salt and so spreads a key
over up to ``buckets`` of them; the second stage brings together what belongs to a key (Flink: "Local-Global
Aggregation" and "Split Distinct Aggregation" in the documentation on performance tuning).

Written by hand this goes wrong in two ways. A random salt in the key selector is another one when a record
is read again after a failure; here it is made once, in an operator whose position is state. And a rolling
reduce emits running totals, so adding them up counts records many times; here the second stage *replaces*
what it has of a salt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, NoReturn, Self

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.time import Length
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.datastream._returns import require_reduce
from firesteel.datastream._windowed_stream import WindowedStream, require_aggregate, type_of_reduced
from firesteel.program import operators as ops
from firesteel.program.checks import require_int, require_merge
from firesteel.program.functions.base import AggregateFunction, Function, ReduceFunction
from firesteel.program.functions.salted import (
    AsPart,
    MergedParts,
    NewestTotals,
    OfSalted,
    ReduceSalted,
    Salt,
    WindowsOfParts,
    as_total,
)
from firesteel.program.output_tag import OutputTag
from firesteel.program.windows.assigner import MergingWindowAssigner, WindowAssigner
from firesteel.program.windows.assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

_ONE_BY_ONE = "it gets the records of a key one by one, and they must meet in one subtask for that"
_OTHER_FIELDS = (
    "the fields that are not aggregated come from one record of the key, and no salt knows from which one"
)
_ALL_ELEMENTS = "all elements of a window must meet in one subtask for that"

_NOT_OF_STREAMS: Final[dict[str, str]] = {
    **dict.fromkeys(("process", "map", "flat_map", "filter", "connect", "interval_join"), _ONE_BY_ONE),
    **dict.fromkeys(("sum", "min", "max", "min_by", "max_by"), _OTHER_FIELDS),
    "count_window": "the records of a key are counted in one subtask",
}
_NOT_OF_WINDOWS: Final[dict[str, str]] = {
    **dict.fromkeys(("apply", "process", "evictor"), _ALL_ELEMENTS),
    "trigger": "a trigger is called for the elements of a key, and each salt would have one of its own",
}


class SaltedStream:
    """A keyed stream that is aggregated in two stages: ``key_by(...).salted(buckets)`` makes it.

    The function must not mind the order of the records, nor how they are grouped. State grows by up to
    ``buckets`` entries for each key: salt streams with few keys, or with few hot ones after a filter.
    What cannot be done in two stages is refused.
    """

    def __init__(self, keyed_stream: KeyedStream, buckets: int) -> None:
        self._buckets = require_int(buckets, "number of buckets", 1, operator="salted")
        self._keyed_stream = keyed_stream

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Fold the records of a key; in BATCH mode the result comes out, in STREAMING the result so far.

        While ``KeyedStream.reduce`` emits a result for each record, this emits one for those that came
        together: else the second stage would have all the work again. The last one of a key is the same.
        """
        require_reduce(func, "Reduce")
        step = _step_of(func)
        by_salt = ops.KeyedReduce(ReduceSalted(step), newest_only=True, finish=as_total)
        totals = self._salted.key_by(itemgetter(0, 1))._keyed("Reduce by Salt", by_salt, None)
        newest = NewestTotals(step)
        by_key = ops.KeyedReduce(newest, newest_only=True, finish=newest.result)
        return _keyed_again(totals, self._keyed_stream)._keyed(
            "Reduce", by_key, self._keyed_stream._transformation.output_type
        )

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> SaltedWindowedStream:
        """The records of each key in tumbling or sliding windows of event time."""
        return SaltedWindowedStream(self._keyed_stream, self._salted, window_assigner)

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, name, _NOT_OF_STREAMS)

    @cached_property
    def _salted(self) -> DataStream:
        """The records as (key, salt, record)."""
        keyed = self._keyed_stream._partitioning
        assert keyed.key_selector is not None
        salt = Salt(self._buckets, keyed.key_selector, keyed.key_type)
        return self._keyed_stream._map_origin("Salt", salt, None)


class SaltedWindowedStream:
    """The windows of a salted stream. Both stages fire at the same watermark, so results come when they come
    without a salt, with the same timestamps; late elements fire their window again."""

    def __init__(
        self, keyed_stream: KeyedStream, salted: DataStream, window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        self._keyed_stream = keyed_stream
        self._by_salt = WindowedStream(salted.key_by(itemgetter(0, 1)), window_assigner)
        _check_windows(window_assigner)
        self._assigner = window_assigner
        self._name = type(window_assigner).__name__
        self._lateness: Length | int = 0
        self._late_tag: OutputTag | None = None

    def allowed_lateness(self, time_ms: Length | int) -> Self:
        """Keep windows for ``time_ms`` milliseconds after the watermark passed their end; a late element
        fires its window again."""
        self._by_salt.allowed_lateness(time_ms)
        self._lateness = time_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send elements that come too late for all their windows to ``output_tag`` instead of dropping them;
        ``get_side_output`` of the result reads them."""
        tag = OutputTag(output_tag.tag_id) if isinstance(output_tag, OutputTag) else output_tag
        self._by_salt.side_output_late_data(tag)  # what is late has its salt yet, and so another type
        self._late_tag = output_tag
        return self

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: Any = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Fold the elements of a window; a window function gets the one result.

        Without a window function the result has the type of the elements.
        """
        require_reduce(reduce_function, self._name)
        output_type = type_of_reduced(self._keyed_stream, window_function, output_type)
        salted = ReduceSalted(_step_of(reduce_function))
        parts = self._by_salt.reduce(salted, AsPart())
        merged = MergedParts(salted.reduce, itemgetter(2))
        return self._merged(parts, merged, window_function, None, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: Any = None,
        accumulator_type: OutputType = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Gather the elements of a window in accumulators, which are merged; a window function gets the one
        result."""
        require_aggregate(aggregate_function, self._name)
        require_merge(
            aggregate_function,
            self._name,
            detail="each salt of a key has an accumulator of its own, and they are merged",
            hint="write merge(), or leave salted() out",
        )
        parts = self._by_salt.aggregate(OfSalted(aggregate_function), AsPart())
        merged = MergedParts(aggregate_function.merge, aggregate_function.get_result)
        return self._merged(parts, merged, window_function, accumulator_type, output_type)

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, name, _NOT_OF_WINDOWS)

    def _merged(
        self,
        parts: DataStream,
        merged: MergedParts,
        window_function: Any,
        accumulator_type: OutputType,
        output_type: OutputType,
    ) -> DataStream:
        parts.name(f"{self._name} by Salt")
        by_key = WindowedStream(_keyed_again(parts, self._keyed_stream), WindowsOfParts(self._assigner))
        results = (
            by_key.allowed_lateness(self._lateness)
            .aggregate(merged, window_function, accumulator_type, output_type)
            .name(self._name)
        )
        return results if self._late_tag is None else _WithLateData(results, parts, self._late_tag)


class _WithLateData(DataStream):
    """The results of the second stage; their late elements come out of the first one."""

    def __init__(self, results: DataStream, parts: DataStream, late_tag: OutputTag) -> None:
        super().__init__(results._env, results._transformation)
        self._parts = parts
        self._late_tag = late_tag

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        if output_tag != self._late_tag:
            return super().get_side_output(output_tag)
        late = self._parts.get_side_output(OutputTag(output_tag.tag_id))
        return late.map(itemgetter(2), output_type=output_tag.type_info)


def _keyed_again(stream: DataStream, keyed_stream: KeyedStream) -> KeyedStream:
    return stream.key_by(itemgetter(0), keyed_stream._partitioning.key_type)


def _step_of(function: ReduceFunction | Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function of two values; it has no operator of its own that could open it."""
    if not isinstance(function, ReduceFunction):
        return function
    for hook in ("open", "close"):
        if getattr(type(function), hook) is not getattr(Function, hook):
            raise UnsupportedFeatureError(
                f"{type(function).__name__}.{hook}() would never be called.",
                operator="Reduce",
                detail="a salted stream is reduced in two operators",
                hint="prepare in __init__, or compute the value in a map() before",
            )
    return function.reduce


def _check_windows(assigner: WindowAssigner[Any, Any]) -> None:
    if isinstance(assigner, (TumblingEventTimeWindows, SlidingEventTimeWindows)):
        return
    if isinstance(assigner, MergingWindowAssigner):
        detail = "the sessions of a key and a salt are not the sessions of the key"
    elif isinstance(assigner, (TumblingProcessingTimeWindows, SlidingProcessingTimeWindows)):
        detail = "the clock does not tell the second stage when it has the results of all salts"
    else:
        detail = "the windows of a key and a salt may be others than those of the key"
    raise UnsupportedFeatureError(
        f"{type(assigner).__name__} cannot be salted.",
        operator="salted",
        detail=detail,
        hint="use tumbling or sliding windows of event time, or leave salted() out",
    )


def _refuse(stream: SaltedStream | SaltedWindowedStream, name: str, reasons: dict[str, str]) -> NoReturn:
    if name not in reasons:
        raise AttributeError(f"{type(stream).__name__!r} object has no attribute {name!r}")
    raise UnsupportedFeatureError(
        f"{name}() is not possible on a salted stream.",
        operator="salted",
        detail=reasons[name],
        hint="use reduce(), or reduce() and aggregate() of windows, or leave salted() out",
    )
