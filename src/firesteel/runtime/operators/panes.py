"""Tumbling and sliding time windows with their own trigger, reduced or aggregated.

The window operator of the common case, without timers, namespaces or a call of the assigner for each record:
when a window fires follows from its start alone. Nothing else may be special: no allowed lateness, no
evictor, no other trigger; ``serves`` says for which windows it stands. Its results are those of
``WindowOperator``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from firesteel.datastream._operators import Window
from firesteel.datastream.window import (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch
from firesteel.runtime.operators.base import method_of
from firesteel.runtime.operators.windows import WindowedOperator, WindowOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.windowing.contents import WINDOW_STATE_NAME, Partial
from firesteel.runtime.windowing.places import Place, Places
from firesteel.state.keys import raw_key
from firesteel.state.panes import Pane, PaneColumn, decode_value, to_cached

#: The trigger that tumbling and sliding windows have by themselves.
OWN_TRIGGERS: Final[dict[type, type]] = {
    TumblingEventTimeWindows: EventTimeTrigger,
    SlidingEventTimeWindows: EventTimeTrigger,
    TumblingProcessingTimeWindows: ProcessingTimeTrigger,
    SlidingProcessingTimeWindows: ProcessingTimeTrigger,
}


def serves(spec: Window) -> bool:
    """Whether ``PaneOperator`` gives these windows their exact results."""
    return (
        type(spec.trigger) is OWN_TRIGGERS.get(type(spec.assigner))
        and spec.contents.kind != "list"
        and spec.evictor is None
        and spec.allowed_lateness_ms == 0
    )


def window_operator(program: OperatorProgram, spec: Window) -> WindowedOperator:
    """The operator of a window: the fast one where it gives the exact results, else the one for all."""
    return PaneOperator(program, spec) if serves(spec) else WindowOperator(program, spec)


class PaneOperator(WindowedOperator):
    def __init__(self, program: OperatorProgram, spec: Window) -> None:
        super().__init__(program, spec)
        self._places = Places(spec.assigner)
        self._size_ms: int = spec.assigner.size_ms
        self._event_time: bool = spec.assigner.is_event_time()
        function = spec.contents.function
        self._reduces = spec.contents.kind == "reduce"
        self._create: Any = None
        self._add: Any = None
        self._result: Any = None
        self._merge: Callable[[Any, Any], Any]
        if self._reduces:
            self._merge = method_of(function, "reduce")
        else:
            self._create, self._add, self._merge = function.create_accumulator, function.add, function.merge
            self._result = function.get_result

    def on_open(self) -> None:
        super().on_open()
        self._panes: PaneColumn = self.state.pane_state(WINDOW_STATE_NAME)

    # ---- elements

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:  # hot
        values, stamps = batch.values, batch.timestamps
        if stop - start != len(values):
            values, canon = values[start:stop], canon[start:stop]
            stamps = stamps and stamps[start:stop]
        stamps = self._times(values, stamps)
        places = self._places.of(stamps)
        known: dict[Any, list[tuple[int, Pane]]] = {}  # place -> its open panes
        place: Any = None
        panes: list[tuple[int, Pane]] = []
        create, add, merge, missed = self._create, self._add, self._merge, self._panes.missed
        reduces = self._reduces
        combined = self.spec.combined
        for i, (value, key) in enumerate(zip(values, canon, strict=True)):
            if places[i] != place:
                place = places[i]
                found = known.get(place)
                panes = known[place] = self._open_panes(place) if found is None else found
            if not panes:
                self._no_pane(value, stamps[i])
            merges = reduces
            if combined and type(value) is Partial:
                value, merges = value.accumulator, True
            for begin, pane in panes:
                held = pane.values.get(key)
                if type(held) is bytes:
                    held = decode_value(held)
                elif held is None and not pane.whole:
                    held = missed(begin, pane, key)
                if merges:
                    held = value if held is None else merge(held, value)
                else:
                    held = add(value, create() if held is None else held)
                if type(held) is bytes or (held is value and len(panes) > 1):
                    held = to_cached(held)  # encoded: each pane has an object of its own
                pane.values[key] = held
                pane.dirty.add(key)

    def _times(self, values: list[Any], stamps: Sequence[int] | None) -> Sequence[int]:
        if not self._event_time:
            return [self.context.now_ms] * len(values)
        if stamps is None or NO_TIMESTAMP in stamps:
            self.spec.assigner.assign_windows(values[0], NO_TIMESTAMP, None)
            raise AssertionError("the assigner refuses elements without a timestamp")
        return stamps

    def _open_panes(self, place: Place) -> list[tuple[int, Pane]]:
        """The panes of a place that are not gone, as (start, pane)."""
        starts = self._places.starts(place)
        if self._event_time:  # gone: the last instant, start + size - 1, is not after the watermark
            starts = [start for start in starts if start + self._size_ms - 1 > self.watermark]
        return [(start, self._panes.pane(start)) for start in starts]

    def _no_pane(self, value: Any, stamp: int) -> None:
        if self._event_time and stamp <= self.watermark:
            self.late(value, stamp)

    # ---- time

    def advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            if self._event_time:
                self._fire_until(watermark)

    def _fire_processing_time(self) -> None:
        if not self._event_time and not self.context.batch_mode:
            self._fire_until(self.context.now_ms)

    def end_key(self) -> None:
        key, raw = self.state.key, self.state.raw_key
        self.watermark = MAX_WATERMARK
        self._fire_until(MAX_WATERMARK)
        self.watermark = MIN_WATERMARK
        self.state.key, self.state.raw_key = key, raw

    def next_timer_ms(self) -> int | None:
        if self._event_time or self.ended or not self._panes.open:
            return None
        return min(self._panes.open) + self._size_ms - 1

    def _fire_until(self, until_ms: int) -> None:
        """Fire the panes whose last instant is at or before ``until_ms``, in the order of time, then of
        keys."""
        last = until_ms - self._size_ms + 1
        opened = self._panes.open
        if not opened or min(opened) > last:
            return
        try:
            for start in sorted(start for start in opened if start <= last):
                self._fire_pane(start)
        except Exception as e:
            raise self.failure(e) from e

    def _fire_pane(self, start: int) -> None:
        stamp = start + self._size_ms - 1
        entries = self._panes.close(start)
        if self.function is not None:
            self._call_function(TimeWindow(start, start + self._size_ms), entries, stamp)
            return
        result = self._result
        values = [value for _, value in entries]
        if result is not None:
            values = [r for r in map(result, values) if r is not None]
        collector = self.outputs.main.collector
        collector.values += values
        collector.timestamps += [stamp] * len(values)
        collector.has_timestamps = True

    def _call_function(self, window: TimeWindow, entries: list[tuple[Any, Any]], stamp: int) -> None:
        state, context, call, result = self.state, self.window_context, self._call, self._result
        for key, value in entries:
            state.key, state.raw_key = key, raw_key(key)
            self.enter_window(window)
            value = value if result is None else result(value)
            if value is not None:
                self.collect(call(state.raw_key, window, context, [value]), stamp)
            if self._clear is not None:
                self._clear(context)
