"""Aggregation before the exchange (``firesteel.window.pre-aggregation``): the same results, fewer values."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import JobExecutionError, ProgramError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from firesteel.datastream import (
    AggregateFunction,
    KeyedStream,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.runtime import combiner
from firesteel.testing.local_platform import LocalEngine
from tests.budget import examples

from .engines import FaultyEngine, TurnsEngine, TwinEngine
from .skew_support import (
    AckEngine,
    Digits,
    Gather,
    Histogram,
    Mean,
    MergingNothing,
    Named,
    NotMerging,
    ack_engine,
    add_up,
    first_field,
    join_lists,
    make_env,
    ordered,
    sliding,
    stamped,
    tumbling,
)
from .support import At, collect, local_platform, note, notes, punctuated

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
BATCH = RuntimeExecutionMode.BATCH
WHOLE_BATCHES = {"firesteel.epoch.time-limit": "false"}  # else a machine that stands still cuts them


def on_and_off(program: Callable[[StreamExecutionEnvironment], Any], **options: Any) -> tuple[Any, Any]:
    results = []
    for combined in (True, False):
        with local_platform():
            results.append(program(make_env(combined, **options)))
    return results[0], results[1]


# ---- equal results


@dataclass(frozen=True)
class Case:
    function: Any
    size: int
    slide: int | None
    lateness: int
    late_tag: bool
    batch: bool
    declared: bool


# Made once: Hypothesis looks at each new strategy anew. A list of its own would be short most of the time.
BURSTS, BURST = st.integers(0, 4), st.integers(8, 30)
STEP_AND_VALUE = st.tuples(st.integers(-6, 7), st.tuples(st.sampled_from("hhhhhabcd"), st.integers(0, 9)))
BEHIND = st.none() | st.integers(-5, 12)


@st.composite
def inputs(draw: st.DrawFn) -> list[At]:
    """Bursts without a watermark between their records, so that there is something to aggregate."""
    records: list[At] = []
    ts = 0
    for _ in range(draw(BURSTS)):
        for _ in range(draw(BURST)):
            step, value = draw(STEP_AND_VALUE)
            ts += step
            records.append(At(ts, value))
        behind = draw(BEHIND)
        if behind is not None:
            records.append(At(ts, ("h", 0), ts - behind))
    return records


@st.composite
def cases(draw: st.DrawFn) -> Case:
    return Case(
        function=draw(st.sampled_from([Gather(), Histogram(), Mean(), Digits(), add_up, join_lists])),
        size=draw(st.sampled_from([1, 7, 20])),
        slide=draw(st.sampled_from([None, None, 2, 3, 20, 25])),
        lateness=draw(st.sampled_from([0, 0, 5, 1000])),
        late_tag=draw(st.booleans()),
        batch=draw(st.booleans()),
        declared=draw(st.booleans()),
    )


def run(env: StreamExecutionEnvironment, records: list[At], case: Case) -> Counter[Any]:
    if case.batch:
        env.set_runtime_mode(BATCH)
    in_lists = case.function is join_lists
    value_type = Types.TUPLE([Types.STRING(), Types.LIST(Types.INT()) if in_lists else Types.INT()])
    stream = stamped(env, records).map(
        (lambda v: (v[0], [v[1]])) if in_lists else (lambda v: v), value_type if case.declared else None
    )
    assigner = tumbling(case.size) if case.slide is None else sliding(case.size, case.slide)
    windows = stream.set_parallelism(1).key_by(first_field).window(assigner).allowed_lateness(case.lateness)
    if case.late_tag:
        windows.side_output_late_data(LATE)
    if isinstance(case.function, AggregateFunction):
        results = windows.aggregate(case.function, Named())
    else:
        results = windows.reduce(case.function, Named())
    if case.late_tag:
        results = results.union(results.get_side_output(LATE).map(lambda v: ("late", ordered(v))))
    return Counter(collect(results))


ENGINES: list[Callable[[], LocalEngine]] = [LocalEngine, lambda: TurnsEngine(2), lambda: FaultyEngine(5)]


@settings(max_examples=examples(40), deadline=None)
@given(
    inputs(),
    cases(),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 25, 100, None]),
    st.sampled_from(ENGINES),
)
def test_results_are_those_without_the_option(
    records: list[At], case: Case, parallelism: int, epoch_records: int | None, engine: Any
) -> None:
    with local_platform(engine):
        combined = run(make_env(True, parallelism, epoch_records=epoch_records), records, case)
    with local_platform():
        assert combined == run(make_env(False, parallelism, epoch_records=epoch_records), records, case)


def test_elements_of_one_producer_keep_their_order_in_tumbling_windows() -> None:
    records = [At(i, (f"k{i % 3}", str(i)), i - 3 if i % 50 == 0 else None) for i in range(200)]

    def program(env: StreamExecutionEnvironment) -> list[Any]:
        windows = stamped(env, records).key_by(first_field).window(tumbling(30))
        return sorted(collect(windows.reduce(lambda a, b: (a[0], f"{a[1]},{b[1]}"))))

    on, off = on_and_off(program)
    assert on == off
    assert ("k0", "30,33,36,39,42,45,48,51,54,57") in on


def test_what_a_function_changes_in_place_is_its_own_copy() -> None:
    """Records that the producer emits again and again, and windows that overlap, share objects."""
    records = [At(i, i % 2) for i in range(40)]

    def program(env: StreamExecutionEnvironment) -> list[Any]:
        again = [["even", 1], ["odd", 1]]
        stream = stamped(env, records).map(lambda n: again[n]).set_parallelism(1)
        return sorted(
            collect(stream.key_by(first_field).window(sliding(10, 5)).reduce(into_the_first, Named()))
        )

    def into_the_first(a: list[Any], b: list[Any]) -> list[Any]:
        a[1] += b[1]
        return a

    on, off = on_and_off(program)
    assert on == off
    assert on[:2] == [("even", -5, 5, ("even", 3)), ("even", 0, 10, ("even", 5))]


def test_windows_of_a_whole_stream_are_aggregated_too() -> None:
    records = [At(i, ("k", i)) for i in range(100)]

    def program(env: StreamExecutionEnvironment) -> list[Any]:
        return sorted(collect(stamped(env, records).window_all(tumbling(40)).aggregate(Mean())))

    assert on_and_off(program) == ([19.5, 59.5, 89.5], [19.5, 59.5, 89.5])


# ---- fewer values


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("lateness", [0, 100])  # each has an operator of its own
@pytest.mark.parametrize("function", [Mean(), add_up])
@pytest.mark.row("S-PERF-03")
def test_a_hot_key_costs_one_value_for_each_batch(function: Any, lateness: int, batch: bool) -> None:
    records = [At(i // 20, ("hot" if i % 10 else f"cold{i % 7}", i)) for i in range(3000)]
    crossed, results = [], []
    for combined in (True, False):
        with local_platform(AckEngine) as platform:
            env = make_env(combined, **WHOLE_BATCHES)
            if batch:
                env.set_runtime_mode(BATCH)
            windows = stamped(env, records).key_by(first_field).window(tumbling(500))
            windows.allowed_lateness(lateness)
            aggregated = isinstance(function, AggregateFunction)
            results.append(
                Counter(collect(windows.aggregate(function) if aggregated else windows.reduce(function)))
            )
            crossed.append(sum(ack_engine(platform).received(1)))
    assert results[0] == results[1]
    assert crossed[1] == 3000
    assert crossed[0] < 3000 / 50


def test_elements_of_windows_of_processing_time_are_aggregated_too() -> None:
    with local_platform(AckEngine) as platform:
        env = make_env(True, **WHOLE_BATCHES)
        env.set_runtime_mode(BATCH)  # where such windows fire at the end
        stream = env.from_collection([("k", i) for i in range(3000)]).key_by(first_field)
        windows = stream.window(TumblingProcessingTimeWindows.of(Time.days(1)))
        assert collect(windows.reduce(add_up)) == [("k", sum(range(3000)))]
        assert sum(ack_engine(platform).received(1)) < 10


def test_keys_that_come_once_in_a_batch_travel_as_they_are() -> None:
    with local_platform():
        stream = stamped(make_env(True), [At(i, (i, [i])) for i in range(100)]).key_by(first_field)
        assert len(collect(stream.window(tumbling(10)).reduce(lambda a, b: note("called", a)))) == 100
        assert notes["called"] == []


def test_bytes_depend_on_the_input_alone() -> None:
    with local_platform(TwinEngine) as platform:
        env = make_env(True, epoch_records=40)
        records = [At(i, (f"k{i % 3}", i), i - 5 if i % 25 == 0 else None) for i in range(300)]
        collect(stamped(env, records).key_by(first_field).window(sliding(20, 10)).aggregate(Histogram()))
        (engine,) = platform.engines
        assert isinstance(engine, TwinEngine)
        assert engine.rows > 10
        assert engine.differences == []


# ---- late elements


class Scripted(WatermarkGenerator):
    def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
        if event.watermark == -1:
            output.mark_idle()
        elif event.watermark is not None:
            output.emit_watermark(event.watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


@pytest.mark.parametrize("lateness", [0, 1000])
def test_each_late_element_shows_by_itself_after_its_producer_was_idle(lateness: int) -> None:
    """Nobody waits for an idle producer: when it goes on, it does not know what is late."""
    idle = [At(0, ("k", 0))] * 19 + [At(0, ("k", 0), -1)] + [At(i, ("k", i)) for i in range(20, 40)]
    busy = [At(100, ("other", 0))] * 19 + [At(100, ("other", 0), 100)] + [At(200, ("other", 0))] * 20

    def program(env: StreamExecutionEnvironment) -> Counter[Any]:
        one, two = (
            env.from_collection(records)
            .assign_timestamps_and_watermarks(punctuated(Scripted))
            .set_parallelism(1)
            .map(lambda record: record.value)
            .set_parallelism(1)
            for records in (idle, busy)
        )
        windows = one.union(two).key_by(first_field).window(tumbling(50))
        results = windows.allowed_lateness(lateness).side_output_late_data(LATE).reduce(add_up)
        return Counter(collect(results.union(results.get_side_output(LATE).map(lambda v: ("late", v[1])))))

    on, off = on_and_off(program, epoch_records=20)
    assert on == off
    if lateness:
        assert len([r for r in on.elements() if r[0] == "k"]) == 21, "each late element fires"
    else:
        assert [r for r in sorted(on) if r[0] == "late"] == [("late", i) for i in range(20, 40)]


# ---- rolling reduce in BATCH mode

ROLLING: dict[str, Callable[[KeyedStream], Any]] = {
    "reduce": lambda s: s.reduce(lambda a, b: (a[0], a[1] + b[1], a[2])),
    "sum": lambda s: s.sum(1),
    "min": lambda s: s.min(1),
    "max": lambda s: s.max(1),
    "min_by": lambda s: s.min_by(1),
    "max_by": lambda s: s.max_by(1),
}


@pytest.mark.parametrize("rolling", ROLLING)
def test_a_rolling_reduce_of_batch_mode_is_aggregated_too(rolling: str) -> None:
    """The third field tells which record comes first by time: the second one to arrive."""
    records = [At(1000 - i % 1000, (f"k{i % 3}", i * 7 % 11, f"{i}")) for i in range(3000)]

    def program(env: StreamExecutionEnvironment) -> list[Any]:
        env.set_runtime_mode(BATCH)
        return sorted(collect(ROLLING[rolling](stamped(env, records).key_by(first_field))))

    on, off = on_and_off(program)
    assert len(on) == 3
    assert on == off


@pytest.mark.parametrize(("rolling", "values"), [("reduce", 3), ("sum", 3), ("min_by", 3000)])
def test_values_that_a_rolling_reduce_of_batch_mode_gets(rolling: str, values: int) -> None:
    with local_platform(AckEngine) as platform:
        env = make_env(True)
        env.set_runtime_mode(BATCH)
        stream = env.from_collection([(f"k{i % 3}", 1, 0) for i in range(3000)])
        collect(ROLLING[rolling](stream.key_by(first_field)))
        assert sum(ack_engine(platform).received(1)) == values


class Tagged(NamedTuple):
    """No key of a kind that is its own identity."""

    name: str


@pytest.mark.parametrize("bound", ["_MOST_KEYS", "_MOST_BYTES"])
@pytest.mark.parametrize("stamped_", [False, True])
def test_what_is_held_for_a_rolling_reduce_is_bounded(
    monkeypatch: pytest.MonkeyPatch, bound: str, stamped_: bool
) -> None:
    """Keys of several kinds, some of which are equal to others, and values that their function changes."""
    monkeypatch.setattr(combiner, bound, 40)
    keys = [1, "1", 1.0, True, b"1", (1, "a"), Tagged("a"), ("a",), None]

    def program(env: StreamExecutionEnvironment) -> Counter[Any]:
        env.set_runtime_mode(BATCH)
        records = [At(i, (keys[i % 9], [i])) for i in range(5000)]
        stream = stamped(env, records) if stamped_ else env.from_collection([r.value for r in records])
        reduced = stream.key_by(first_field).reduce(into_the_left)
        return Counter((repr(key), ordered(found)) for key, found in collect(reduced))

    on, off = on_and_off(program)
    assert on == off
    assert len(on) == len(keys)


def into_the_left(a: Any, b: Any) -> Any:
    a[1].extend(b[1])
    return a


# ---- errors


class Broken(Mean):
    def add(self, value: Any, accumulator: Any) -> Any:
        raise ArithmeticError("cannot add")


def windowed(key: Callable[[Any], Any], function: AggregateFunction, combined: bool = True) -> list[Any]:
    stream = stamped(make_env(combined), [At(0, ("k", 1))] * 30).name("producer")
    return collect(stream.key_by(key).window(tumbling(10)).aggregate(function).name("the window"))


@pytest.mark.parametrize("combined", [False, True])
def test_an_exception_of_the_function_names_the_window_operator(combined: bool) -> None:
    with local_platform(), pytest.raises(JobExecutionError) as failed:
        windowed(first_field, Broken(), combined)
    assert failed.value.operator == "the window"
    assert isinstance(failed.value.__cause__, ArithmeticError)


def containing_itself(value: Any) -> list[Any]:
    """A key that has no stable form."""
    key: list[Any] = []
    key.append(key)
    return key


@pytest.mark.parametrize("key", [lambda v: v[7], containing_itself], ids=["raises", "unstable"])
def test_an_exception_of_the_key_selector_names_the_producer(key: Callable[[Any], Any]) -> None:
    with local_platform(), pytest.raises(JobExecutionError) as failed:
        windowed(key, Mean())
    assert failed.value.operator == "producer"


@pytest.mark.parametrize("function", [NotMerging(), MergingNothing()])
def test_a_function_that_cannot_merge_is_refused_before_it_runs(function: AggregateFunction) -> None:
    with local_platform() as platform:
        with pytest.raises(ProgramError) as refused:
            windowed(first_field, function)
        assert platform.engines == []
        assert refused.value.operator == "the window"
        assert f"{type(function).__name__}.merge() is not implemented" in str(refused.value)
        assert "set firesteel.window.pre-aggregation to false" in str(refused.value)
        assert len(windowed(first_field, function, combined=False)) == 1


# ---- where the option does nothing


class Opened(ReduceFunction):
    def open(self, runtime_context: RuntimeContext) -> None: ...

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class HowMany(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[int]:
        yield len(list(elements))


SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
WITHOUT_EFFECT: dict[str, tuple[Callable[[KeyedStream], Any], bool, str]] = {
    "list": (lambda s: s.window(tumbling(5)).process(HowMany()), False, "its function gets all elements"),
    "evictor": (
        lambda s: s.window(tumbling(5)).evictor(CountEvictor.of(1)).reduce(add_up),
        False,
        "its evictor looks at all elements",
    ),
    "sessions": (lambda s: s.window(SESSIONS).reduce(add_up), False, "more than the time of an element"),
    "count": (lambda s: s.count_window(2).reduce(add_up), False, "more than the time of an element"),
    "trigger": (
        lambda s: s.window(tumbling(5)).trigger(CountTrigger.of(1)).reduce(add_up),
        False,
        "its trigger is called for each element",
    ),
    "rolling": (lambda s: s.reduce(add_up), False, "a result comes out for each element"),
    "rich": (lambda s: s.reduce(Opened()), True, "its function has an open()"),
    "min_by": (lambda s: s.min_by(1), True, "of equal records the first one"),
}


@pytest.mark.parametrize("case", WITHOUT_EFFECT)
@pytest.mark.parametrize("combined", [False, True])
def test_what_the_option_does_nothing_for_is_named(
    case: str, combined: bool, caplog: pytest.LogCaptureFixture
) -> None:
    program, batch, reason = WITHOUT_EFFECT[case]
    with local_platform(), caplog.at_level(logging.WARNING):
        env = make_env(combined)
        if batch:
            env.set_runtime_mode(BATCH)
        stream = stamped(env, [At(i, ("k", 1)) for i in range(30)]).key_by(first_field)
        collect(program(stream).name("it"))
    said = [r.getMessage() for r in caplog.records if "pre-aggregation" in r.getMessage()]
    if combined:
        assert len(said) == 1
        assert said[0].startswith("firesteel.window.pre-aggregation has no effect on 'it': ")
        assert reason in said[0]
    else:
        assert said == []


def test_nothing_is_said_of_windows_that_are_served(caplog: pytest.LogCaptureFixture) -> None:
    with local_platform(), caplog.at_level(logging.WARNING):
        windowed(first_field, Mean())
    assert "pre-aggregation" not in caplog.text
