"""Watermarks: how they arise, travel and end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from firesteel.common.clock import ManualClock
from firesteel.common.errors import JobExecutionError, ProgramError
from firesteel.common.time import Duration
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import IngestionTimeAssigner, WatermarkOutput, WatermarkStrategy
from firesteel.connectors.base import Chunk, ReadRange, SourceReader
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import ListStateDescriptor
from firesteel.testing.local_platform import LocalEngine
from tests.waiting import patience

from .support import (
    MAX,
    NO_TIMESTAMP,
    AfterEach,
    At,
    LiveSource,
    Probe,
    SplitsSource,
    SteppedClock,
    collect,
    environment,
    feed,
    local_platform,
    note,
    notes,
    punctuated,
    take_ts,
)

LATE = OutputTag("late")


class Tumbling(KeyedProcessFunction):
    """A tumbling event-time window over ``At`` records by state and timers: (start, sorted values) at its
    end; what comes after the watermark has passed the window's last instant goes to the late output."""

    def __init__(self, size: int, offset: int = 0) -> None:
        self.size, self.offset = size, offset

    def open(self, runtime_context: RuntimeContext) -> None:
        self.values = runtime_context.get_list_state(
            ListStateDescriptor("values", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        start = value.ts - (value.ts - self.offset) % self.size
        last = start + self.size - 1
        if last <= ctx.timer_service().current_watermark():
            yield LATE, value.ts
            return
        self.values.add((last, value.ts))
        ctx.timer_service().register_event_time_timer(last)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        everything = list(self.values.get())
        self.values.update([v for v in everything if v[0] != timestamp])
        yield timestamp + 1 - self.size, sorted(v for last, v in everything if last == timestamp)


def windows(stream: DataStream, size: int, offset: int = 0) -> tuple[list[tuple[int, list[int]]], list[int]]:
    """The windows in the order they fired, and what was late."""
    fired = stream.key_by(lambda r: 0).process(Tumbling(size, offset))
    late = fired.get_side_output(LATE).map(lambda ts: ("late", ts))
    out = collect(fired.map(lambda w: ("window", w)).union(late))
    return [w for kind, w in out if kind == "window"], [w for kind, w in out if kind == "late"]


def bounded(bound_ms: int) -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(bound_ms)
    ).with_timestamp_assigner(take_ts)


@pytest.mark.row("S-TIME-09")
def test_bounded_out_of_orderness_is_the_highest_timestamp_less_the_bound_less_one() -> None:
    """With an epoch for each record, because the periodic emission comes at the end of an epoch."""
    env = environment(1, epoch_records=1)
    times = [309999, 310000, 305000, 0]
    stream = env.from_collection([At(t) for t in times]).assign_timestamps_and_watermarks(bounded(10_000))
    seen = collect(stream.process(Probe()))
    # Each record is judged against the watermark that was out before it.
    assert [w for _, _, w in seen] == [NO_TIMESTAMP, 299998, 299999, 299999]
    assert [t for _, t, _ in seen] == times


@pytest.mark.row("T02")
def test_a_window_fires_when_the_bound_has_passed_and_not_before() -> None:
    for last, expected in ((309999, [299998]), (310000, [299998, 299999])):
        env = environment(1, epoch_records=1)
        records = [At(100), At(309999), At(last), At(1)]  # the last one shows what the watermark has closed
        stream = env.from_collection(records).assign_timestamps_and_watermarks(bounded(10_000))
        fired, late = windows(stream, 300_000)
        assert (late == [1]) is (expected[-1] >= 299_999)
        assert fired[0] == (0, [100] if late else [1, 100])


@pytest.mark.row("T02")
def test_a_record_between_two_emissions_is_judged_against_the_old_watermark() -> None:
    env = environment(1)  # one epoch: no periodic emission between the records
    stream = env.from_collection([At(310_000), At(5)]).assign_timestamps_and_watermarks(bounded(0))
    assert [w for _, _, w in collect(stream.process(Probe()))] == [NO_TIMESTAMP, NO_TIMESTAMP]


@pytest.mark.row("S-TIME-15")
def test_monotonous_timestamps_is_a_bound_of_zero() -> None:
    env = environment(1, epoch_records=1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(take_ts)
    stream = env.from_collection([At(5), At(6)]).assign_timestamps_and_watermarks(strategy)
    assert [w for _, _, w in collect(stream.process(Probe()))] == [NO_TIMESTAMP, 4]


@pytest.mark.row("S-TIME-15")
def test_no_watermarks_gives_only_the_last_one() -> None:
    env = environment(1, epoch_records=1)
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(take_ts)
    stream = env.from_collection([At(5), At(100), At(7)]).assign_timestamps_and_watermarks(strategy)
    assert [w for _, _, w in collect(stream.process(Probe()))] == [NO_TIMESTAMP] * 3
    stream = env.from_collection([At(5), At(100), At(7)]).assign_timestamps_and_watermarks(strategy)
    assert windows(stream, 10) == ([(0, [5, 7]), (100, [100])], [])


@pytest.mark.parametrize("epoch_records", [1, 7, 1000])
@pytest.mark.row("S-TIME-06", "X8")
def test_with_a_watermark_for_each_record_the_cut_into_epochs_changes_nothing(epoch_records: int) -> None:
    """Tumbling 5, bound 0, input 1, 6, 2: W5 follows 6, so 2 is late however the epochs are cut."""
    env = environment(1, epoch_records=epoch_records)
    stream = env.from_collection([At(1), At(6), At(2)])
    stream = stream.assign_timestamps_and_watermarks(punctuated(AfterEach))
    assert windows(stream, 5) == ([(0, [1]), (5, [6])], [2])


@pytest.mark.row("S-TIME-05")
def test_an_element_at_the_watermark_is_late_and_one_above_is_not() -> None:
    """W(t) says that nothing at or below t is expected."""
    env = environment(1)
    stream = env.from_collection([At(0, watermark=9), At(9), At(10)])
    assert windows(stream.assign_timestamps_and_watermarks(punctuated()), 1) == ([(0, [0]), (10, [10])], [9])


@pytest.mark.parametrize(("bound", "expected"), [(2, ([1, 2, 3, 4, 5], [])), (0, ([1, 2, 3], [4, 5]))])
@pytest.mark.row("S-TIME-17")
def test_the_disorder_example(bound: int, expected: tuple[list[int], list[int]]) -> None:
    """Window [1, 6), arrivals 1, 2, 3, 6, 4, 5, 8."""
    env = environment(1, epoch_records=1)
    stream = env.from_collection([At(t) for t in (1, 2, 3, 6, 4, 5, 8)])
    fired, late = windows(stream.assign_timestamps_and_watermarks(bounded(bound)), 5, offset=1)
    assert (fired[0], late) == ((1, expected[0]), expected[1])
    assert fired[1:] == [(6, [6, 8])]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.row("S-TIME-01")
def test_disorder_within_the_bound_changes_nothing(seed: int) -> None:
    """Records in any order within the bound give what they give in order."""
    chance = random.Random(seed)
    times = [chance.randrange(0, 400) for _ in range(200)]
    arrivals = sorted(times, key=lambda t: t + chance.randrange(0, 50))
    results = []
    for order, epoch_records in ((sorted(times), None), (arrivals, 7), (arrivals, 1)):
        env = environment(1, epoch_records=epoch_records)
        stream = env.from_collection([At(t) for t in order]).assign_timestamps_and_watermarks(bounded(50))
        results.append(windows(stream, 25))
    assert results[1:] == [results[0]] * 2
    assert results[0][1] == []


@pytest.mark.row("S-TIME-14")
def test_a_generator_for_each_split_and_the_minimum_over_them() -> None:
    """Two splits, each in order, far apart: nothing is late although the merge is not in order."""
    one = [(At(t), t) for t in range(0, 100, 10)]
    two = [(At(t), t) for t in range(1000, 1100, 10)]
    env = environment(1, epoch_records=2)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(SplitsSource(two, one), strategy, "splits")
    fired, late = windows(stream, 50)
    assert late == []
    assert fired == [(0, [0, 10, 20, 30, 40]), (50, [50, 60, 70, 80, 90])] + [
        (s, list(range(s, s + 50, 10))) for s in (1000, 1050)
    ]
    merged = env.from_source(SplitsSource(two, one), WatermarkStrategy.no_watermarks(), "splits")
    in_the_middle = merged.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
    assert windows(in_the_middle, 50)[1] != [], "the same input is late where there is one generator for both"


class Counted(SourceReader):
    """Counts the ranges that are being read."""

    def __init__(self, reader: SourceReader) -> None:
        self.reader = reader

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        note("open")
        note("at once", len(notes["open"]))
        yield from self.reader.read(range_)
        notes["open"].pop()


class CountedSource(SplitsSource):
    def create_reader(self) -> SourceReader:
        return Counted(super().create_reader())


def test_of_many_splits_a_few_are_read_at_once() -> None:
    """A directory may hold thousands of files; each that is being read is open."""
    splits = [[((s, i), None) for i in range(10)] for s in range(100)]
    env = environment(1)
    out = collect(env.from_source(CountedSource(*splits), WatermarkStrategy.no_watermarks(), "many"))
    assert sorted(out) == [value for split in splits for value, _ in split]
    assert max(notes["at once"]) == 16


@pytest.mark.row("S-TIME-20")
def test_an_assigner_in_mid_stream_replaces_the_watermarks_before_it_and_keeps_the_last() -> None:
    env = environment(1, epoch_records=1)
    upstream = env.from_collection([At(5, watermark=1000), At(6, watermark=2000)])
    upstream = upstream.assign_timestamps_and_watermarks(punctuated())
    mine = upstream.assign_timestamps_and_watermarks(bounded(0))
    assert [w for _, _, w in collect(mine.process(Probe()))] == [NO_TIMESTAMP, 4]
    silent = upstream.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
    assert windows(silent, 10) == ([(0, [5, 6])], []), "the last watermark goes through"


@pytest.mark.row("S-TIME-10")
def test_an_assigner_sees_the_timestamp_that_the_record_has() -> None:
    env = environment(1)
    source = SplitsSource([("a", 7), ("b", None)])
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(
        lambda value, ts: ts if ts > 0 else 99
    )
    stream = env.from_source(source, strategy, "stamped").process(Probe())
    assert [t for _, t, _ in collect(stream)] == [7, 99]


@pytest.mark.parametrize("wrong", ["5", None, 2**63, float("nan"), float("inf"), b"5"])
@pytest.mark.parametrize("where", ["assigner", "generator", "supplier"])
def test_what_is_no_instant_is_refused_with_what_it_was(wrong: Any, where: str) -> None:
    class Says(AfterEach):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            output.emit_watermark(wrong)

    strategy = {
        "assigner": WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda v, t: wrong),  # type: ignore[arg-type, return-value]
        "generator": WatermarkStrategy.for_generator(Says),
        "supplier": WatermarkStrategy.for_generator(lambda: wrong),
    }[where]
    with pytest.raises(JobExecutionError) as failed:
        collect(environment(1).from_collection([1]).assign_timestamps_and_watermarks(strategy).name("here"))
    assert isinstance(failed.value.__cause__, ProgramError)
    assert repr(wrong) in str(failed.value.__cause__)
    assert failed.value.operator == "here"


def test_any_number_is_a_timestamp_and_loses_its_fraction() -> None:
    """As in PyFlink, where an assigner may return ``time.time() * 1000``."""

    class Index:
        def __index__(self) -> int:
            return 7

    numbers = [1.5, -1.5, True, Decimal("3.9"), 4, Index()]
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda v, t: numbers[v])  # type: ignore[arg-type]
    stream = environment(1).from_collection(range(6)).assign_timestamps_and_watermarks(strategy)
    stamps = [stamp for _, stamp, _ in collect(stream.process(Probe()))]
    assert repr(stamps) == "[1, -1, 1, 3, 4, 7]"


def test_an_assigner_survives_maps_filters_and_exchanges() -> None:
    env = environment(2)
    stream = env.from_collection([At(t, t) for t in range(10)])
    stream = stream.assign_timestamps_and_watermarks(punctuated()).map(lambda r: r.value)
    stream = stream.flat_map(lambda v: [v, -v]).filter(lambda v: v % 3 == 0).rebalance()
    assert sorted((v, t) for v, t, _ in collect(stream.process(Probe()))) == [
        (-9, 9), (-6, 6), (-3, 3), (0, 0), (0, 0), (3, 3), (6, 6), (9, 9),
    ]  # fmt: skip


@pytest.mark.row("S-TIME-22")
def test_the_end_of_the_input_is_the_maximal_watermark() -> None:
    class AtTheEnd(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(MAX)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield timestamp, ctx.timer_service().current_watermark()

    env = environment(2)
    assert collect(env.from_collection([1]).key_by(lambda v: v).process(AtTheEnd())) == [(MAX, MAX)]


def test_a_watermark_never_goes_back_and_of_several_between_two_records_the_last_counts() -> None:
    class Wild(AfterEach):
        def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
            for w in (10, 30, 20):
                output.emit_watermark(event_timestamp + w)

    env = environment(1)
    stream = env.from_collection([At(0), At(-25), At(1)])
    stream = stream.assign_timestamps_and_watermarks(punctuated(Wild)).rebalance().process(Probe())
    assert [w for _, _, w in collect(stream)] == [NO_TIMESTAMP, 30, 30]


@pytest.mark.row("S-TIME-08")
def test_a_custom_generator_keeps_what_it_knows_from_epoch_to_epoch_in_fresh_processes() -> None:
    class Highest(AfterEach):
        def __init__(self) -> None:
            self.highest = 0

        def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
            self.highest = max(self.highest, event_timestamp)

        def on_periodic_emit(self, output: WatermarkOutput) -> None:
            output.emit_watermark(self.highest)

    with local_platform(lambda: LocalEngine(fresh_process=lambda: True)):
        env = environment(1, epoch_records=1)
        stream = env.from_collection([At(50), At(10), At(20)])
        stream = stream.assign_timestamps_and_watermarks(punctuated(Highest)).process(Probe())
        assert [w for _, _, w in collect(stream)] == [NO_TIMESTAMP, 50, 50]


@pytest.mark.parametrize(
    ("bound", "first_fired", "kept"),
    [(0, 10, 1), (2, 12, 2), (10, 20, 6)],
)
@pytest.mark.row("S-TIME-16")
def test_a_larger_bound_fires_later_and_keeps_more(bound: int, first_fired: int, kept: int) -> None:
    """Records at 0, 2, 4 ...; the first record that finds window [0, 10) closed, and how many
    records above that window had come by then."""
    env = environment(1, epoch_records=1)
    records = [At(t) for t in range(0, 60, 2)]
    stream = env.from_collection(records).assign_timestamps_and_watermarks(bounded(bound))
    found = [(t, w) for _, t, w in collect(stream.process(Probe()))]
    first = next(t for t, w in found if w >= 9)
    assert first == first_fired + 2, "the watermark of a record is seen by the next one"
    assert len([t for t, _ in found if 10 <= t < first]) == kept


def test_an_interval_of_zero_gives_no_periodic_watermarks() -> None:
    """As PyFlink: only the last one is left."""
    env = environment(1, epoch_records=1)
    env.get_config().set_auto_watermark_interval(0)
    stream = env.from_collection([At(5), At(6), At(7)]).assign_timestamps_and_watermarks(bounded(0))
    assert [w for _, _, w in collect(stream.process(Probe()))] == [NO_TIMESTAMP] * 3
    by_each = env.from_collection([At(5), At(6)]).assign_timestamps_and_watermarks(punctuated(AfterEach))
    assert [w for _, _, w in collect(by_each.process(Probe()))] == [NO_TIMESTAMP, 4], "punctuated ones go on"


@pytest.mark.row("S-TIME-24")
def test_an_interval_of_a_second_gives_one_watermark_for_each_second() -> None:
    """A record every 100 ms; all of one second find the watermark of the end of the last one."""
    with local_platform() as platform:
        clock = SteppedClock(0)
        env = environment(1, clock=clock)
        env.get_config().set_auto_watermark_interval(1_000)
        stream = env.from_source(LiveSource("s"), bounded(0), "live")
        stream.process(Probe()).map(lambda seen: note("watermarks", seen[2]))
        client = env.execute_async()
        clock.settle()
        for t in range(100, 3_500, 100):
            feed("s", (At(t), 0))
            clock.tick(100)
        watermarks = notes["watermarks"]
        assert watermarks == [NO_TIMESTAMP] * 10 + [999] * 10 + [1_999] * 10 + [2_999] * 4
        epochs = platform.engines[0].epochs
        for _ in range(20):
            clock.tick(100)
        assert platform.engines[0].epochs == epochs + 1, "what is left comes when the second is over"
        feed("s", (At(0), 0))
        clock.tick()
        assert watermarks[-1] == 3_399
        client.cancel().result(patience(10))


@pytest.mark.row("S-TIME-03")
def test_ingestion_time_is_when_a_record_is_read_and_never_goes_back() -> None:
    class MayBeSetBack(ManualClock):
        back_ms = 0

        def now_ms(self) -> int:
            return super().now_ms() - self.back_ms

        def wait_until(self, instant_ms: int, interrupt: Any = None) -> bool:
            return super().wait_until(instant_ms + self.back_ms, interrupt)

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(IngestionTimeAssigner())
    with local_platform(lambda: LocalEngine(fresh_process=lambda: True)):
        clock = MayBeSetBack(1_000)
        env = environment(2, clock=clock)
        stream = env.from_source(LiveSource("i", splits=2), strategy, "live")
        stream.process(Probe()).map(lambda seen: note("seen", seen))
        client = env.execute_async()
        for n in range(20):
            feed("i", ((n % 2, n), 12345), split=n % 2)
            clock.settle()
            clock.advance(200)
            clock.settle()
            clock.back_ms = 2_500 if n >= 9 else 0
        client.cancel().result(patience(10))
    seen = notes["seen"]
    for split in range(2):
        stamps = [t for (s, _), t, _ in seen if s == split]
        assert len(stamps) == 10
        assert stamps == sorted(stamps)
        assert stamps[-1] >= 2_500
        assert all(w < t for (s, _), t, w in seen), "nothing is late"
    assert [t for _, t, _ in seen[:3]] == [1_200, 1_400, 1_600]
