"""Windows: exact inputs and outputs, the cases that are got wrong first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import AggregateFunction, DataStream, ProcessWindowFunction, WindowFunction
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeEvictor,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

from .support import At, Probe, collect, environment, local_platform, note, notes, punctuated

TUMBLING_5S = TumblingEventTimeWindows.of(Time.milliseconds(5000))
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


@pytest.fixture(autouse=True)
def _here() -> Iterator[None]:
    with local_platform():
        yield


@pytest.fixture(params=[1, 3, None])
def epoch_records(request: pytest.FixtureRequest) -> Any:
    return request.param


def ms(n: int) -> Time:
    return Time.milliseconds(n)


def W(watermark: int) -> At:
    """A watermark alone: it rides on a record that the program drops."""
    return At(-(10**6), None, watermark)


def elements(epoch_records: int | None, *records: At, parallelism: int = 1) -> DataStream:
    env = environment(parallelism, epoch_records=epoch_records)
    stream = env.from_collection(list(records)).assign_timestamps_and_watermarks(punctuated())
    return stream.filter(lambda r: r.value is not None)


def keyed(epoch_records: int | None, *records: At) -> Any:
    return elements(epoch_records, *records).key_by(lambda r: "k")


class Contents(ProcessWindowFunction):
    """(start, end, values) of each firing."""

    def process(self, key: Any, context: Any, elements: Iterable[At]) -> Iterator[Any]:
        window = context.window()
        yield window.start, window.end, [e.value for e in elements]


class JustContents(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[At]) -> Iterator[Any]:
        yield [e.value for e in inputs]


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: At, accumulator: int) -> int:
        return accumulator + value.value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


# ---- the end of a window is outside of it


def stamped(stream: DataStream) -> list[Any]:
    """(value, timestamp) of each record."""
    return [(value, timestamp) for value, timestamp, _ in collect(stream.process(Probe()))]


EDGES = (At(1000, 1), At(4999, 2), At(5000, 4), W(4998), At(20_000, 8), W(4999), W(9999))


@pytest.mark.row("T03")
def test_window_end_is_exclusive_and_results_have_the_last_instant(epoch_records: int | None) -> None:
    stream = keyed(epoch_records, *EDGES).window(TUMBLING_5S).aggregate(Sum())
    assert stamped(stream) == [(3, 4999), (4, 9999), (8, 24_999)]


@pytest.mark.row("S-WIN-31")
def test_a_window_stacked_on_another_fires_at_the_same_watermark(epoch_records: int | None) -> None:
    stream = keyed(epoch_records, *EDGES).window(TUMBLING_5S).aggregate(Sum())
    stacked = stream.key_by(lambda v: 0).window(TUMBLING_5S).reduce(lambda a, b: a + b)
    assert stamped(stacked) == [(3, 4999), (4, 9999), (8, 24_999)]


# ---- late elements: fired again, or to the side output


@pytest.mark.row("S-TIME-21", "S-WIN-13", "S-WIN-22", "T04")
def test_late_elements_fire_again_with_all_contents(epoch_records: int | None) -> None:
    stream = (
        keyed(
            epoch_records,
            At(1000, "a"),
            W(4999),
            At(2000, "b"),
            At(3000, "c"),
            W(6998),
            At(100, "d"),
            W(6999),
            At(200, "e"),
        )
        .window(TUMBLING_5S)
        .allowed_lateness(2000)
        .side_output_late_data(LATE)
        .apply(JustContents())
    )
    late = stream.get_side_output(LATE).map(lambda r: ["late", r.value])
    assert collect(stream.union(late)) == [
        ["a"],
        ["a", "b"],
        ["a", "b", "c"],
        ["a", "b", "c", "d"],
        ["late", "e"],
    ]


@pytest.mark.parametrize(
    ("assigner", "records", "expected"),
    [
        (TumblingEventTimeWindows.of(ms(10)), [W(7), At(3, "x")], [(0, 10, ["x"])]),
        (
            SlidingEventTimeWindows.of(ms(10), ms(5)),
            [W(12), At(7, "y")],
            [(5, 15, ["y"])],
        ),
        (TumblingEventTimeWindows.of(ms(10)), [W(9), At(3, "z")], ["late z"]),
    ],
)
@pytest.mark.row("S-TIME-21", "S-WIN-23", "T05")
def test_only_what_no_window_takes_is_late(
    assigner: Any, records: list[At], expected: list[Any], epoch_records: int | None
) -> None:
    stream = keyed(epoch_records, *records).window(assigner).side_output_late_data(LATE).process(Contents())
    late = stream.get_side_output(LATE).map(lambda r: f"late {r.value}")
    assert collect(stream.union(late)) == expected


@pytest.mark.parametrize("aggregated", [True, False])
@pytest.mark.row("S-WIN-24", "S-METR-08")
def test_dropped_late_records_are_counted(aggregated: bool) -> None:
    windowed = keyed(None, W(9), At(3, 1), At(4, 1), At(12, 1)).window(TumblingEventTimeWindows.of(ms(10)))
    stream = windowed.aggregate(Sum()) if aggregated else windowed.process(Contents())
    stream.print()
    accumulators = stream.get_execution_environment().execute().get_all_accumulator_results()
    assert accumulators["TumblingEventTimeWindows.numLateRecordsDropped"] == 2


# ---- windows that slide


@pytest.mark.parametrize(
    ("assigner", "ts", "starts"),
    [
        (TumblingEventTimeWindows.of(ms(5)), -1, [-5]),
        (TumblingEventTimeWindows.of(ms(5), ms(2)), 7, [7]),
        (TumblingEventTimeWindows.of(ms(5), ms(2)), 1, [-3]),
        (SlidingEventTimeWindows.of(ms(10), ms(5)), 7, [0, 5]),
        (SlidingEventTimeWindows.of(ms(10), ms(5), ms(2)), 11, [2, 7]),
        (SlidingEventTimeWindows.of(ms(10), ms(3)), 10, [3, 6, 9]),
        (SlidingEventTimeWindows.of(ms(10), ms(3)), 9, [0, 3, 6, 9]),
        (SlidingEventTimeWindows.of(ms(2), ms(5)), 3, []),
        (SlidingEventTimeWindows.of(ms(2), ms(5)), 6, [5]),
    ],
)
@pytest.mark.parametrize("aggregated", [True, False])
@pytest.mark.row("S-WIN-09", "T06")
def test_windows_align_to_the_epoch(assigner: Any, ts: int, starts: list[int], aggregated: bool) -> None:
    class Start(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Iterator[int]:
            yield context.window().start

    windowed = keyed(None, At(ts, 1)).window(assigner)
    stream = windowed.aggregate(Sum(), Start()) if aggregated else windowed.process(Start())
    assert collect(stream) == starts


# ---- sessions


SESSION_10 = EventTimeSessionWindows.with_gap(ms(10))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([At(0, "a"), At(10, "b")], [(0, 20, ["a", "b"])]),
        ([At(0, "a"), At(11, "b")], [(0, 10, ["a"]), (11, 21, ["b"])]),
        ([At(0, "a"), At(15, "b"), At(8, "c"), W(9), W(24)], [(0, 25, ["a", "b", "c"])]),
        ([At(0, "a"), At(8, "b"), W(15), At(2, "c")], [(0, 18, ["a", "b", "c"])]),
        (
            [At(0, "a"), W(9), At(8, "late but bridging"), W(17)],
            [(0, 10, ["a"]), (8, 18, ["late but bridging"])],
        ),
    ],
)
@pytest.mark.row("S-WIN-05", "T07")
def test_sessions_merge(records: list[At], expected: list[Any], epoch_records: int | None) -> None:
    got = collect(keyed(epoch_records, *records).window(SESSION_10).process(Contents()))
    assert [(s, e, sorted(v)) for s, e, v in got] == expected


def test_a_session_that_is_late_goes_to_the_side_output(epoch_records: int | None) -> None:
    stream = (
        keyed(epoch_records, At(0, 1), W(30), At(5, 2), At(25, 4))
        .window(SESSION_10)
        .side_output_late_data(LATE)
        .aggregate(Sum())
    )
    late = stream.get_side_output(LATE).map(lambda r: f"late {r.value}")
    assert sorted(map(str, collect(stream.union(late)))) == ["1", "4", "late 2"]


@pytest.mark.row("T07")
def test_merging_sessions_merge_accumulators_and_trigger_state(epoch_records: int | None) -> None:
    records = [At(0, 1), At(20, 2), At(40, 4), At(10, 8), At(30, 16), At(100, 32)]
    stream = keyed(epoch_records, *records).window(SESSION_10).aggregate(Sum())
    assert collect(stream) == [31, 32]
    counted = keyed(epoch_records, *records).window(SESSION_10).trigger(CountTrigger.of(4)).aggregate(Sum())
    # counts merge: 1, 1, 1, then the element that bridges the first two makes 3, the next one 5
    assert collect(counted) == [31]


@pytest.mark.row("S-WIN-06")
def test_dynamic_gaps(epoch_records: int | None) -> None:
    class Gap(SessionWindowTimeGapExtractor):
        def extract(self, element: At) -> int:
            return int(element.value[1])

    def run(a_gap: int) -> Any:
        records = [At(0, ("a", a_gap)), At(6, ("b", 10))]
        windowed = keyed(epoch_records, *records).window(EventTimeSessionWindows.with_dynamic_gap(Gap()))
        return [(s, e, [v[0] for v in values]) for s, e, values in collect(windowed.process(Contents()))]

    assert run(5) == [(0, 5, ["a"]), (6, 16, ["b"])]
    assert run(10) == [(0, 16, ["a", "b"])]


# ---- triggers


def in_one_window(epoch_records: int | None, trigger: Any, values: Iterable[int]) -> Any:
    windowed = keyed(epoch_records, *[At(v, v) for v in values]).window(GlobalWindows.create())
    return collect(windowed.trigger(trigger).apply(JustContents()))


@pytest.mark.row("S-WIN-07", "S-WIN-15", "S-WIN-16", "T08")
def test_count_trigger_does_not_purge(epoch_records: int | None) -> None:
    assert in_one_window(epoch_records, CountTrigger.of(2), [1, 2, 3, 4]) == [[1, 2], [1, 2, 3, 4]]
    purging = PurgingTrigger.of(CountTrigger.of(2))
    assert in_one_window(epoch_records, purging, [1, 2, 3, 4, 5]) == [[1, 2], [3, 4]]


@pytest.mark.row("S-WIN-08", "T08")
def test_count_windows(epoch_records: int | None) -> None:
    stream = keyed(epoch_records, *[At(v, v) for v in range(1, 7)])
    assert collect(stream.count_window(3).apply(JustContents())) == [[1, 2, 3], [4, 5, 6]]
    five = keyed(epoch_records, *[At(v, v) for v in range(1, 6)])
    assert collect(five.count_window(3).apply(JustContents())) == [[1, 2, 3]], "leftovers never fire"
    assert collect(stream.count_window(4).apply(JustContents())) == [[1, 2, 3, 4]]
    # as PyFlink, and not as Java
    assert collect(stream.count_window(3, 2).apply(JustContents())) == [[1, 2, 3], [3, 4, 5]]


@pytest.mark.row("S-WIN-19")
def test_a_trigger_replaces_the_default(epoch_records: int | None) -> None:
    windowed = keyed(epoch_records, At(1, 1), At(2, 2), W(4999)).window(TUMBLING_5S)
    assert collect(windowed.trigger(CountTrigger.of(3)).apply(JustContents())) == []


@pytest.mark.row("S-WIN-07")
def test_global_windows_fire_only_by_a_trigger() -> None:
    assert collect(keyed(None, At(1, 1)).window(GlobalWindows.create()).apply(JustContents())) == []


@pytest.mark.row("S-WIN-37")
def test_counts_are_by_key(epoch_records: int | None) -> None:
    records = [At(i, v) for i, v in enumerate(["a1", "b1", "a2", "c1"])]
    stream = elements(epoch_records, *records).key_by(lambda r: r.value[0])
    assert collect(stream.count_window(2).apply(JustContents())) == [["a1", "a2"]]


# ---- evictors


@pytest.mark.row("S-WIN-20", "T09")
def test_evictors_cut_relative_to_the_newest_element(epoch_records: int | None) -> None:
    windowed = keyed(epoch_records, At(1, 1), At(5, 5), At(10, 10)).window(
        TumblingEventTimeWindows.of(ms(20))
    )
    assert collect(windowed.evictor(TimeEvictor.of(ms(5))).apply(JustContents())) == [[10]]


@pytest.mark.row("S-WIN-21", "T09")
def test_count_window_with_evictor_as_in_java(epoch_records: int | None) -> None:
    windowed = keyed(epoch_records, *[At(v, v) for v in range(1, 10)]).window(GlobalWindows.create())
    stream = windowed.trigger(CountTrigger.of(3)).evictor(CountEvictor.of(2)).apply(JustContents())
    assert collect(stream) == [[2, 3], [5, 6], [8, 9]]


@pytest.mark.row("S-WIN-20", "T09")
def test_an_evictor_turns_off_incremental_aggregation(epoch_records: int | None) -> None:
    windowed = keyed(epoch_records, *[At(v, v) for v in (1, 7, 2, 3)]).window(GlobalWindows.create())
    evictor = DeltaEvictor.of(3.0, lambda a, b: abs(a.value - b.value))
    stream = windowed.trigger(CountTrigger.of(2)).evictor(evictor).aggregate(Sum())
    # [1, 7] keeps 7; [7, 2, 3] keeps 2 and 3
    assert collect(stream) == [7, 5]


# ---- what a window function is given


class Seen(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield context.window().start, [e.value if isinstance(e, At) else e for e in elements]


@pytest.mark.row("S-WIN-29", "T10")
def test_a_window_function_behind_reduce_gets_one_element(epoch_records: int | None) -> None:
    def add(a: At, b: At) -> At:
        return At(a.ts, a.value + b.value)

    stream = keyed(epoch_records, At(1, 1), At(2, 2), At(3, 3), W(4999), At(4, 4), At(5000, 5))
    got = collect(stream.window(TUMBLING_5S).reduce(add, Seen()))
    assert got == [(0, [6]), (5000, [5])]
    got = collect(stream.window(TUMBLING_5S).allowed_lateness(1000).reduce(add, Seen()))
    assert got == [(0, [6]), (0, [10]), (5000, [5])]


@pytest.mark.row("S-WIN-29", "T10")
def test_an_element_that_is_alone_is_not_reduced(epoch_records: int | None) -> None:
    """The window function sees [5], and the reduce function is never called."""
    windowed = keyed(epoch_records, At(5, 5)).window(TUMBLING_5S)
    assert collect(windowed.reduce(lambda a, b: note("called", a), Seen())) == [(0, [5])]
    assert notes["called"] == []


# ---- rows


@pytest.mark.row("S-WIN-18")
def test_continuous_trigger(epoch_records: int | None) -> None:
    windowed = keyed(epoch_records, At(500, "a"), *[W(t) for t in range(1999, 10_000, 1000)])
    windowed = windowed.window(TumblingEventTimeWindows.of(ms(10_000)))
    stream = windowed.trigger(ContinuousEventTimeTrigger.of(ms(2000))).apply(JustContents())
    assert [timestamp for _, timestamp in stamped(stream)] == [2000, 4000, 6000, 8000, 9999]


class EverySecondAndEnd(Trigger):
    def __init__(self) -> None:
        self.count = ValueStateDescriptor("n", Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        state = ctx.get_partitioned_state(self.count)
        n = (state.value() or 0) + 1
        state.update(n)
        return TriggerResult.FIRE if n % 2 == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Any) -> None: ...

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        ctx.get_partitioned_state(self.count).clear()


@pytest.mark.row("S-WIN-17")
def test_a_trigger_of_the_users(epoch_records: int | None) -> None:
    records = [At(v, v) for v in (1, 2, 3, 4, 5)]
    windowed = keyed(epoch_records, *records, W(4999)).window(TUMBLING_5S).trigger(EverySecondAndEnd())
    assert collect(windowed.apply(JustContents())) == [[1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5]]


class Firings(ProcessWindowFunction):
    """Counts its firings in per-window state, those of the key in global state; tells of clear."""

    mine = ValueStateDescriptor("n", Types.LONG())

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        mine, ours = context.window_state().get_state(self.mine), context.global_state().get_state(self.mine)
        for state in (mine, ours):
            state.update((state.value() or 0) + 1)
        yield context.window().start, mine.value(), ours.value(), context.current_watermark()

    def clear(self, context: Any) -> None:
        state = context.window_state().get_state(self.mine)
        state.clear()
        cleared = context.global_state().get_state(ValueStateDescriptor("cleared", Types.LONG()))
        cleared.update((cleared.value() or 0) + 1)


@pytest.mark.parametrize("aggregated", [True, False])
def test_state_of_the_window_and_of_the_key(aggregated: bool, epoch_records: int | None) -> None:
    windowed = keyed(epoch_records, At(1, 1), W(4999), At(2, 2), At(6000, 3), W(9999)).window(TUMBLING_5S)
    if aggregated:
        assert collect(windowed.aggregate(Sum(), Firings())) == [(0, 1, 1, 4999), (5000, 1, 2, 9999)]
    else:
        got = collect(windowed.allowed_lateness(2000).process(Firings()))
        assert got == [(0, 1, 1, 4999), (0, 2, 2, 4999), (5000, 1, 3, 9999)]


@pytest.mark.row("S-WIN-16")
def test_purging_event_time_trigger_drops_contents_of_late_firings(epoch_records: int | None) -> None:
    windowed = keyed(epoch_records, At(1, 1), W(4999), At(2, 2)).window(TUMBLING_5S).allowed_lateness(2000)
    stream = windowed.trigger(PurgingTrigger.of(EventTimeTrigger.create())).apply(JustContents())
    assert collect(stream) == [[1], [2]]


def test_side_outputs_of_a_window_function(epoch_records: int | None) -> None:
    tag = OutputTag("starts", Types.PICKLED_BYTE_ARRAY())

    class Both(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Iterable[At]) -> Iterator[Any]:
            yield sum(e.value for e in elements)
            yield tag, context.window().start

    stream = keyed(epoch_records, At(1, 1), At(5001, 2), At(2, 4)).window(TUMBLING_5S).process(Both())
    assert sorted(collect(stream.union(stream.get_side_output(tag)))) == [0, 2, 5, 5000]
