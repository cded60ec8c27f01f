"""Salted streams: the results of the stream itself, the work of a hot key on many subtasks."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import FiresteelError, ProgramError, UnsupportedFeatureError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    ReduceFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.runtime.wire import decode_batch
from firesteel.testing.local_platform import LocalEngine
from tests.budget import examples

from .engines import CapturingEngine, FaultyEngine, TurnsEngine
from .skew_support import (
    AckEngine,
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
    sliding,
    stamped,
    tumbling,
)
from .support import At, Probe, collect, environment, local_platform

LATE = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT()]))
BATCH = RuntimeExecutionMode.BATCH
ENGINES: list[Callable[[], LocalEngine]] = [LocalEngine, lambda: TurnsEngine(2), lambda: FaultyEngine(11)]


@dataclass(frozen=True)
class Case:
    buckets: int
    parallelism: int
    epoch_records: int | None
    batch: bool
    combined: bool  # with pre-aggregation

    def env(self) -> StreamExecutionEnvironment:
        env = make_env(self.combined, self.parallelism, epoch_records=self.epoch_records)
        if self.batch:
            env.set_runtime_mode(BATCH)
        return env


cases = st.builds(
    Case,
    buckets=st.sampled_from([1, 2, 5, 32]),
    parallelism=st.sampled_from([1, 2, 4]),
    epoch_records=st.sampled_from([1, 25, 100, None]),
    batch=st.booleans(),
    combined=st.booleans(),
)


# Made once: Hypothesis looks at each new strategy anew. A list of its own would be short most of the time.
COUNT = st.integers(0, 40)
RECORD = st.tuples(
    st.integers(-6, 9),  # later than the one before
    st.sampled_from([None] * 8 + [-12, -3, 2]),  # the watermark, from its time
    st.tuples(st.sampled_from("hhhhab"), st.integers(0, 9)),
)


@st.composite
def inputs(draw: st.DrawFn) -> list[At]:
    records = []
    ts = 0
    for _ in range(draw(COUNT)):
        step, mark, value = draw(RECORD)
        ts += step
        records.append(At(ts, value, None if mark is None else ts + mark))
    return records


def keyed(env: StreamExecutionEnvironment, records: list[At]) -> KeyedStream:
    return stamped(env, records).key_by(first_field)


def in_lists(stream: DataStream) -> KeyedStream:
    return stream.map(lambda v: (v[0], [v[1]])).set_parallelism(1).key_by(first_field)


# ---- windows


@settings(max_examples=examples(40), deadline=None)
@given(
    inputs(),
    cases,
    st.sampled_from([Gather(), Histogram(), Mean(), add_up, join_lists]),
    st.sampled_from([tumbling(1), tumbling(10), sliding(10, 3), sliding(10, 5), sliding(5, 7)]),
    st.sampled_from(ENGINES),
)
@pytest.mark.row("S-PERF-02")
def test_windows_give_what_they_give_without_a_salt(
    records: list[At], case: Case, function: Any, assigner: Any, engine: Any
) -> None:
    """Late elements have the same side output, too."""

    def results(salted: bool) -> Counter[Any]:
        stream = stamped(case.env(), records)
        keys: Any = in_lists(stream) if function is join_lists else stream.key_by(first_field)
        windows = (keys.salted(case.buckets) if salted else keys).window(assigner)
        windows.side_output_late_data(OutputTag("late"))
        fold = windows.aggregate if isinstance(function, AggregateFunction) else windows.reduce
        fired = fold(function, Named())
        late = fired.get_side_output(OutputTag("late")).map(lambda v: ("late", repr(v)))
        return Counter(collect(fired.union(late)))

    with local_platform(engine):
        salted = results(True)
    with local_platform():
        assert salted == results(False)


@settings(max_examples=examples(40), deadline=None)
@given(
    inputs(),
    cases,
    st.sampled_from([Gather(), Mean(), add_up]),
    st.sampled_from([tumbling(10), sliding(10, 3)]),
    st.sampled_from(ENGINES),
)
def test_after_late_elements_the_last_result_of_a_window_is_that_without_a_salt(
    records: list[At], case: Case, function: Any, assigner: Any, engine: Any
) -> None:
    def results(salted: bool) -> tuple[Any, Any]:
        keys: Any = keyed(case.env(), records)
        windows = (keys.salted(case.buckets) if salted else keys).window(assigner)
        windows.allowed_lateness(8).side_output_late_data(LATE)
        fold = windows.aggregate if isinstance(function, AggregateFunction) else windows.reduce
        fired = fold(function, Named())
        both = fired.union(fired.get_side_output(LATE).map(lambda v: ("late", *v)))
        last: dict[Any, Any] = {}
        late: Counter[Any] = Counter()
        for result in collect(both):
            if result[0] == "late":
                late[result] += 1
            else:
                last[result[:3]] = result[3]
        return last, late

    with local_platform(engine):
        salted = results(True)
    with local_platform():
        assert salted == results(False)


@pytest.mark.parametrize("parallelism", [1, 4])
def test_results_have_the_same_timestamps_and_are_not_late(parallelism: int) -> None:
    """So a second window of the same size, stacked on the first, fires together with it."""
    records = [At(i, (f"k{i % 3}", 1), i - 4 if i % 7 == 0 else None) for i in range(100)]

    def probed(salted: bool) -> list[Any]:
        env = environment(parallelism, epoch_records=13)
        keys: Any = keyed(env, records)
        windows = (keys.salted(4) if salted else keys).window(sliding(10, 5))
        found = collect(windows.reduce(add_up).process(Probe()))
        assert all(watermark < timestamp for _, timestamp, watermark in found)
        return sorted((value, timestamp) for value, timestamp, _ in found)

    def stacked(salted: bool) -> list[Any]:
        keys: Any = keyed(environment(parallelism), records)
        first = (keys.salted(4) if salted else keys).window(tumbling(10)).reduce(add_up)
        return sorted(collect(first.window_all(tumbling(10)).reduce(lambda a, b: ("all", a[1] + b[1]))))

    with local_platform():
        assert probed(True) == probed(False)
        assert stacked(True) == stacked(False) == [("all", 10)] * 10


def test_each_late_element_gives_one_result_with_all_elements_so_far() -> None:
    """With accumulators that are changed in place: none is counted twice."""
    records = [At(i, ("k", i)) for i in range(8)] + [At(8, ("k", 8), 20)]
    records += [At(1, ("k", 100 + i)) for i in range(3)]
    with local_platform():
        windows = keyed(environment(4, epoch_records=1), records).salted(4).window(tumbling(10))
        results = collect(windows.allowed_lateness(50).aggregate(Gather()).map(sorted).set_parallelism(1))
    elements = list(range(9))
    assert results == [elements + [100 + i for i in range(n)] for n in range(4)]


# ---- rolling


def last_of_each_key(results: list[Any]) -> dict[Any, Any]:
    return {result[0]: result for result in results}


@settings(max_examples=examples(50), deadline=None)
@given(inputs(), cases, st.booleans(), st.sampled_from(ENGINES))
def test_the_last_result_of_a_reduce_is_that_without_a_salt(
    records: list[At], case: Case, mutable: bool, engine: Any
) -> None:
    def results(salted: bool) -> Any:
        stream = stamped(case.env(), records)
        keys: Any = in_lists(stream) if mutable else stream.key_by(first_field)
        reduced = (keys.salted(case.buckets) if salted else keys).reduce(join_lists if mutable else add_up)
        results = [(r[0], sorted(r[1])) if mutable else r for r in collect(reduced)]
        return sorted(results) if case.batch else last_of_each_key(results)

    with local_platform(engine):
        salted = results(True)
    with local_platform():
        assert salted == results(False)


def test_running_totals_of_a_salt_replace_each_other() -> None:
    """Adding them up would give 1 + 2 + 3 + ... for each salt."""
    with local_platform():
        env = environment(4, epoch_records=10)
        results = collect(env.from_collection([("k", 1)] * 500).key_by(first_field).salted(8).reduce(add_up))
    assert results[-1] == ("k", 500)
    assert [n for _, n in results] == sorted(n for _, n in results)


def test_results_have_the_timestamp_of_a_record_and_are_never_late() -> None:
    records = [At(i, ("k", 1), i - 1 if i % 10 == 9 else None) for i in range(100)]
    with local_platform():
        totals = keyed(environment(2, epoch_records=20), records).salted(4).reduce(add_up)
        for _, timestamp, watermark in collect(totals.process(Probe())):
            assert 0 <= timestamp < 100
            assert timestamp > watermark


# ---- the salt


def salts(records: list[Any], buckets: int, epoch_records: int | None, engine: Any) -> dict[Any, list[int]]:
    """The salts of each key, in order."""
    found: defaultdict[Any, list[int]] = defaultdict(list)
    with local_platform(engine):
        env = environment(2, epoch_records=epoch_records)
        stream = env.from_collection(records).key_by(first_field).salted(buckets)._salted
        for key, salt, _ in collect(stream):
            found[key].append(salt)
    return found


@pytest.mark.parametrize("epoch_records", [1, 7, None])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_record_has_the_same_salt_however_it_is_read(epoch_records: int | None, engine: Any) -> None:
    records = [(f"k{i % 3}", i) for i in range(100)]
    assert salts(records, 16, epoch_records, engine) == salts(records, 16, None, LocalEngine)


@pytest.mark.parametrize("keys", [1, 2, 3, 4, 8, 16])
def test_keys_that_take_turns_get_all_salts_equally_often(keys: int) -> None:
    """Counting would give each of 16 keys one of 16 salts."""
    for used in salts([(i % keys, i) for i in range(keys * 320)], 16, None, LocalEngine).values():
        counts = Counter(used)
        assert sorted(counts) == list(range(16))
        assert max(counts.values()) - min(counts.values()) <= 4


@pytest.mark.row("S-PERF-02")
def test_a_hot_key_is_the_work_of_all_subtasks() -> None:
    records = [("hot" if i % 10 else f"cold{i % 7}", 1) for i in range(8000)]

    def shares(salted: bool) -> list[float]:
        with local_platform(AckEngine) as platform:
            env = environment(4)
            env.set_runtime_mode(BATCH)
            keys: Any = env.from_collection(records).key_by(first_field)
            assert ("hot", 7200) in collect((keys.salted(32) if salted else keys).reduce(add_up))
            received = ack_engine(platform).received(1)
        assert sum(received) == 8000
        return [count / 8000 for count in received]

    assert max(shares(False)) > 0.9
    assert max(shares(True)) < 0.4
    assert min(shares(True)) > 0.1


def test_a_hot_key_is_spread_over_as_many_keys_as_there_are_buckets() -> None:
    records = [At(i, ("hot", 1)) for i in range(2000)]
    with local_platform(CapturingEngine) as platform:
        windows = keyed(environment(4), records).salted(12).window(tumbling(100_000))
        assert collect(windows.reduce(add_up)) == [("hot", 2000)]
        (engine,) = platform.engines
        assert isinstance(engine, CapturingEngine)
        seen: dict[Any, set[int]] = defaultdict(set)
        for row in engine.captured:
            for key in decode_batch(row.body).keys or ():
                if type(key) is tuple:
                    seen[key].add(row.target)
    assert sorted(seen) == [("hot", salt) for salt in range(12)]
    assert set().union(*seen.values()) == {0, 1, 2, 3}
    assert all(len(targets) == 1 for targets in seen.values())


def test_the_second_stage_gets_few_totals_of_a_hot_key() -> None:
    """Otherwise it would have the whole load again."""
    with local_platform(AckEngine) as platform:
        env = environment(4)
        collect(env.from_collection([("hot", 1)] * 20_000).key_by(first_field).salted(8).reduce(add_up))
        one, two = (sum(ack_engine(platform).received(level)) for level in (1, 2))
    assert one == 20_000
    assert two < 1000


# ---- types and plans


def test_results_have_the_type_that_they_have_without_a_salt() -> None:
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    with local_platform():
        env = environment(2)
        keys = env.from_collection([("a", 1), ("a", 2)], pair).key_by(first_field, Types.STRING()).salted(4)
        assert keys.reduce(add_up).get_type() == pair
        assert keys.window(tumbling(1)).reduce(add_up).get_type() == pair
        means = keys.window(tumbling(1)).aggregate(Mean(), output_type=Types.DOUBLE())
        assert means.get_type() == Types.DOUBLE()
        assert [means.get_name(), keys.reduce(add_up).get_name()] == ["TumblingEventTimeWindows", "Reduce"]


def test_the_salt_is_chained_to_its_producer() -> None:
    with local_platform():
        env = environment(4)
        env.from_collection([("a", 1)]).map(lambda v: v).set_parallelism(3).name("producer").key_by(
            first_field
        ).salted(4).reduce(add_up).print()
        plan = env.get_execution_plan()
    assert "producer" in plan
    assert plan.count("HASH") == 2
    assert plan.count("REBALANCE") == 1, "from the source to the map that has another parallelism"


def test_nothing_is_said_of_pre_aggregation_which_serves_the_first_stage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    records = [At(i, ("hot", 1)) for i in range(100)]
    with local_platform(), caplog.at_level(logging.WARNING):
        for reduced in (
            keyed(make_env(True), records).salted(4).window(tumbling(10)).reduce(add_up),
            keyed(make_env(True), records).salted(4).reduce(add_up),
        ):
            collect(reduced)
    assert "pre-aggregation" not in caplog.text


# ---- what is refused


class Opened(ReduceFunction):
    def open(self, runtime_context: RuntimeContext) -> None: ...

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


SECOND = Time.seconds(1)
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no buckets": (lambda s: s.salted(0), "at least 1"),
    "buckets": (lambda s: s.salted("8"), "must be an int"),
    "process": (lambda s: s.salted(4).process(None), "one by one"),
    "map": (lambda s: s.salted(4).map(first_field), "one by one"),
    "sum": (lambda s: s.salted(4).sum(1), "fields that are not aggregated"),
    "count windows": (lambda s: s.salted(4).count_window(3), "counted in one subtask"),
    "rich": (lambda s: s.salted(4).reduce(Opened()), "Opened.open() would never be called"),
    "rich in windows": (
        lambda s: s.salted(4).window(tumbling(1)).reduce(Opened()),
        "Opened.open() would never be called",
    ),
    "sessions": (
        lambda s: s.salted(4).window(EventTimeSessionWindows.with_gap(SECOND)),
        "not the sessions of the key",
    ),
    "processing time": (
        lambda s: s.salted(4).window(TumblingProcessingTimeWindows.of(SECOND)),
        "the clock does not tell the second stage",
    ),
    "global": (lambda s: s.salted(4).window(GlobalWindows.create()), "GlobalWindows cannot be salted"),
    "no assigner": (lambda s: s.salted(4).window(5), "need a WindowAssigner"),
    "apply": (lambda s: s.salted(4).window(tumbling(1)).apply(None), "all elements of a window"),
    "process window": (lambda s: s.salted(4).window(tumbling(1)).process(Named()), "all elements"),
    "trigger": (lambda s: s.salted(4).window(tumbling(1)).trigger(CountTrigger.of(1)), "each salt would"),
    "evictor": (lambda s: s.salted(4).window(tumbling(1)).evictor(CountEvictor.of(1)), "all elements"),
    "lateness": (lambda s: s.salted(4).window(tumbling(1)).allowed_lateness(-1), "must not be negative"),
    "tag": (lambda s: s.salted(4).window(tumbling(1)).side_output_late_data("late"), "takes an OutputTag"),
    "function": (lambda s: s.salted(4).window(tumbling(1)).aggregate(add_up), "must be a AggregateFunction"),
    "merge": (lambda s: s.salted(4).window(tumbling(1)).aggregate(NotMerging()), "NotMerging.merge() is not"),
    "no merge": (lambda s: s.salted(4).window(tumbling(1)).aggregate(MergingNothing()), "merge() is not"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_salted_is_refused_with_its_reason(case: str) -> None:
    program, reason = REFUSED[case]
    stream = environment(1).from_collection([("k", 1)]).key_by(first_field)
    with pytest.raises(FiresteelError) as refused:
        program(stream)
    assert reason in str(refused.value)
    assert isinstance(refused.value, (UnsupportedFeatureError, ProgramError))


def test_what_streams_do_not_have_is_an_attribute_error() -> None:
    stream = environment(1).from_collection([("k", 1)]).key_by(first_field).salted(4)
    assert not hasattr(stream, "no_such_thing")
    assert not hasattr(stream.window(tumbling(1)), "no_such_thing")
