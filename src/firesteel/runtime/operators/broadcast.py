"""Broadcast state: a stream, keyed or not, beside one that every subtask sees whole.

The broadcast input writes maps that are the same on every subtask; the other one reads them. The first input
is the one that is not broadcast. (Flink: ``CoBroadcastWithNonKeyedOperator``,
``CoBroadcastWithKeyedOperator``.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from firesteel.program.operators import BroadcastProcess, KeyedBroadcastProcess
from firesteel.runtime.batch import Batch
from firesteel.runtime.broadcast_contexts import (
    KeyedReadingContext,
    KeyedWritingContext,
    ReadingContext,
    WritingContext,
)
from firesteel.runtime.contexts import KeyedTimerService, NoTimers
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.keyed import stamp_at
from firesteel.runtime.operators.two_input import KeyedTwoInputOperator, TwoInputOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.state.backend import NO_KEY, OperatorState

#: In BATCH mode this input is read to its end before the other one begins.
BROADCAST_INPUT: Final = 1


class BroadcastOperator(TwoInputOperator):
    def __init__(self, program: OperatorProgram, spec: BroadcastProcess) -> None:
        f = spec.function
        super().__init__(program, f, (f.process_element, f.process_broadcast_element))
        self._states = spec.states

    def contexts(self, context: SubtaskContext, state: OperatorState | None) -> tuple[Any, Any]:
        assert state is not None
        for descriptor in self._states:
            state.broadcast_state(descriptor)
        timers = NoTimers(context, self)
        return ReadingContext(timers, state), WritingContext(timers, state)


class KeyedBroadcastOperator(KeyedTwoInputOperator):
    def __init__(self, program: OperatorProgram, spec: KeyedBroadcastProcess) -> None:
        f = spec.function
        super().__init__(program, f)
        self._states = spec.states
        self._process, self._process_broadcast = f.process_element, f.process_broadcast_element
        self._on_timer: Callable[[int, Any], Iterable[Any] | None] = f.on_timer

    def make_context(self, timers: KeyedTimerService, state: OperatorState) -> KeyedReadingContext:
        return KeyedReadingContext(timers, state)

    def on_open(self) -> None:
        for descriptor in self._states:
            self.state.broadcast_state(descriptor)
        self._writing = KeyedWritingContext(self.context, self, self.state)

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:
        if input_index == BROADCAST_INPUT:
            self._run_broadcast(batch, start, stop)
        else:
            self._run_keyed(batch, canon, start, stop)

    def _run_keyed(self, batch: Batch, canon: list[Any], start: int, stop: int) -> None:  # hot
        state, context, process, collect = self.state, self.keyed_context, self._process, self.collect
        values, stamps, raw_keys = batch.values, batch.timestamps, batch.keys
        assert raw_keys is not None
        for i in range(start, stop):
            state.key = canon[i]
            state.raw_key = raw_keys[i]
            context.stamp = stamp = stamp_at(stamps, i)
            collect(process(values[i], context), stamp)

    def _run_broadcast(self, batch: Batch, start: int, stop: int) -> None:
        state, context = self.state, self._writing
        state.key, state.raw_key = NO_KEY, None
        for i in range(start, stop):
            context.stamp = stamp_at(batch.timestamps, i)
            self.collect(self._process_broadcast(batch.values[i], context), context.stamp)

    def on_timer(self, timestamp: int, context: Any) -> Iterable[Any] | None:
        return self._on_timer(timestamp, context)
