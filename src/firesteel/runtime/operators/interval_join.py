"""Interval join: the pairs of one key whose timestamps are within bounds.

Each side has its records by timestamp in a buffer of its own, up to the last instant at which a partner may
come. A record is added to the buffer of its side, then joined with what the other one holds between its
bounds, by timestamp, then arrival. (Flink: ``IntervalJoinOperator``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.program.functions.process import ProcessJoinFunction
from firesteel.program.operators import IntervalJoin
from firesteel.runtime.batch import NO_TIMESTAMP, Batch
from firesteel.runtime.operators.two_input import KeyedTwoInputOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.state.time_buffer import TimeBufferColumn

_LEFT = 0


class JoinContext(ProcessJoinFunction.Context):
    """``left`` and ``right`` are set by the operator before each call."""

    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = self.right = NO_TIMESTAMP

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


class IntervalJoinOperator(KeyedTwoInputOperator):
    def __init__(self, program: OperatorProgram, spec: IntervalJoin) -> None:
        super().__init__(program, spec.function)
        self._spec = spec
        self._join = spec.function.process_element
        self._context = JoinContext()

    def on_open(self) -> None:
        spec, buffer = self._spec, self.state.time_buffer
        # A right record is no later than left + upper: there is nothing for a left one to wait for then.
        self._buffers: tuple[TimeBufferColumn, TimeBufferColumn] = (
            buffer("_interval_join/left", spec.upper_ms),
            buffer("_interval_join/right", -spec.lower_ms),
        )

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:  # hot
        spec, state, watermark = self._spec, self.state, self.watermark
        own, other = self._buffers[input_index], self._buffers[1 - input_index]
        lower, upper = spec.lower_ms, spec.upper_ms
        if input_index != _LEFT:
            lower, upper = -upper, -lower
        add, between = own.add, other.between
        values, raw_keys, stamps = batch.values, batch.keys, batch.timestamps
        assert raw_keys is not None
        if stamps is None or NO_TIMESTAMP in stamps[start:stop]:
            raise self._without_timestamp(input_index)
        for i in range(start, stop):
            value, stamp, key = values[i], stamps[i], canon[i]
            if stamp < watermark:
                self._late(value, stamp, input_index)
                continue
            add(key, stamp, value)
            found = between(key, stamp + lower, stamp + upper)
            if found is not None:
                state.key = key
                state.raw_key = raw_keys[i]
                if input_index == _LEFT:
                    self._join_left(value, stamp, *found)
                else:
                    self._join_right(value, stamp, *found)

    def _join_left(self, left: Any, stamp: int, stamps: list[int], rights: list[Any]) -> None:  # hot
        context, join = self._context, self._join
        context.left = stamp
        for context.right, right in zip(stamps, rights, strict=True):
            results = join(left, right, context)
            if results is not None:
                self.collect(results, stamp if stamp >= context.right else context.right)

    def _join_right(self, right: Any, stamp: int, stamps: list[int], lefts: list[Any]) -> None:  # hot
        context, join = self._context, self._join
        context.right = stamp
        for context.left, left in zip(stamps, lefts, strict=True):
            results = join(left, right, context)
            if results is not None:
                self.collect(results, stamp if stamp >= context.left else context.left)

    def _late(self, value: Any, stamp: int, input_index: int) -> None:
        tag = self._spec.left_late_tag if input_index == _LEFT else self._spec.right_late_tag
        if tag is not None:
            self.outputs.collect_side(tag, value, stamp)

    def _without_timestamp(self, input_index: int) -> ProgramError:
        return ProgramError(
            "Elements used in interval stream joins need to have meaningful timestamps.",
            operator=self.program.name,
            detail=f"a record of the {'left' if input_index == _LEFT else 'right'} stream has none",
            hint="call assign_timestamps_and_watermarks(...) with a timestamp assigner before the join",
        )

    def advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            for buffer in self._buffers:
                buffer.advance(watermark)

    def restore(self, carry: Any) -> None:
        super().restore(carry)
        self._reset_buffers()

    def take_over(self, carries: Sequence[Any]) -> None:
        super().take_over(carries)
        self._reset_buffers()

    def _reset_buffers(self) -> None:
        for buffer in self._buffers:
            buffer.reset_watermark(self.watermark)
