"""Operators with keyed state on one input: process, reduce, map/flat_map/filter on a keyed stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.program.operators import KeyedMap, KeyedProcess, KeyedReduce
from firesteel.program.output_tag import OutputTag
from firesteel.program.state.descriptors import ValueStateDescriptor
from firesteel.program.time_domain import TimeDomain
from firesteel.runtime.batch import END, MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch, Mark
from firesteel.runtime.checkpoint_news import CheckpointEnd
from firesteel.runtime.contexts import KeyedContext, KeyedTimerService
from firesteel.runtime.functions import require_results
from firesteel.runtime.operators.base import SubtaskContext, method_of
from firesteel.runtime.operators.stateless import FunctionOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.state.backend import NO_KEY, OperatorState
from firesteel.state.keys import canonical_keys


class KeyedOperator(FunctionOperator):
    """Keyed state, timers and the watermark of one keyed operator; subclasses say what a record does.

    All timers due at a watermark fire in timestamp order before the watermark goes on, and those that
    ``on_timer`` registers at or below it fire in the same run.
    """

    state: OperatorState

    def __init__(self, program: OperatorProgram, function: Any) -> None:
        super().__init__(program, function)
        self.watermark = MIN_WATERMARK

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        assert state is not None
        self.state = state
        self.keyed_context = self.make_context(KeyedTimerService(context, self, state), state)
        super().open(context, state)
        self.on_open()

    def make_context(self, timers: KeyedTimerService, state: OperatorState) -> Any:
        """What calls for elements and timers are given; ``stamp`` and ``domain`` are set before each."""
        return KeyedContext(timers, state)

    def on_open(self) -> None:
        """Keyed state is there."""

    def process(self, batch: Batch, input_index: int = 0) -> None:
        self.records_in += len(batch.values)
        canon = canonical_keys(batch.keys or [])
        for start, stop, mark in batch.segments():
            if stop > start:
                self.run(batch, canon, start, stop, input_index)
            if mark is not None:
                self.on_mark(mark, input_index)
        if not self.ended:
            self._fire_processing_time()
        self.outputs.flush()

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:
        raise AssertionError("each keyed operator says what a record does")

    def on_mark(self, mark: Mark, input_index: int) -> None:
        if type(mark) is int:
            self.advance(mark)
        elif mark == END:
            self.advance(MAX_WATERMARK)
            self._fire_processing_time()  # what is due by now; what is not is dropped
            self.ended = True
        self.outputs.mark(mark)

    def advance(self, watermark: int) -> None:
        """Set the operator's watermark, then fire what is due."""
        if watermark <= self.watermark:
            return
        self.watermark = watermark
        timers = self.state.event_timers
        due = timers.next_ms()
        if due is not None and due <= watermark:
            self._fire(timers, watermark, TimeDomain.EVENT_TIME)

    def on_processing_time(self) -> None:
        if not self.ended:
            self._fire_processing_time()
            self.outputs.flush()

    def _fire_processing_time(self) -> None:
        if self.context.batch_mode:
            return  # at the end of the key, after those of event time: end_key
        timers = self.state.processing_timers
        due = timers.next_ms()
        if due is not None and due <= self.context.clock.now_ms:
            self._fire(timers, self.context.clock.now_ms, TimeDomain.PROCESSING_TIME)

    def _fire(self, timers: Any, until: int, domain: TimeDomain) -> None:
        state, context = self.state, self.keyed_context
        context.domain = domain
        for stamp, raw_key, key, _ in due_timers(timers, until, domain):
            state.key = key
            state.raw_key = raw_key
            context.stamp = stamp
            self.collect(self.on_timer(stamp, context), stamp)

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterable[Any] | None:
        return None

    def collect(self, results: Iterable[Any] | None, stamp: int) -> None:
        if results is None:
            return
        add = self.outputs.main.collector.add
        try:
            for r in results:
                if type(r) is tuple and r and isinstance(r[0], OutputTag):
                    self.outputs.collect_side(r[0], r[1], stamp)
                else:
                    add(r, stamp)
        except TypeError:
            require_results(results)
            raise

    def checkpoint_ended(self, end: CheckpointEnd) -> None:
        """No key is the current one."""
        self.state.key, self.state.raw_key = NO_KEY, None
        super().checkpoint_ended(end)

    def close(self) -> None:
        """What ``close`` of the function would do to the state of some key nobody would keep."""
        self.state.key, self.state.raw_key = NO_KEY, None
        super().close()

    def end_key(self) -> None:
        """BATCH mode: the input of the current key has ended. Its timers fire, event time first."""
        key, raw_key = self.state.key, self.state.raw_key
        self.watermark = MAX_WATERMARK
        event, processing = self.state.event_timers, self.state.processing_timers
        while event.next_ms() is not None or processing.next_ms() is not None:  # each may set the other
            self._fire(event, MAX_WATERMARK, TimeDomain.EVENT_TIME)
            self._fire(processing, MAX_WATERMARK, TimeDomain.PROCESSING_TIME)
        self.state.key, self.state.raw_key = key, raw_key
        self.watermark = MIN_WATERMARK

    def take_scopes(self) -> Iterable[Any]:
        """BATCH mode: the keys, other than the current one, under which the operator keeps state for it."""
        return ()

    def next_timer_ms(self) -> int | None:
        return None if self.ended else self.state.processing_timers.next_ms()

    def snapshot(self) -> Any:
        return self.watermark, self.ended

    def restore(self, carry: Any) -> None:
        self.watermark, self.ended = (MIN_WATERMARK, False) if carry is None else carry

    def take_over(self, carries: Sequence[Any]) -> None:
        """No subtask may take for late what none before has."""
        self.watermark = min((watermark for watermark, _ in carries), default=MIN_WATERMARK)


def due_timers(timers: Any, until: int, domain: TimeDomain) -> Iterator[Any]:
    """Pop what is due, also what is set meanwhile. The clock, unlike a watermark, goes on by itself: what is
    set for the same instant again and again is left for the next time."""
    if domain is TimeDomain.PROCESSING_TIME:
        return timers.due(until)  # type: ignore[no-any-return]
    return iter(partial(timers.pop, until), None)


class KeyedProcessOperator(KeyedOperator):
    def __init__(self, program: OperatorProgram, spec: KeyedProcess) -> None:
        super().__init__(program, spec.function)
        self._process = spec.function.process_element
        self._on_timer: Callable[[int, KeyedContext], Iterable[Any] | None] = spec.function.on_timer

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:  # hot
        values, raw_keys, stamps = batch.values, batch.keys, batch.timestamps
        assert raw_keys is not None
        plain = stamps is None and canon is raw_keys and not OutputTag.any_made
        if stop - start != len(values):
            values, raw_keys, canon = values[start:stop], raw_keys[start:stop], canon[start:stop]
            stamps = stamps and stamps[start:stop]
        if plain:
            self._run_plain(values, canon)
            return
        state, context, process = self.state, self.keyed_context, self._process
        collector, collect_side = self.outputs.main.collector, self.outputs.collect_side
        append, stamp_append = collector.values.append, collector.timestamps.append
        collector.has_timestamps = collector.has_timestamps or stamps is not None
        each = zip(canon, raw_keys, values, stamps or repeat(NO_TIMESTAMP), strict=stamps is not None)
        results = None
        try:
            for state.key, state.raw_key, value, stamp in each:
                context.stamp = stamp
                results = process(value, context)
                if results is not None:
                    for r in results:
                        if type(r) is tuple and r and isinstance(r[0], OutputTag):
                            collect_side(r[0], r[1], stamp)
                        else:
                            append(r)
                            stamp_append(stamp)
        except TypeError:
            require_results(results)
            raise

    def _run_plain(self, values: list[Any], keys: list[Any]) -> None:  # hot
        """Records without a timestamp under keys that are their own identity, while there is no side output
        in this process."""
        state, context, process = self.state, self.keyed_context, self._process
        collector = self.outputs.main.collector
        out: list[Any] = []
        append = out.append
        context.stamp = NO_TIMESTAMP
        results = None
        try:
            for state.key, value in zip(keys, values, strict=True):
                results = process(value, context)
                if results is not None:
                    for r in results:
                        append(r)
        except TypeError:
            require_results(results)
            raise
        if OutputTag.any_made:  # the function has just made one
            self.collect(out, NO_TIMESTAMP)
            return
        collector.values += out
        collector.timestamps += [NO_TIMESTAMP] * len(out)

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterable[Any] | None:
        return self._on_timer(timestamp, context)


class KeyedReduceOperator(KeyedOperator):
    """Rolling reduce: one result for each record; in BATCH mode one for each key, at its end."""

    def __init__(self, program: OperatorProgram, spec: KeyedReduce) -> None:
        super().__init__(program, spec.function)
        self._reduce = method_of(spec.function, "reduce")
        self._newest_only = spec.newest_only
        self._finish = spec.finish

    def on_open(self) -> None:
        self._value = self.state.get_state(ValueStateDescriptor("_reduce_state", Types.PICKLED_BYTE_ARRAY()))

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:  # hot
        if self._newest_only:
            self._run_newest(batch, canon, start, stop)
            return
        state, reduce, finish = self.state, self._reduce, self._finish
        read, update = self._value.value, self._value.update
        add = self.outputs.main.collector.add
        stamps = batch.timestamps
        quiet = self.context.batch_mode
        raw_keys = batch.keys
        assert raw_keys is not None
        for i in range(start, stop):
            state.key = canon[i]
            state.raw_key = raw_keys[i]
            value = batch.values[i]
            old = read()
            if old is not None:
                value = reduce(old, value)
            update(value)
            if not quiet:
                result = value if finish is None else finish(value)
                add(result, NO_TIMESTAMP if stamps is None else stamps[i])

    def _run_newest(self, batch: Batch, canon: list[Any], start: int, stop: int) -> None:  # hot
        state, reduce = self.state, self._reduce
        read = self._value.value
        values, raw_keys = batch.values, batch.keys
        assert raw_keys is not None
        held: dict[Any, Any] = {}
        last: dict[Any, int] = {}  # where the last record of a key is
        for i in range(start, stop):
            state.key = key = canon[i]
            state.raw_key = raw_keys[i]
            old = held.get(key)
            if old is None:
                old = read()
            held[key] = values[i] if old is None else reduce(old, values[i])
            last[key] = i
        for key, value in held.items():
            state.key = key
            self._value.update(value)
            if not self.context.batch_mode:
                self._emit(value, NO_TIMESTAMP if batch.timestamps is None else batch.timestamps[last[key]])

    def _emit(self, value: Any, stamp: int) -> None:
        result = value if self._finish is None else self._finish(value)
        self.outputs.main.collector.add(result, stamp)

    def end_key(self) -> None:
        value = self._value.value()
        if value is not None:
            self._emit(value, MAX_WATERMARK)
        super().end_key()


class KeyedMapOperator(KeyedOperator):
    """map, flat_map or filter of a rich function that may use keyed state."""

    def __init__(self, program: OperatorProgram, spec: KeyedMap) -> None:
        super().__init__(program, spec.function)
        self._flat, self._filter = spec.flat, spec.filter
        name = "flat_map" if spec.flat else "filter" if spec.filter else "map"
        self._call = method_of(spec.function, name)

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:
        state, call = self.state, self._call
        add = self.outputs.main.collector.add
        raw_keys = batch.keys
        assert raw_keys is not None
        for i in range(start, stop):
            state.key = canon[i]
            state.raw_key = raw_keys[i]
            value = batch.values[i]
            stamp = stamp_at(batch.timestamps, i)
            result = call(value)
            if self._flat:
                self.collect(result, stamp)
            elif not self._filter:
                add(result, stamp)
            elif result:
                add(value, stamp)


def stamp_at(stamps: Sequence[int] | None, index: int) -> int:
    return NO_TIMESTAMP if stamps is None else stamps[index]
