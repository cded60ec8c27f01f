"""Operators with two inputs, keyed or not, and the co-functions on them: CoMap, CoFlatMap, CoProcess.

The watermark is the minimum over both inputs, with the same rule for idleness as over channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from firesteel.program.operators import CoFlatMap, CoMap, CoProcess, KeyedCoMap, KeyedCoProcess
from firesteel.program.output_tag import OutputTag
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Mark
from firesteel.runtime.contexts import KeyedContext, ProcessContext
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.keyed import KeyedOperator, stamp_at
from firesteel.runtime.operators.stateless import FunctionOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.valve import WatermarkValve
from firesteel.state.backend import OperatorState


class TwoInputOperator(FunctionOperator):
    """Two inputs that are not keyed, each with the call for its records and the context of that call."""

    def __init__(self, program: OperatorProgram, function: Any, calls: tuple[Any, Any]) -> None:
        super().__init__(program, function)
        self._calls = calls
        self._valve = WatermarkValve((0, 1))
        self.watermark = MIN_WATERMARK

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        self._contexts = self.contexts(context, state)
        super().open(context, state)

    def contexts(self, context: SubtaskContext, state: OperatorState | None) -> tuple[Any, Any]:
        """What the calls are given; both have ``set_timestamp``."""
        both = ProcessContext(context, self)
        return both, both

    def process(self, batch: Batch, input_index: int = 0) -> None:
        self.records_in += len(batch.values)
        call, context = self._calls[input_index], self._contexts[input_index]
        outputs = self.outputs
        add = outputs.main.collector.add
        for start, stop, mark in batch.segments():
            for i in range(start, stop):
                stamp = stamp_at(batch.timestamps, i)
                context.set_timestamp(stamp)
                for r in call(batch.values[i], context) or ():
                    if type(r) is tuple and r and isinstance(r[0], OutputTag):
                        outputs.collect_side(r[0], r[1], stamp)
                    else:
                        add(r, stamp)
            if mark is not None:
                for merged in self._valve.feed(input_index, mark):
                    outputs.mark(merged)
                self.watermark = self._valve.output
                self.ended = self._valve.is_ended
        outputs.flush()

    def snapshot(self) -> Any:
        return self._valve.snapshot()

    def restore(self, carry: Any) -> None:
        if carry is None:
            self._valve = WatermarkValve((0, 1))
        else:
            self._valve.restore(carry)
        self.watermark = self._valve.output
        self.ended = self._valve.is_ended

    def take_over(self, carries: Sequence[Any]) -> None:
        """Both inputs say again how far they are."""


class CoOperator(TwoInputOperator):
    """CoMap, CoFlatMap and CoProcess on streams that are not keyed."""

    def __init__(self, program: OperatorProgram, spec: CoMap | CoFlatMap | CoProcess) -> None:
        f = spec.function
        match spec:
            case CoMap():
                calls = one_result(f.map1), one_result(f.map2)
            case CoFlatMap():
                calls = without_context(f.flat_map1), without_context(f.flat_map2)
            case _:
                calls = f.process_element1, f.process_element2
        super().__init__(program, f, calls)


class KeyedTwoInputOperator(KeyedOperator):
    """The watermark of a keyed operator with two inputs; subclasses say what a record does."""

    def __init__(self, program: OperatorProgram, function: Any) -> None:
        super().__init__(program, function)
        self._valve = WatermarkValve((0, 1))

    def on_mark(self, mark: Mark, input_index: int) -> None:
        for merged in self._valve.feed(input_index, mark):
            super().on_mark(merged, input_index)

    def snapshot(self) -> Any:
        return super().snapshot(), self._valve.snapshot()

    def restore(self, carry: Any) -> None:
        super().restore(None if carry is None else carry[0])
        if carry is None:
            self._valve = WatermarkValve((0, 1))
        else:
            self._valve.restore(carry[1])

    def take_over(self, carries: Sequence[Any]) -> None:
        super().take_over([carry for carry, _ in carries])

    def end_key(self) -> None:
        super().end_key()
        self.watermark = MIN_WATERMARK if not self.ended else MAX_WATERMARK


class KeyedCoOperator(KeyedTwoInputOperator):
    """KeyedCoProcess, CoMap and CoFlatMap on two keyed streams: both sides share the state of a key."""

    def __init__(self, program: OperatorProgram, spec: KeyedCoProcess | KeyedCoMap) -> None:
        super().__init__(program, spec.function)
        f = spec.function
        self._on_timer = None
        match spec:
            case KeyedCoProcess():
                self._calls = (f.process_element1, f.process_element2)
                self._on_timer = f.on_timer
            case KeyedCoMap(flat=True):
                self._calls = (without_context(f.flat_map1), without_context(f.flat_map2))
            case _:
                self._calls = (one_result(f.map1), one_result(f.map2))

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:
        state, context, call = self.state, self.keyed_context, self._calls[input_index]
        raw_keys = batch.keys
        assert raw_keys is not None
        for i in range(start, stop):
            state.key = canon[i]
            state.raw_key = raw_keys[i]
            context.stamp = stamp_at(batch.timestamps, i)
            self.collect(call(batch.values[i], context), context.stamp)

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterable[Any] | None:
        return None if self._on_timer is None else self._on_timer(timestamp, context)


def one_result(call: Any) -> Any:
    return lambda value, context: (call(value),)


def without_context(call: Any) -> Any:
    return lambda value, context: call(value)
