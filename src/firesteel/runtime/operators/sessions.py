"""Session windows of event time with their own trigger, reduced or aggregated.

The window operator of the common case: what a session needs of timers follows from its bounds, and a record
within an open session costs one look-up. ``serves`` says for which windows it stands; its results are those
of ``WindowOperator``, allowed lateness included.

Elements are added in the order in which they come. When an element makes sessions one, ``merge(a, b)`` (or
the reduce function) is called for two at a time, in the order in which the sessions last grew, before the
element is added. Flink leaves this order open, so functions must not depend on it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final

from firesteel.program.operators import Window
from firesteel.program.windows.assigners import DynamicEventTimeSessionWindows, EventTimeSessionWindows
from firesteel.program.windows.triggers import EventTimeTrigger
from firesteel.program.windows.windows import TimeWindow
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch
from firesteel.runtime.operators.windows import WindowedOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.windowing.contents import WINDOW_STATE_NAME, folding
from firesteel.state._column import CanonicalKey, in_order
from firesteel.state.instants import check_window
from firesteel.state.keys import raw_key
from firesteel.state.sessions import Session, SessionColumn, copied

_END: Final = attrgetter("end")
_GROWN: Final = attrgetter("grown")
ASSIGNERS: Final = (EventTimeSessionWindows, DynamicEventTimeSessionWindows)


def serves(spec: Window) -> bool:
    """Whether ``SessionOperator`` gives these windows their exact results."""
    return (
        type(spec.assigner) in ASSIGNERS
        and type(spec.trigger) is EventTimeTrigger
        and spec.contents.kind != "list"
        and spec.evictor is None
    )


class SessionOperator(WindowedOperator):
    def __init__(self, program: OperatorProgram, spec: Window) -> None:
        super().__init__(program, spec)
        self._lateness_ms = spec.allowed_lateness_ms
        self._step, self._merge, self._result = folding(spec.contents, spec.combined)
        self._ends: Callable[[list[Any], Sequence[int]], list[int]]
        if type(spec.assigner) is EventTimeSessionWindows:
            gap_ms = spec.assigner.gap_ms
            self._ends = lambda values, stamps: [stamp + gap_ms for stamp in stamps]
        else:
            gap_of = spec.assigner.gap_of
            self._ends = lambda values, stamps: [
                stamp + gap_of(value) for value, stamp in zip(values, stamps, strict=True)
            ]

    def on_open(self) -> None:
        super().on_open()
        self._sessions: SessionColumn = self.state.session_state(WINDOW_STATE_NAME)

    # ---- elements

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:  # hot
        values, stamps = batch.values, batch.timestamps
        if stop - start != len(values):
            values, canon = values[start:stop], canon[start:stop]
            stamps = stamps and stamps[start:stop]
        if stamps is None:
            stamps = [NO_TIMESTAMP] * len(values)
        opened, changed, step = self._sessions.open, self._sessions.changed_keys, self._step
        passed = self.watermark + 1  # sessions with this end have fired
        for value, key, stamp, end in zip(values, canon, stamps, self._ends(values, stamps), strict=True):
            known = opened.get(key)
            if (
                known is not None
                and len(known) == 1
                and (session := known[0]).start <= end <= MAX_WATERMARK
                and passed < session.end >= stamp
                and not session.fired
            ):
                if stamp < session.start:
                    session.start = stamp
                if end > session.end:
                    session.end = end
                session.value = step(session.value, value)
                changed.add(key)
            else:
                self._add(key, value, stamp, end)

    def _add(self, key: CanonicalKey, value: Any, stamp: int, end: int) -> None:
        """Add an element that may begin a session, make several one, or come after its session fired."""
        check_window(stamp, end)
        sessions = self._sessions.of(key)
        first = last = bisect_left(sessions, stamp, key=_END)
        while last < len(sessions) and sessions[last].start <= end:
            last += 1
        if first < last:
            session = self._merged(sessions[first:last], stamp, end)
            sessions[first:last] = [session]
        elif end - 1 + self._lateness_ms > self.watermark:
            session = Session(stamp, end)
            sessions.insert(first, session)
        else:
            self.late(value, stamp)
            return
        session.value = self._step(session.value, value)
        session.fired = session.end - 1 <= self.watermark
        self._sessions.put(key, sessions, self._next_ms(session))
        if session.fired:
            held = session.value
            session.value = copied(held)
            self._emit(key, session.start, session.end, held, stamp)

    def _merged(self, touched: list[Session], stamp: int, end: int) -> Session:
        """The session that ``touched`` and an element become; the last that has grown, if it has."""
        session, *others = sorted(touched, key=_GROWN)
        before = session.start, session.end
        for other in others:
            if other.value is not None:
                held = session.value
                session.value = other.value if held is None else self._merge(held, other.value)
        session.start = min(stamp, touched[0].start)
        session.end = max(end, touched[-1].end)
        if others or before != (session.start, session.end):
            session.grow()
        return session

    def _next_ms(self, session: Session) -> int:
        """When a session has to be looked after: when it fires, then when its lateness ends."""
        last = session.end - 1
        return last if last > self.watermark else min(last + self._lateness_ms, MAX_WATERMARK)

    # ---- time

    def advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            before, self.watermark = self.watermark, watermark
            self._fire_after(before)

    def end_key(self) -> None:
        key, raw = self.state.key, self.state.raw_key
        self.advance(MAX_WATERMARK)
        self.watermark = MIN_WATERMARK
        self.state.key, self.state.raw_key = key, raw

    def _fire_after(self, before: int) -> None:
        """All that happens after the watermark ``before``, up to the present one: by instant, then by key."""
        taken = self._sessions.take_due(self.watermark)
        due: list[tuple[int, int, int, bool, CanonicalKey, int, Any]] = []
        for rank, key in enumerate(in_order(taken)):
            sessions = taken[key]
            passed = bisect_right(sessions, self.watermark + 1, key=_END)
            kept = []
            for session in sessions[:passed]:
                last = session.end - 1
                gone = last + self._lateness_ms
                value, goes = session.value, gone <= self.watermark and gone != MAX_WATERMARK
                if not goes:
                    kept.append(session)
                if before < last <= self.watermark and not session.fired:
                    due.append((last, rank, session.start, False, key, session.end, value))
                    session.fired = True
                    session.value = value if goes else copied(value)
                if goes and self._clear is not None:
                    due.append((gone, rank, session.start, True, key, session.end, None))
            ahead = sessions[passed:]
            due_ms = min(map(self._next_ms, (*kept, *ahead[:1])), default=MAX_WATERMARK)
            self._sessions.put(key, kept + ahead, due_ms)
        due.sort(key=itemgetter(0, 1, 2, 3))
        for instant, _, start, goes, key, end, value in due:
            if goes:
                self._clean_up(key, TimeWindow(start, end))
            else:
                self._emit(key, start, end, value, instant)

    def _emit(self, key: CanonicalKey, start: int, end: int, value: Any, stamp: int) -> None:
        if value is not None and self._result is not None:
            value = self._result(value)
        if value is None:
            return
        if self.function is None:
            self.outputs.main.collector.add(value, stamp)
            return
        window = TimeWindow(start, end)
        self._enter(key, window)
        self.collect(self._call(self.state.raw_key, window, self.window_context, [value]), stamp)

    def _clean_up(self, key: CanonicalKey, window: TimeWindow) -> None:
        assert self._clear is not None
        self._enter(key, window)
        self._clear(self.window_context)

    def _enter(self, key: CanonicalKey, window: TimeWindow) -> None:
        self.state.key, self.state.raw_key = key, raw_key(key)
        self.enter_window(window)
