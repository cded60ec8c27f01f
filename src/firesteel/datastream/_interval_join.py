"""Interval join: pairs of records of one key whose timestamps are close enough.

PyFlink has no such operation; this is the API of Flink's ``KeyedStream.intervalJoin`` in snake_case.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NoReturn

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.time import Duration, Time, as_millis
from firesteel.datastream._connected_streams import ConnectedStreams
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.program import operators as ops
from firesteel.program.checks import WrongArgumentError, require_function
from firesteel.program.functions.process import ProcessJoinFunction
from firesteel.program.output_tag import OutputTag

_NAME = "Interval Join"


class IntervalJoin:
    """Two keyed streams that wait for the interval (Flink: ``KeyedStream.IntervalJoin``)."""

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        if not isinstance(right, KeyedStream):
            raise WrongArgumentError(
                "interval_join() takes a keyed stream.",
                operator=_NAME,
                detail=f"got {right!r}",
                hint="call key_by() on the other stream too, with keys of the same type",
            )
        left._require_same_environment(right, _NAME)
        self._left = left
        self._right = right

    def in_event_time(self) -> IntervalJoin:
        """Join by timestamps, which is the only way."""
        return self

    def in_processing_time(self) -> NoReturn:
        raise UnsupportedFeatureError(
            "Time-bounded stream joins are only supported in event time.",
            operator=_NAME,
            hint="give the records timestamps: assign_timestamps_and_watermarks(...)",
        )

    def between(
        self, lower_bound: Time | Duration | timedelta | int, upper_bound: Time | Duration | timedelta | int
    ) -> IntervalJoined:
        """Join a left record with the right ones at ``left + lower_bound`` to ``left + upper_bound``.

        Both bounds are inclusive; either may be negative, and a plain number is in milliseconds.
        """
        lower_ms = as_millis(lower_bound, "lower_bound")
        upper_ms = as_millis(upper_bound, "upper_bound")
        if lower_ms > upper_ms:
            raise ProgramError(
                "The lower bound of an interval join must not be above the upper bound.",
                operator=_NAME,
                detail=f"between {lower_ms} ms and {upper_ms} ms",
                hint="bounds are relative to the left record: between(-5 minutes, +1 minute)",
            )
        return IntervalJoined(self._left, self._right, lower_ms, upper_ms)


class IntervalJoined:
    """Two keyed streams with an interval (Flink: ``KeyedStream.IntervalJoined``)."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower_ms: int, upper_ms: int) -> None:
        self._left = left
        self._right = right
        self._lower_ms = lower_ms
        self._upper_ms = upper_ms
        self._lower_exclusive = False
        self._upper_exclusive = False
        self._late_tags: dict[str, OutputTag] = {}

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Leave pairs out whose distance is the lower bound itself."""
        self._lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Leave pairs out whose distance is the upper bound itself."""
        self._upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Emit left records that are behind the watermark to a side output, instead of dropping them."""
        return self._late("left", output_tag)

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Emit right records that are behind the watermark to a side output, instead of dropping them."""
        return self._late("right", output_tag)

    def process(
        self, process_join_function: ProcessJoinFunction, output_type: OutputType = None
    ) -> DataStream:
        """Call the function with each pair, as soon as its second record is there.

        The pairs of a record come in the order of the timestamps of its partners, those of one timestamp in
        the order in which they came. What is emitted has the larger timestamp of both.
        """
        require_function(
            process_join_function, ProcessJoinFunction, _NAME, "derive the class from ProcessJoinFunction"
        )
        spec = ops.IntervalJoin(
            process_join_function,
            self._lower_ms + self._lower_exclusive,
            self._upper_ms - self._upper_exclusive,
            self._late_tags.get("left"),
            self._late_tags.get("right"),
        )
        return ConnectedStreams(self._left, self._right)._transform(_NAME, spec, output_type)

    def _late(self, side: str, output_tag: OutputTag) -> IntervalJoined:
        if not isinstance(output_tag, OutputTag):
            raise WrongArgumentError(
                f"Late data of the {side} stream needs an OutputTag.",
                operator=_NAME,
                detail=f"got {output_tag!r}",
            )
        self._late_tags[side] = output_tag
        return self
