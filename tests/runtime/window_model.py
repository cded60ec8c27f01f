"""Event-time windows in their plainest form, and the program that they are compared with.

A state of the model is a value, so that many of them can be tried: see ``test_window_channels.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import AggregateFunction, DataStream, ProcessFunction, ProcessWindowFunction
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

from .support import At, note

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


@dataclass(frozen=True)
class Case:
    """``slide`` None: sessions of gap ``size``; with ``dynamic`` longer for odd numbers."""

    size: int
    slide: int | None
    offset: int
    lateness: int
    contents: str  # what the window keeps
    plain: bool = False  # no window function: what is kept comes out itself
    dynamic: bool = False
    combined: bool = False  # aggregated before the exchange too

    @property
    def options(self) -> dict[str, str]:
        """For ``environment``."""
        return {"firesteel_window_pre-aggregation": str(self.combined).lower()}

    @property
    def is_bare(self) -> bool:
        """Nothing tells the window of a result."""
        return self.plain and self.contents != "list"


@st.composite
def cases(draw: st.DrawFn, plain: st.SearchStrategy[bool] | None = None) -> Case:
    size = draw(st.integers(1, 12))
    slide = draw(st.sampled_from([None, size, None, size, 1, 2, 3, 5, 8]))
    offset = 0 if slide is None else draw(st.integers(0, slide - 1))
    lateness = draw(st.sampled_from([0, 0, 0, 1, 5, 100]))
    contents = draw(st.sampled_from(["list", "reduce", "reduce", "aggregate", "aggregate"]))
    is_plain = draw(st.booleans() if plain is None else plain)
    return Case(size, slide, offset, lateness, contents, is_plain, draw(st.booleans()), draw(st.booleans()))


# ---- the model


class Window(NamedTuple):
    key: Any
    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Windows:
    """What has come out, and the windows in flight."""

    case: Case
    fired: tuple[Window, ...] = ()
    late: tuple[tuple[Any, int], ...] = ()
    open: frozenset[Window] = frozenset()
    quiet: frozenset[Window] = frozenset()  # fired before a restore, and no element came since

    def element(self, key: Any, number: int, ts: int, watermark: int) -> Windows:
        state, taken = self, False
        for start, end in _places(ts, number, self.case):
            part_of = [w for w in state.open if w.key == key and self._same(w, start, end)]
            start, end = min([start, *(w.start for w in part_of)]), max([end, *(w.end for w in part_of)])
            if end - 1 + self.case.lateness <= watermark:
                continue
            numbers = sorted([number, *(n for w in part_of for n in w.numbers)])
            window, taken = Window(key, start, end, tuple(numbers)), True
            state = replace(state, open=state.open - {*part_of} | {window})
            if end - 1 <= watermark:
                state = state._with_fired([window])
        if not taken and ts + self.case.lateness <= watermark:
            state = replace(state, late=tuple(sorted((*state.late, (key, number)))))
        return state

    def _same(self, window: Window, start: int, end: int) -> bool:
        if self.case.slide is None:
            return window.start <= end and window.end >= start
        return window.start == start

    def watermark(self, before: int, now: int) -> Windows:
        state = self._with_fired(w for w in self.open - self.quiet if before < w.end - 1 <= now)
        kept = frozenset(w for w in self.open if w.end - 1 + self.case.lateness > now)
        return replace(state, open=kept)

    def restored(self, watermark: int, lateness: int) -> Windows:
        """From a savepoint that was taken at ``watermark``: event time begins anew."""
        has_fired = frozenset(w for w in self.open if w.end - 1 <= watermark)
        return replace(
            self, case=replace(self.case, lateness=lateness), quiet=self.quiet & self.open | has_fired
        )

    def _with_fired(self, windows: Iterable[Window]) -> Windows:
        return replace(self, fired=tuple(sorted((*self.fired, *windows))))


def _places(ts: int, number: int, case: Case) -> Iterator[tuple[int, int]]:
    if case.slide is None:
        yield ts, ts + (gap_after(number, case.size) if case.dynamic else case.size)
        return
    for start in range(ts - case.size, ts + 1):
        if (start - case.offset) % case.slide == 0 and start <= ts < start + case.size:
            yield start, start + case.size


def gap_after(number: int, size: int) -> int:
    return size + 3 * (number % 2)


# ---- the program


class Gather(AggregateFunction):
    """The numbers of a window, as they were added and merged."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: At, accumulator: list[int]) -> list[int]:
        accumulator.append(value.value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        a += b
        return a


def append(a: At, b: At) -> At:
    """Reduces: the numbers in the order in which they were put together."""
    return At(a.ts, (a.value[0], *numbers_of(a), *numbers_of(b)))


def numbers_of(kept: Any) -> list[int]:
    return list(kept.value[1:] if isinstance(kept, At) else kept)


class Firing(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Window]:
        window = context.window()
        yield Window(key, window.start, window.end, tuple(n for e in elements for n in numbers_of(e)))

    def clear(self, context: Any) -> None:
        note("cleared", (context.window().start, context.window().end, context.current_watermark()))


class WithTime(ProcessFunction):
    """(kind, result, timestamp)"""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield self.kind, value, ctx.timestamp()


class Gap(SessionWindowTimeGapExtractor):
    def __init__(self, size: int) -> None:
        self.size = size

    def extract(self, element: At) -> int:
        return gap_after(element.value[1], self.size)


def windows_of(stream: DataStream, case: Case) -> DataStream:
    """All that comes out for records with ``(key, number)``, each with its kind and timestamp."""
    windowed = stream.key_by(lambda r: r.value[0]).window(_assigner(case)).allowed_lateness(case.lateness)
    windowed = windowed.side_output_late_data(LATE)
    match case.contents:
        case "reduce":
            main = windowed.reduce(append) if case.plain else windowed.reduce(append, Firing())
        case "aggregate":
            main = windowed.aggregate(Gather()) if case.plain else windowed.aggregate(Gather(), Firing())
        case _:
            main = windowed.process(Firing())
    late = main.get_side_output(LATE).process(WithTime("late"))
    return main.process(WithTime("fired")).union(late)


def _assigner(case: Case) -> Any:
    if case.slide is None:
        if case.dynamic:
            return EventTimeSessionWindows.with_dynamic_gap(Gap(case.size))
        return EventTimeSessionWindows.with_gap(Time.milliseconds(case.size))
    if case.slide == case.size:
        return TumblingEventTimeWindows.of(Time.milliseconds(case.size), Time.milliseconds(case.offset))
    return SlidingEventTimeWindows.of(*map(Time.milliseconds, (case.size, case.slide, case.offset)))


def counted(results: list[Any], case: Case) -> tuple[Counter[Any], Counter[Any]]:
    """What the model says of the windows that fired, and of the late elements."""
    fired = [value for kind, value, _ in results if kind == "fired"]
    return (
        Counter(tuple(sorted(numbers_of(value))) for value in fired)
        if case.is_bare
        else Counter(value._replace(numbers=tuple(sorted(value.numbers))) for value in fired),
        Counter(value.value for kind, value, _ in results if kind == "late"),
    )
