"""Window join and co-group, and windows over all records, as jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    CoGroupFunction,
    CoMapFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import ProcessAllWindowFunction
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    TumblingEventTimeWindows,
)

from .support import At, Probe, collect, environment, local_platform, punctuated

TUMBLING_10 = TumblingEventTimeWindows.of(Time.milliseconds(10))


@pytest.fixture(autouse=True)
def _here() -> Iterator[None]:
    with local_platform():
        yield


@pytest.fixture(params=[(1, None), (1, 2), (3, 1)], ids=str)
def env(request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    parallelism, epoch_records = request.param
    return environment(parallelism, epoch_records=epoch_records)


def side(env: StreamExecutionEnvironment, *records: At) -> DataStream:
    return env.from_collection(list(records)).assign_timestamps_and_watermarks(punctuated())


def two(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    """Values are (key, name); key 2 has no partner in the first window, key 3 in no window."""
    left = side(env, At(1, (1, "a")), At(2, (1, "b")), At(3, (2, "c")), At(11, (2, "d")))
    right = side(env, At(4, (1, "x")), At(5, (1, "y")), At(12, (2, "z")), At(13, (3, "w")))
    return left, right


def key(record: At) -> int:
    return int(record.value[0])


def name(record: At) -> str:
    return str(record.value[1])


class Glue(JoinFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def join(self, first: At, second: At) -> str:
        assert self.subtasks
        return name(first) + name(second)


class Both(FlatJoinFunction):
    def join(self, first: At, second: At) -> Iterable[str]:
        if name(first) != "b":
            yield name(first)
            yield name(second)


class Groups(CoGroupFunction):
    def co_group(self, first: list[At], second: list[At]) -> Iterator[str]:
        yield "".join(map(name, first)) + "-" + "".join(map(name, second))


def joined(env: StreamExecutionEnvironment, function: Any) -> DataStream:
    left, right = two(env)
    windows = left.join(right).where(key, Types.INT()).equal_to(key).window(TUMBLING_10)
    return windows.apply(function)


@pytest.mark.parametrize(
    ("function", "results"),
    [
        (Glue(), ["ax", "ay", "bx", "by", "dz"]),
        (lambda first, second: name(second), ["x", "y", "x", "y", "z"]),
        (Both(), ["a", "x", "a", "y", "d", "z"]),
    ],
    ids=["JoinFunction", "callable", "FlatJoinFunction"],
)
@pytest.mark.row("S-WIN-34", "S-OPS-06")
def test_a_join_pairs_what_has_the_same_key_and_window(
    env: StreamExecutionEnvironment, function: Any, results: list[str]
) -> None:
    rows = collect(joined(env, function).process(Probe()))
    assert sorted(value for value, _, _ in rows) == sorted(results)
    if env.get_parallelism() == 1:  # in the order of the first stream, then of the second
        assert [value for value, _, _ in rows] == results
    assert {timestamp for _, timestamp, _ in rows} == {9, 19}


@pytest.mark.row("S-WIN-34")
def test_a_co_group_is_called_with_an_empty_side(env: StreamExecutionEnvironment) -> None:
    left, right = two(env)
    groups = left.co_group(right).where(key).equal_to(key).window(TUMBLING_10).apply(Groups(), Types.STRING())
    assert sorted(collect(groups)) == ["-w", "ab-xy", "c-", "d-z"]


def test_a_join_in_batch_mode(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert sorted(collect(joined(env, Glue()))) == ["ax", "ay", "bx", "by", "dz"]


def test_sessions_of_two_streams(env: StreamExecutionEnvironment) -> None:
    left = side(env, At(0, (1, "a")), At(30, (1, "b")))
    right = side(env, At(8, (1, "x")), At(16, (1, "y")))  # bridges a and y
    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(10))
    groups = left.co_group(right).where(key).equal_to(key).window(sessions).apply(Groups())
    assert sorted(collect(groups)) == ["a-xy", "b-"]


def test_trigger_and_evictor_see_the_records_of_both_streams() -> None:
    env = environment(1)
    left, right = two(env)
    windows = left.co_group(right).where(lambda r: 0).equal_to(lambda r: 0).window(GlobalWindows.create())
    groups = windows.trigger(CountTrigger.of(8)).evictor(CountEvictor.of(3)).apply(Groups())
    (result,) = collect(groups)
    assert len(result) == 1 + 3


def test_a_key_selector_class_and_keyed_inputs(env: StreamExecutionEnvironment) -> None:
    left, right = two(env)
    windows = left.key_by(name).join(right.key_by(key)).where(key).equal_to(key).window(TUMBLING_10)
    assert sorted(collect(windows.apply(Glue(), Types.STRING()))) == ["ax", "ay", "bx", "by", "dz"]


class Everything(ProcessAllWindowFunction):
    """(start, subtasks, number of windows before, values) of each window."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def process(self, context: Any, elements: Iterable[At]) -> Iterator[Any]:
        before = context.global_state().get_state(ValueStateDescriptor("windows", Types.INT()))
        number = before.value() or 0
        before.update(number + 1)
        yield context.window().start, self.subtasks, number, sorted(name(e) for e in elements)


@pytest.mark.row("S-WIN-10")
def test_windows_over_all_records(env: StreamExecutionEnvironment) -> None:
    late = OutputTag("late")
    records = side(
        env, At(1, (1, "a")), At(2, (2, "b"), 9), At(3, (3, "late")), At(11, (1, "c"))
    ).set_parallelism(1)
    windows = records.window_all(TUMBLING_10).side_output_late_data(late).process(Everything())
    dropped = windows.get_side_output(late).map(name)
    rows = collect(windows.map(str).union(dropped.map(str)))
    assert sorted(rows) == ["(0, 1, 0, ['a', 'b'])", "(10, 1, 1, ['c'])", "late"]


def test_count_windows_over_all_records() -> None:
    records = environment(2, epoch_records=1).from_collection([1, 2, 3, 4, 5])
    assert collect(records.count_window_all(2).reduce(lambda a, b: a + b)) == [3, 7]
    assert collect(records.count_window_all(3, 2).reduce(lambda a, b: a + b)) == [6, 12]


@pytest.mark.row("S-API-14")
def test_map_reduce_join_window_side_output_and_connect_in_one_program(
    env: StreamExecutionEnvironment,
) -> None:
    others = OutputTag("others")

    class Split(ProcessFunction):
        def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield value if value[0] == "a" else (others, value)

    class Label(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return "count", *value

        def map2(self, value: Any) -> Any:
            return "other", value

    left, right = two(env)
    joined = left.join(right).where(key).equal_to(key).window(TUMBLING_10).apply(Glue())
    split = joined.process(Split())
    counts = split.map(lambda v: (v[0], 1)).key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    out = collect(counts.connect(split.get_side_output(others)).map(Label()))
    assert sorted(out) == [
        ("count", "a", 1),
        ("count", "a", 2),
        ("other", "bx"),
        ("other", "by"),
        ("other", "dz"),
    ]
