"""Tumbling and sliding time windows with their own trigger, reduced or aggregated.

The window operator of the common case, without timers, namespaces or a call of the assigner for each record:
when a window fires, and when its allowed lateness is over, follows from its start alone. Nothing else may be
special: no evictor, no other trigger; ``serves`` says for which windows it stands. Its results are those of
``WindowOperator``.

A pane that has fired is kept apart from the open ones while late elements are allowed, so that those cost
nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

from firesteel.common._map_all import map_all
from firesteel.program.operators import Window
from firesteel.program.windows.assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.program.windows.stateful_triggers import PurgingTrigger
from firesteel.program.windows.triggers import EventTimeTrigger, ProcessingTimeTrigger
from firesteel.program.windows.windows import TimeWindow
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch
from firesteel.runtime.operators.windows import WindowedOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.windowing.contents import WINDOW_STATE_NAME, Partial, folding
from firesteel.runtime.windowing.inherited import into_panes
from firesteel.runtime.windowing.places import Place, Places
from firesteel.state._column import CanonicalKey, in_order
from firesteel.state.instants import check_window
from firesteel.state.keys import raw_key
from firesteel.state.panes import Pane, PaneColumn, decode_value, to_cached

#: The trigger that tumbling and sliding windows have by themselves.
OWN_TRIGGERS: Final[dict[type, type]] = {
    TumblingEventTimeWindows: EventTimeTrigger,
    SlidingEventTimeWindows: EventTimeTrigger,
    TumblingProcessingTimeWindows: ProcessingTimeTrigger,
    SlidingProcessingTimeWindows: ProcessingTimeTrigger,
}


def fires_by_itself(spec: Window) -> bool:
    """Whether these are tumbling or sliding windows with their own trigger, or one that does the same: what a
    purging trigger drops goes anyway where no lateness is allowed."""
    trigger = spec.trigger
    if type(trigger) is PurgingTrigger and spec.allowed_lateness_ms == 0:
        trigger = trigger.nested_trigger
    return type(trigger) is OWN_TRIGGERS.get(type(spec.assigner))


def serves(spec: Window) -> bool:
    """Whether ``PaneOperator`` gives these windows their exact results."""
    return fires_by_itself(spec) and spec.contents.kind != "list" and spec.evictor is None


class _Reach(NamedTuple):
    """The panes of a place.

    :param open: those whose time has not come, by start, with their values; an element is added and nothing
        more.
    :param behind: where those start that have fired and are kept; None: an element cannot be late.
    """

    open: list[tuple[int, Pane, dict[CanonicalKey, Any]]]
    behind: list[int] | None


def _runs(places: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Where elements of one place after the other begin and end."""
    first, number = 0, len(places)
    if places.count(places[0]) == number:  # most batches
        yield 0, number
        return
    for last in range(1, number):
        if places[last] != places[first]:
            yield first, last
            first = last
    yield first, number


class PaneOperator(WindowedOperator):
    def __init__(self, program: OperatorProgram, spec: Window) -> None:
        super().__init__(program, spec)
        self._places = Places(spec.assigner)
        self._size_ms: int = spec.assigner.size_ms
        self._event_time: bool = spec.assigner.is_event_time()
        self._lateness_ms = spec.allowed_lateness_ms if self._event_time else 0
        function = spec.contents.function
        self._reduces = spec.contents.kind == "reduce"
        self._create: Any = None
        self._add: Any = None
        self._step, self._merge, self._result = folding(spec.contents, spec.combined)
        if not self._reduces:
            self._create, self._add = function.create_accumulator, function.add

    def on_open(self) -> None:
        super().on_open()
        self._panes: PaneColumn = self.state.pane_state(WINDOW_STATE_NAME, self._size_ms)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        into_panes(self.state, self._panes, self._size_ms, self._event_time)

    # ---- elements

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:  # hot
        values, stamps = batch.values, batch.timestamps
        if stop - start != len(values):
            values, canon = values[start:stop], canon[start:stop]
            stamps = stamps and stamps[start:stop]
        stamps = self._times(values, stamps)
        places = self._places.of(stamps)
        known: dict[Place, _Reach] = {}
        create, add, merge, missed = self._create, self._add, self._merge, self._panes.missed
        reduces = self._reduces
        combined = self.spec.combined
        for first, last in _runs(places):
            place = places[first]
            reach = known.get(place)
            if reach is None:
                reach = known[place] = self._reach(place)
            panes, behind = reach
            several = len(panes) > 1
            keys = canon[first:last]
            for value, key, stamp in zip(values[first:last], keys, stamps[first:last], strict=True):
                if behind is not None:
                    self._add_behind(key, value, stamp, behind, taken=bool(panes))
                merges = reduces
                if combined and type(value) is Partial:
                    value, merges = value.accumulator, True
                for begin, pane, table in panes:
                    held = table.get(key)
                    if held is None:
                        if not pane.whole:
                            held = missed(begin, pane, key)
                    elif type(held) is bytes:
                        held = decode_value(held)
                    if merges:
                        held = value if held is None else merge(held, value)
                    else:
                        held = add(value, create() if held is None else held)
                    if type(held) is bytes or (several and held is value):
                        held = to_cached(held)  # encoded: each pane has an object of its own
                    table[key] = held
            for _, pane, _ in panes:
                pane.dirty.update(keys)

    def _times(self, values: list[Any], stamps: Sequence[int] | None) -> Sequence[int]:
        if not self._event_time:
            return [self.context.clock.now_ms] * len(values)
        if stamps is None or NO_TIMESTAMP in stamps:
            self.spec.assigner.assign_windows(values[0], NO_TIMESTAMP, None)
            raise AssertionError("the assigner refuses elements without a timestamp")
        return stamps

    def _reach(self, place: Place) -> _Reach:
        starts = self._places.starts(place)
        if starts:
            check_window(starts[-1], starts[0] + self._size_ms)
        ahead = [s for s in starts if s + self._size_ms - 1 > self.watermark] if self._event_time else starts
        behind = None
        if len(ahead) < len(starts) or not starts:
            behind = [s for s in starts[len(ahead) :] if self._gone_ms(s) > self.watermark]
        panes = [(start, self._panes.pane(start)) for start in ahead]
        return _Reach([(start, pane, pane.values) for start, pane in panes], behind)

    def _gone_ms(self, start: int) -> int:
        """When a pane goes; MAX_WATERMARK: never."""
        return min(start + self._size_ms - 1 + self._lateness_ms, MAX_WATERMARK)

    def _add_behind(
        self, key: CanonicalKey, value: Any, stamp: int, starts: Sequence[int], taken: bool
    ) -> None:
        """Add an element to panes that have fired: each fires again. ``taken``: other panes take it too."""
        for start in starts:
            pane = self._panes.fired_pane(start)
            held = pane.values.get(key)
            if type(held) is bytes:
                held = decode_value(held)
            elif held is None and not pane.whole:
                held = self._panes.missed(start, pane, key)
            held = self._step(held, value)
            pane.values[key] = to_cached(held)
            pane.dirty.add(key)
            self._emit(start, [(key, held)], stamp)
        if not starts and not taken and self._event_time and stamp + self._lateness_ms <= self.watermark:
            self.late(value, stamp)

    # ---- time

    def advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            if self._event_time:
                self._fire_until(watermark)

    def _fire_processing_time(self) -> None:
        if not self._event_time and not self.context.batch_mode:
            self._fire_until(self.context.clock.now_ms)

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
        """All that is due up to ``until_ms``, in the order of time: panes fire at their last instant, and go
        when their lateness is over."""
        opened, fired = self._panes.open, self._panes.fired
        last = until_ms - self._size_ms + 1
        over = last - self._lateness_ms
        if (not opened or min(opened) > last) and (not fired or min(fired) > over):
            return
        ends = {start + self._size_ms - 1 for start in opened if start <= last}
        goes = {self._gone_ms(start) for start in (*opened, *fired) if start <= over} - {MAX_WATERMARK}
        for instant in sorted(ends | goes):
            self._pass(instant, until_ms)

    def _pass(self, instant: int, until_ms: int) -> None:
        """One instant: a pane fires at it, or one goes, or both; by key, then by window."""
        panes = self._panes
        start = instant - self._size_ms + 1
        before = start - self._lateness_ms  # this one goes
        entries: list[tuple[CanonicalKey, Any]] = []
        cleared: set[CanonicalKey] = set()
        if start in panes.open:
            gone = self._gone_ms(start)
            unseen = self._clear is None and gone <= until_ms and gone != MAX_WATERMARK
            entries = panes.close(start) if before == start or unseen else panes.fire(start)
        if before in panes.fired:
            cleared = panes.drop_fired(before)
        if before == start:
            cleared.update(key for key, _ in entries)
        if self._clear is None or not cleared:
            self._emit(start, entries, instant)
        else:
            self._emit_and_clear(start, dict(entries), before, cleared, instant)

    def _emit_and_clear(
        self,
        start: int,
        entries: Mapping[CanonicalKey, Any],
        before: int,
        cleared: Set[CanonicalKey],
        stamp: int,
    ) -> None:
        assert self._clear is not None
        window = TimeWindow(before, before + self._size_ms)
        for key in in_order({*entries, *cleared}):
            if before == start and key in entries:
                self._emit(start, [(key, entries[key])], stamp)
            if key in cleared:
                self.state.key, self.state.raw_key = key, raw_key(key)
                self.enter_window(window)
                self._clear(self.window_context)
            if before != start and key in entries:
                self._emit(start, [(key, entries[key])], stamp)

    def _emit(self, start: int, entries: list[tuple[CanonicalKey, Any]], stamp: int) -> None:
        """Hand on the results of the values that a pane has for keys; None: there is none."""
        if self.function is not None:
            self._call_function(TimeWindow(start, start + self._size_ms), entries, stamp)
            return
        values = [value for _, value in entries if value is not None]
        if self._result is not None:
            values = [r for r in map_all(self._result, values) if r is not None]
        collector = self.outputs.main.collector
        collector.values += values
        collector.timestamps += [stamp] * len(values)
        collector.has_timestamps = True

    def _call_function(self, window: TimeWindow, entries: list[tuple[CanonicalKey, Any]], stamp: int) -> None:
        state, context, call, result = self.state, self.window_context, self._call, self._result
        for key, value in entries:
            if value is not None and result is not None:
                value = result(value)
            if value is not None:
                state.key, state.raw_key = key, raw_key(key)
                self.enter_window(window)
                self.collect(call(state.raw_key, window, context, [value]), stamp)
