"""Interval join: Flink's results, whatever the epochs and the processes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import JobExecutionError, ProgramError, UnsupportedFeatureError
from firesteel.common.time import Duration, Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
    RuntimeContext,
    RuntimeExecutionMode,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.runtime.batch import ACTIVE, IDLE
from firesteel.runtime.valve import WatermarkValve
from firesteel.testing import OperatorHarness, StreamRecord
from firesteel.testing.local_platform import LocalEngine
from tests.budget import examples

from .engines import FaultyEngine, TurnsEngine
from .support import At, Probe, collect, environment, local_platform, punctuated

LEFT_LATE, RIGHT_LATE = OutputTag("left late"), OutputTag("right late")


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right


def first(value: Any) -> Any:
    return value[0]


def join(
    lower: Any, upper: Any, exclusive: str = "", function: Any = None
) -> Callable[[DataStream, DataStream], DataStream]:
    """``exclusive``: "lower", "upper" or both."""

    def build(left: DataStream, right: DataStream) -> DataStream:
        joined = left.key_by(first).interval_join(right.key_by(first)).between(lower, upper)
        if "lower" in exclusive:
            joined = joined.lower_bound_exclusive()
        if "upper" in exclusive:
            joined = joined.upper_bound_exclusive()
        joined = joined.side_output_left_late_data(LEFT_LATE).side_output_right_late_data(RIGHT_LATE)
        return joined.process(function or Pair())

    return build


def harness(lower: Any, upper: Any, exclusive: str = "", **options: Any) -> OperatorHarness:
    build = join(lower, upper, exclusive, options.pop("function", None))
    return OperatorHarness(build, side_outputs=[LEFT_LATE, RIGHT_LATE], **options)


# ---- who joins whom


@pytest.mark.parametrize(
    ("exclusive", "partners"),
    [
        ("", [3, 4, 5, 6]),
        ("upper", [3, 4, 5]),
        ("lower", [4, 5, 6]),
        ("lower upper", [4, 5]),
    ],
)
@pytest.mark.parametrize("left_first", [True, False])
@pytest.mark.row("S-OPS-06", "S-OPS-07", "T22")
def test_bounds_are_inclusive_unless_they_are_declared_exclusive(
    exclusive: str, partners: list[int], left_first: bool
) -> None:
    h = harness(Time.milliseconds(-2), Time.milliseconds(1), exclusive)
    left, right = h.inputs
    if left_first:
        left.process_element(("k", "a"), 5)
    for stamp in (2, 3, 4, 5, 6, 7):
        right.process_element(("k", stamp), stamp)
    if not left_first:
        left.process_element(("k", "a"), 5)
    assert h.output == [StreamRecord((("k", "a"), ("k", b)), max(5, b)) for b in partners]


def test_records_of_other_keys_do_not_meet() -> None:
    h = harness(-10, 10)
    left, right = h.inputs
    for key in ("k", 1, 1.0, True, None):
        left.process_element((key, "l"), 1)
    right.process_element((1, "r"), 1)
    right.process_element(("l", "r"), 1)
    assert [repr(v) for v in h.values] == [repr(((1, "l"), (1, "r")))]


@pytest.mark.row("T22")
def test_the_context_tells_the_timestamps_of_both() -> None:
    class Stamps(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
            yield ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()

    h = harness(-10, 10, function=Stamps())
    left, right = h.inputs
    left.process_element(("k",), 5)
    right.process_element(("k",), 3)
    right.process_element(("k",), 9)
    left.process_element(("k",), 4)
    stamps = [(5, 3, 5), (5, 9, 9), (4, 3, 4), (4, 9, 9)]
    assert h.output == [StreamRecord(s, s[2]) for s in stamps]


def test_partners_come_by_timestamp_then_as_they_came() -> None:
    h = harness(-10, 10)
    left, right = h.inputs
    for number, stamp in enumerate([7, 3, 5, 3, 9, 5]):
        left.process_element(("k", number), stamp)
    right.process_element(("k", "r"), 6)
    assert [pair[0][1] for pair in h.values] == [1, 3, 2, 5, 0, 4]


# ---- late data and the life of what is kept


def test_what_is_behind_the_watermark_is_late_what_is_at_it_is_not() -> None:
    h = harness(-10, 10)
    left, right = h.inputs
    h.process_watermark(5)
    left.process_element(("k", "late"), 4)
    left.process_element(("k", "in time"), 5)
    right.process_element(("k", "late"), 4)
    right.process_element(("k", "in time"), 5)
    assert h.values == [(("k", "in time"), ("k", "in time"))]
    assert h.side_output(LEFT_LATE) == [StreamRecord(("k", "late"), 4)]
    assert h.side_output(RIGHT_LATE) == [StreamRecord(("k", "late"), 4)]


def test_late_data_is_dropped_without_a_tag() -> None:
    def build(left: DataStream, right: DataStream) -> DataStream:
        return left.key_by(first).interval_join(right.key_by(first)).between(-10, 10).process(Pair())

    h = OperatorHarness(build)
    h.process_watermark(5)
    h.inputs[0].process_element(("k", "late"), 4)
    h.inputs[1].process_element(("k", "r"), 9)
    assert h.values == []


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(-2, 1, 11, 12), (1, 3, 13, 10), (-3, -1, 10, 13), (0, 0, 10, 10), (-5, 0, 10, 15)],
)
@pytest.mark.row("S-TIME-18")
def test_a_record_goes_as_the_watermark_comes_to_the_last_partner(
    lower: int, upper: int, left_until: int, right_until: int
) -> None:
    """Both sides for a record at 10; Flink's operator has its clean-up timers at the same instants."""
    for side, until in ((0, left_until), (1, right_until)):
        h = harness(lower, upper)
        h.inputs[side].process_element(("k", "v"), 10)
        h.process_watermark(until - 1)
        assert h.num_keyed_state_entries() == 1
        h.process_watermark(until)
        assert h.num_keyed_state_entries() == 0


def test_nothing_is_kept_at_the_end_of_time() -> None:
    h = harness(-(2**62), 2**62)
    for side in h.inputs:
        side.process_element(("k", "v"), 10)
    h.process_watermark(2**61)
    assert h.num_keyed_state_entries() == 2
    h.end_input()
    assert h.num_keyed_state_entries() == 0
    assert len(h.values) == 1


def test_the_watermark_is_that_of_the_slower_side_unless_it_is_idle() -> None:
    h = harness(-1, 1)
    left, right = h.inputs
    left.process_element(("k", "l"), 5)
    left.process_watermark(100)
    right.process_element(("k", "r"), 5)
    assert h.values == [(("k", "l"), ("k", "r"))]
    right.mark_idle()
    assert h.num_keyed_state_entries() == 0
    left.process_element(("k", "late"), 99)
    assert h.side_output(LEFT_LATE) == [StreamRecord(("k", "late"), 99)]


# ---- against a model


class Model:
    """Flink's operator in the plainest form: two lists, looked through for each record."""

    def __init__(self, lower: int, upper: int) -> None:
        self.lower, self.upper = lower, upper
        self.kept: tuple[list[Any], list[Any]] = ([], [])
        self.valve = WatermarkValve((0, 1))
        self.pairs: list[Any] = []
        self.late: tuple[list[Any], list[Any]] = ([], [])

    def element(self, side: int, value: Any, stamp: int) -> None:
        if stamp < self.valve.output:
            self.late[side].append(value)
            return
        self.kept[side].append((stamp, value))
        for other, partner in sorted(self.kept[1 - side], key=lambda e: e[0]):
            left, right = (stamp, other) if side == 0 else (other, stamp)
            if partner[0] == value[0] and self.lower <= right - left <= self.upper:
                pair = (value, partner) if side == 0 else (partner, value)
                self.pairs.append((*pair, max(left, right)))

    def mark(self, side: int, mark: int | str) -> None:
        before = self.valve.output
        self.valve.feed(side, mark)
        watermark = self.valve.output
        if watermark > before:
            reaches = max(0, self.upper), max(0, -self.lower)
            for kept, reach in zip(self.kept, reaches, strict=True):
                kept[:] = [e for e in kept if e[0] + reach > watermark]


_STAMPS = st.integers(0, 12)
_ACTION = st.one_of(
    st.tuples(st.sampled_from(["a", "a", 1]), _STAMPS),
    st.tuples(st.sampled_from(["a", "a", 1]), _STAMPS),
    st.integers(1, 4),  # the watermark moves on by so much
    st.sampled_from([IDLE, ACTIVE]),
)
_EPOCH = st.tuples(st.lists(_ACTION, max_size=6), st.lists(_ACTION, max_size=6))


@settings(max_examples=examples(60), deadline=None)
@given(
    bounds=st.tuples(st.integers(-4, 4), st.integers(0, 6)),
    epochs=st.lists(_EPOCH, min_size=1, max_size=8),
    processes=st.integers(1, 3),
)
@pytest.mark.row("S-OPS-07")
def test_against_a_model(bounds: tuple[int, int], epochs: list[Any], processes: int) -> None:
    """Disorder, watermarks, idleness. In an epoch the records of the left side come before the right ones."""
    lower, upper = bounds[0], bounds[0] + bounds[1]
    model, number = Model(lower, upper), 0
    h = harness(lower, upper, processes=processes)
    watermarks, idle = [0, 0], [False, False]
    for epoch in epochs:
        with h.epoch():
            for side, actions in enumerate(epoch):
                for action in actions:
                    if isinstance(action, tuple):
                        number += 1
                        value, stamp = (action[0], number), watermarks[side] + action[1] - 3
                        h.inputs[side].process_element(value, stamp)
                        model.element(side, value, stamp)
                    elif isinstance(action, int):
                        if not idle[side]:
                            watermarks[side] += action
                            h.inputs[side].process_watermark(watermarks[side])
                            model.mark(side, watermarks[side])
                    else:
                        idle[side] = action == IDLE
                        (h.inputs[side].mark_idle if idle[side] else h.inputs[side].mark_active)()
                        model.mark(side, action)
    records = [event for event in h.output if isinstance(event, StreamRecord)]
    assert [(*r.value, r.timestamp) for r in records] == model.pairs
    for tag, late in zip((LEFT_LATE, RIGHT_LATE), model.late, strict=True):
        assert [r.value for r in h.side_output(tag)] == late
    keys = [{value[0] for _, value in kept} for kept in model.kept]
    assert h.num_keyed_state_entries() >= len(keys[0]) + len(keys[1])
    h.end_input()
    assert h.num_keyed_state_entries() == 0


# ---- whole jobs


def two_sides(count: int, seed: int, keys: int = 7, jitter: int = 9) -> tuple[list[At], list[At]]:
    """Records of two sides, out of order by less than the watermark allows for: none of them is late."""
    chance = random.Random(seed)
    sides: tuple[list[At], list[At]] = ([], [])
    for i in range(count):
        for side in sides:
            key = chance.choice(["a", "b", 1, 1.0, None, ("t", 2), "c"][:keys])
            watermark = 2 * i - jitter - 1 if i % 3 == 0 else None
            side.append(At(2 * i - chance.randrange(jitter), (key, len(side)), watermark))
    return sides


def expected_pairs(sides: tuple[list[At], list[At]], lower: int, upper: int) -> list[Any]:
    return sorted(
        (repr(a.value[0]), a.value[1], b.value[1], max(a.ts, b.ts))
        for a in sides[0]
        for b in sides[1]
        if repr(a.value[0]) == repr(b.value[0]) and lower <= b.ts - a.ts <= upper
    )


def run_job(
    sides: tuple[list[At], list[At]],
    bounds: tuple[int, int],
    parallelism: int,
    epoch_records: int | None,
    mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING,
    time_limit: bool = True,
) -> list[Any]:
    """(key, number of the left record, of the right one, timestamp) of each pair."""
    env = environment(
        parallelism, epoch_records=epoch_records, **{"firesteel.epoch.time-limit": str(time_limit).lower()}
    )
    env.set_runtime_mode(mode)
    left, right = (
        env.from_collection(side)
        .assign_timestamps_and_watermarks(punctuated())
        .set_parallelism(1)
        .map(lambda r: r.value)
        .set_parallelism(1)
        for side in sides
    )
    out = join(*bounds)(left, right).process(Probe())
    return [(repr(v[0][0]), v[0][1], v[1][1], stamp) for v, stamp, _ in collect(out)]


SIDES = two_sides(300, 1)
BOUNDS = (-6, 9)
EXPECTED = expected_pairs(SIDES, *BOUNDS)


@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("epoch_records", [1, 100, None])
def test_the_pairs_of_a_job_whatever_the_parallelism_and_the_cut(
    parallelism: int, epoch_records: int | None
) -> None:
    if epoch_records == 1:
        sides = SIDES[0][:60], SIDES[1][:60]
        assert sorted(run_job(sides, BOUNDS, parallelism, 1)) == expected_pairs(sides, *BOUNDS)
    else:
        assert len(EXPECTED) > 300
        assert sorted(run_job(SIDES, BOUNDS, parallelism, epoch_records)) == EXPECTED


@pytest.mark.parametrize(
    "make_engine",
    [
        lambda: TurnsEngine(3),
        lambda: LocalEngine(fresh_process=lambda: True),
        *(lambda seed=seed: FaultyEngine(seed) for seed in range(4)),
    ],
    ids=["turns", "fresh", "faulty-0", "faulty-1", "faulty-2", "faulty-3"],
)
def test_what_is_kept_goes_from_process_to_process(make_engine: Any) -> None:
    """Both runs have the same cut into epochs: a time limit on a busy machine would give them two, and with
    two splits another order."""
    with local_platform() as platform:
        calm = run_job(SIDES, BOUNDS, 2, 40, time_limit=False)
        assert platform.engines[-1].epochs > 5
    with local_platform(make_engine):
        found = run_job(SIDES, BOUNDS, 2, 40, time_limit=False)
    assert sorted(found) == EXPECTED
    by_key: dict[str, list[Any]] = defaultdict(list)
    for pair in calm:
        by_key[pair[0]].append(pair)
    for key, pairs in by_key.items():
        assert [pair for pair in found if pair[0] == key] == pairs, "the order within a key is the same, too"


@pytest.mark.parametrize("parallelism", [1, 3])
def test_batch_mode_has_no_watermark_and_nothing_is_late(parallelism: int) -> None:
    sides = two_sides(200, 2, jitter=150)
    found = run_job(sides, BOUNDS, parallelism, None, RuntimeExecutionMode.BATCH)
    assert sorted(found) == expected_pairs(sides, *BOUNDS)
    for key in {pair[0] for pair in found}:
        stamps = [pair[3] for pair in found if pair[0] == key]
        assert stamps == sorted(stamps), "the records of a key come by timestamp"


# ---- the function


def test_the_function_has_keyed_state_and_side_outputs() -> None:
    tag = OutputTag("every second", Types.PICKLED_BYTE_ARRAY())

    class Counting(ProcessJoinFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield left[0], count
            if count % 2 == 0:
                yield tag, (left[0], count)

    h = OperatorHarness(join(-9, 9, function=Counting()), side_outputs=[tag], processes=3)
    for number in range(2):
        for key in ("a", "b"):
            h.inputs[0].process_element((key, number), number)
            h.inputs[1].process_element((key, number), number + 4)
    assert h.values == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 2), ("b", 3), ("b", 4)]
    assert h.side_output(tag)[:2] == [StreamRecord(("a", 2), 4), StreamRecord(("a", 4), 5)]


def test_a_function_that_changes_records_does_not_change_what_is_kept() -> None:
    class Changing(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
            left.append("changed")
            yield len(left), right[1]

    h = harness(-9, 9, function=Changing())
    left, right = h.inputs
    with h.epoch():
        left.process_element(["k", 0], 1)
        for number in range(3):
            right.process_element(["k", number], 1)
    assert h.values == [(3, 0), (3, 1), (3, 2)]


def test_an_error_of_the_function_names_the_operator() -> None:
    class Failing(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
            raise ZeroDivisionError(left)

    env = environment(1)
    streams = [
        env.from_collection([At(1, ("k", 1))])
        .assign_timestamps_and_watermarks(punctuated())
        .map(lambda r: r.value)
        for _ in range(2)
    ]
    with pytest.raises(JobExecutionError, match="Interval Join"):
        collect(join(-1, 1, function=Failing())(*streams))


# ---- what is refused


def keyed_pair() -> tuple[Any, Any]:
    env = environment(1)
    return tuple(env.from_collection([("k", 1)]).key_by(first) for _ in range(2))  # type: ignore[return-value]


def test_records_need_timestamps() -> None:
    for side in (0, 1):
        h = harness(-1, 1)
        with pytest.raises(Exception, match="need to have meaningful timestamps") as raised:
            h.inputs[side].process_element(("k", 1))
        assert ("left" if side == 0 else "right") in str(raised.value)


@pytest.mark.parametrize(
    "bounds",
    [
        (Time.seconds(-1), Time.seconds(1)),
        (Duration.of_seconds(-1), Duration.of_seconds(1)),
        (timedelta(seconds=-1), timedelta(seconds=1)),
        (-1000, 1000),
    ],
    ids=["Time", "Duration", "timedelta", "ms"],
)
def test_bounds_are_lengths_of_time(bounds: tuple[Any, Any]) -> None:
    h = harness(*bounds)
    left, right = h.inputs
    left.process_element(("k", "l"), 5000)
    for stamp in (3999, 4000, 6000, 6001):
        right.process_element(("k", stamp), stamp)
    assert [pair[1][1] for pair in h.values] == [4000, 6000]


@pytest.mark.parametrize("bad", ["1 minute", None, 1.5, True])
def test_bounds_of_another_type_are_refused(bad: Any) -> None:
    left, right = keyed_pair()
    with pytest.raises(ProgramError, match="upper_bound"):
        left.interval_join(right).between(0, bad)


def test_the_lower_bound_may_not_be_above_the_upper_one() -> None:
    left, right = keyed_pair()
    with pytest.raises(ProgramError, match="lower bound"):
        left.interval_join(right).between(Time.seconds(2), Time.seconds(1))


def test_an_interval_without_any_instant_matches_nothing() -> None:
    """As in Flink, where exclusive bounds are applied after the check."""
    h = harness(0, 0, "lower upper")
    for side in h.inputs:
        side.process_element(("k", 1), 5)
    assert h.values == []


def test_processing_time_is_refused() -> None:
    left, right = keyed_pair()
    assert left.interval_join(right).in_event_time().between(0, 1) is not None
    with pytest.raises(UnsupportedFeatureError, match="only supported in event time"):
        left.interval_join(right).in_processing_time()


def test_both_streams_must_be_keyed_alike_and_belong_together() -> None:
    left, _ = keyed_pair()
    with pytest.raises(ProgramError, match="keyed stream"):
        left.interval_join(environment(1).from_collection([1]))
    other, _ = keyed_pair()
    with pytest.raises(ProgramError, match="different environments"):
        left.interval_join(other)
    env = environment(1)
    one = env.from_collection([1]).key_by(lambda v: v, key_type=Types.INT())
    two = env.from_collection([1]).key_by(lambda v: str(v), key_type=Types.STRING())
    with pytest.raises(ProgramError, match="one type"):
        one.interval_join(two).between(0, 1).process(Pair())


def test_the_function_must_be_a_process_join_function() -> None:
    class Other(KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> None: ...

        def process_element2(self, value: Any, ctx: Any) -> None: ...

    for bad in (Other(), lambda left, right: [left], Pair):
        left, right = keyed_pair()
        with pytest.raises(ProgramError, match="ProcessJoinFunction"):
            left.interval_join(right).between(0, 1).process(bad)


def test_late_data_needs_a_tag() -> None:
    left, right = keyed_pair()
    joined = left.interval_join(right).between(0, 1)
    with pytest.raises(ProgramError, match="left stream needs an OutputTag"):
        joined.side_output_left_late_data("late")
    with pytest.raises(ProgramError, match="right stream needs an OutputTag"):
        joined.side_output_right_late_data(None)


def test_the_name_of_the_operator() -> None:
    left, right = keyed_pair()
    left.interval_join(right).between(0, 1).process(Pair(), output_type=Types.PICKLED_BYTE_ARRAY()).print()
    env = left.get_execution_environment()
    node = next(n for n in env.get_stream_graph().nodes if n.arity == 2)
    assert node.name == "Interval Join"
    assert node.keyed
