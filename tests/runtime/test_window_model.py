"""Windows over random inputs, cuts, failures and parallelism, against a model that recomputes everything.

The watermarks are punctuated and the source has one split, so invariant I1 promises one result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import AggregateFunction, ProcessWindowFunction
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from firesteel.testing.local_platform import LocalEngine

from .engines import FaultyEngine, TurnsEngine
from .support import MAX, NO_TIMESTAMP, At, collect, environment, local_platform, punctuated

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
Result = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """``slide`` None: sessions of gap ``size``."""

    size: int
    slide: int | None
    offset: int
    lateness: int
    aggregated: bool
    combined: bool  # aggregated before the exchange too


class Gather(AggregateFunction):
    """The sorted numbers of a window, so that the order of merging sessions does not show."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: At, accumulator: list[int]) -> list[int]:
        accumulator.append(value.value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return a + b


class Firing(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Result]:
        found = list(elements)
        numbers = found[0] if found and isinstance(found[0], list) else [e.value[1] for e in found]
        yield key, context.window().start, context.window().end, tuple(sorted(numbers))


# ---- the model


@dataclass
class OpenWindow:
    start: int
    end: int
    numbers: list[int] = field(default_factory=list)


def model(records: list[At], case: Case) -> tuple[Counter[Result], Counter[Any]]:
    fired: Counter[Result] = Counter()
    late: Counter[Any] = Counter()
    by_key: dict[Any, list[OpenWindow]] = defaultdict(list)
    watermark = NO_TIMESTAMP

    def fire(key: Any, window: OpenWindow) -> None:
        fired[key, window.start, window.end, tuple(sorted(window.numbers))] += 1

    def add(key: Any, number: int, start: int, end: int) -> bool:
        windows = by_key[key]
        if case.slide is None:
            touching = [w for w in windows if w.start <= end and w.end >= start]
            window = OpenWindow(
                min([start, *[w.start for w in touching]]), max([end, *[w.end for w in touching]])
            )
            window.numbers = [n for w in touching for n in w.numbers]
        else:
            touching = [w for w in windows if w.start == start]
            window = touching[0] if touching else OpenWindow(start, end)
        if window.end - 1 + case.lateness <= watermark:
            return False
        by_key[key] = [w for w in windows if w not in touching] + [window]
        window.numbers.append(number)
        if window.end - 1 <= watermark:
            fire(key, window)
        return True

    for record in [*records, At(0, None, MAX)]:
        if record.value is not None:
            key, number = record.value
            places = list(windows_of(record.ts, case))
            taken = [add(key, number, start, end) for start, end in places]
            if not any(taken) and record.ts + case.lateness <= watermark:
                late[record.value] += 1
        if record.watermark is not None and record.watermark > watermark:
            before, watermark = watermark, record.watermark
            for key, windows in by_key.items():
                for window in windows:
                    if before < window.end - 1 <= watermark:
                        fire(key, window)
                by_key[key] = [w for w in windows if w.end - 1 + case.lateness > watermark]
    return fired, late


def windows_of(ts: int, case: Case) -> Iterator[tuple[int, int]]:
    if case.slide is None:
        yield ts, ts + case.size
        return
    for start in range(ts - case.size, ts + 1):
        if (start - case.offset) % case.slide == 0 and start <= ts < start + case.size:
            yield start, start + case.size


# ---- the program


def run(records: list[At], case: Case, parallelism: int, epoch_records: int | None) -> Any:
    options = {"firesteel_window_pre-aggregation": str(case.combined).lower()}
    env = environment(parallelism, epoch_records=epoch_records, **options)
    source = env.from_collection(records).assign_timestamps_and_watermarks(punctuated()).set_parallelism(1)
    if case.slide is None:
        assigner: Any = EventTimeSessionWindows.with_gap(Time.milliseconds(case.size))
    elif case.slide == case.size:
        assigner = TumblingEventTimeWindows.of(Time.milliseconds(case.size), Time.milliseconds(case.offset))
    else:
        assigner = SlidingEventTimeWindows.of(*map(Time.milliseconds, (case.size, case.slide, case.offset)))
    windowed = source.key_by(lambda r: r.value[0]).window(assigner).allowed_lateness(case.lateness)
    windowed = windowed.side_output_late_data(LATE)
    main = windowed.aggregate(Gather(), Firing()) if case.aggregated else windowed.process(Firing())
    late = main.get_side_output(LATE).map(lambda r: ("late", r.value))
    results = collect(main.union(late))
    return (
        Counter(r for r in results if r[0] != "late"),
        Counter(r[1] for r in results if r[0] == "late"),
    )


@st.composite
def inputs(draw: st.DrawFn) -> list[At]:
    records = []
    ts = draw(st.integers(-30, 30))
    for _ in range(draw(st.integers(0, 25))):
        ts += draw(st.integers(-12, 12))
        watermark = draw(st.one_of(st.none(), st.none(), st.integers(ts - 15, ts + 3)))
        records.append(At(ts, (draw(st.sampled_from("abc")), draw(st.integers(0, 9))), watermark))
    return records


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.integers(1, 12))
    slide = draw(st.sampled_from([None, size, None, size, 1, 2, 3, 5, 8]))
    offset = 0 if slide is None else draw(st.integers(0, slide - 1))
    lateness = draw(st.sampled_from([0, 0, 0, 1, 5, 100]))
    return Case(size, slide, offset, lateness, draw(st.booleans()), draw(st.booleans()))


ENGINES: list[Callable[[], LocalEngine]] = [
    LocalEngine,
    lambda: TurnsEngine(2),
    lambda: FaultyEngine(7),
]


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    inputs(), cases(), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 5, None]), st.sampled_from(ENGINES)
)
def test_windows_are_those_of_the_model(
    records: list[At], case: Case, parallelism: int, epoch_records: int | None, engine: Any
) -> None:
    with local_platform(engine):
        assert run(records, case, parallelism, epoch_records) == model(records, case)
