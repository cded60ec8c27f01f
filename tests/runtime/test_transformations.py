"""map, flat_map, filter, key_by, reduce, aggregates, union, side outputs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, TypeMismatchError, UnstableKeyError
from firesteel.common.typeinfo import Types
from firesteel.common.types import Row
from firesteel.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.graph.job_graph import create_job_graph

from .support import collect, environment, note, notes

CUTS = pytest.mark.parametrize("epoch_records", [1, 2, None])


@pytest.mark.row("S-OPS-01")
def test_map_gives_one_record_for_each_in_order() -> None:
    env = environment(1)
    assert collect(env.from_collection(range(3000)).map(lambda x: x * 2)) == [x * 2 for x in range(3000)]


@pytest.mark.row("S-OPS-02")
def test_flat_map_and_filter() -> None:
    env = environment(1)
    stream = env.from_collection([1, 2, 3]).flat_map(lambda x: [x] * x).filter(lambda x: x % 2)
    assert collect(stream) == [1, 3, 3, 3]


def test_a_flat_map_may_give_nothing_or_be_a_generator() -> None:
    def some(x: int) -> Iterator[int] | None:
        return None if x == 2 else (x + i for i in range(x))

    assert collect(environment(1).from_collection([1, 2, 3]).flat_map(some)) == [1, 3, 4, 5]


def test_function_classes() -> None:
    class Double(MapFunction):
        def map(self, value: Any) -> Any:
            return value * 2

    class Twice(FlatMapFunction):
        def flat_map(self, value: Any) -> Any:
            return [value, value]

    class Even(FilterFunction):
        def filter(self, value: Any) -> Any:
            return value % 4 == 0

    class Mod(KeySelector):
        def get_key(self, value: Any) -> Any:
            return value % 3

    class Sum(ReduceFunction):
        def reduce(self, value1: Any, value2: Any) -> Any:
            return value1 + value2

    env = environment(1)
    stream = (
        env.from_collection([1, 2, 4])
        .map(Double())
        .flat_map(Twice())
        .filter(Even())
        .key_by(Mod())
        .reduce(Sum())
    )
    assert collect(stream) == [4, 8, 8, 16]


def test_project() -> None:
    env = environment(1)
    type_info = Types.TUPLE([Types.INT(), Types.STRING(), Types.INT()])
    stream = env.from_collection([(1, "a", 2)], type_info=type_info).project(2, 0)
    assert collect(stream) == [(2, 1)]


RECORDS = [("k", 3, "a"), ("k", 1, "b"), ("k", 2, "c")]


@CUTS
@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("sum", [("k", 3, "a"), ("k", 4, "a"), ("k", 6, "a")]),
        ("min", [("k", 3, "a"), ("k", 1, "a"), ("k", 1, "a")]),
        ("max", [("k", 3, "a"), ("k", 3, "a"), ("k", 3, "a")]),
        ("min_by", [("k", 3, "a"), ("k", 1, "b"), ("k", 1, "b")]),
        ("max_by", [("k", 3, "a"), ("k", 3, "a"), ("k", 3, "a")]),
    ],
)
@pytest.mark.row("S-OPS-05", "S-ARCH-04", "T14")
def test_rolling_aggregates_give_a_result_for_each_record(
    aggregate: str, expected: list[Any], epoch_records: int | None
) -> None:
    env = environment(2, epoch_records=epoch_records)
    keyed = env.from_collection(RECORDS).key_by(lambda r: r[0])
    assert collect(getattr(keyed, aggregate)(1)) == expected


@CUTS
def test_the_first_of_equal_records_is_the_smallest_and_largest(epoch_records: int | None) -> None:
    env = environment(1, epoch_records=epoch_records)
    keyed = env.from_collection([("k", 1, "a"), ("k", 1, "b")]).key_by(lambda r: r[0])
    assert collect(keyed.min_by(1)) == [("k", 1, "a")] * 2
    assert collect(keyed.max_by(1)) == [("k", 1, "a")] * 2


@CUTS
@pytest.mark.row("S-OPS-04", "S-ARCH-04")
def test_reduce_gives_the_first_record_as_it_is_and_keeps_keys_apart(epoch_records: int | None) -> None:
    env = environment(1, epoch_records=epoch_records)
    keyed = env.from_collection([("a", 1), ("b", 10), ("a", 2), ("b", 20)]).key_by(lambda r: r[0])
    out = collect(keyed.reduce(lambda x, y: (x[0], x[1] + y[1])))
    assert out == [("a", 1), ("b", 10), ("a", 3), ("b", 30)]


class CountKey(KeyedProcessFunction):
    """(type name, key, how often this key was seen)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        key = ctx.get_current_key()
        ctx.timer_service().register_event_time_timer(self.count.value())
        yield "element", type(key).__name__, key, self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        key = ctx.get_current_key()
        yield "timer", type(key).__name__, key, timestamp


MIXED_KEYS: list[Any] = [
    1, 1.0, True, "1", None, b"1", (1, "a"), (1.0, "a"), ("a", 1), dt.date(2024, 1, 2),
    dt.datetime(2024, 1, 2), Decimal("1"), 0, False, 0.0, "", (), -1, 2**70, "ü", dt.time(1, 2),
    (None, (True,)),
]  # fmt: skip


@CUTS
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.row("S-OPS-03")
def test_keys_of_many_types_in_one_stream_are_all_different(
    parallelism: int, epoch_records: int | None
) -> None:
    """1, 1.0, True and "1" are four keys; None is one."""
    env = environment(parallelism, epoch_records=epoch_records)
    out = collect(env.from_collection(MIXED_KEYS * 2).key_by(lambda v: v).process(CountKey()))
    expected = [
        (what, type(key).__name__, key, n)
        for key in MIXED_KEYS
        for what in ("element", "timer")
        for n in (1, 2)
    ]
    assert sorted(map(repr, out)) == sorted(map(repr, expected))


@pytest.mark.parametrize("select", [lambda v: lambda: 0, lambda v: (1, (x for x in ()))])
def test_a_key_without_a_stable_form_is_refused_with_the_operator(select: Callable[[int], Any]) -> None:
    env = environment(2)
    stream = (
        env.from_collection([1]).map(lambda v: v).name("before the key").key_by(select).process(CountKey())
    )
    with pytest.raises(JobExecutionError) as failed:
        collect(stream)
    assert isinstance(failed.value.__cause__, UnstableKeyError)
    assert failed.value.operator is not None
    assert "before the key" in failed.value.operator


class Enriching:
    def __init__(self, prices: dict[str, int]) -> None:
        self.prices = prices

    def enrich(self, order: tuple[str, int]) -> tuple[str, int, int]:
        return *order, self.prices[order[0]] * order[1]


@pytest.mark.row("S-OPS-19")
def test_a_bound_method_is_a_function() -> None:
    """A method of the record's own class as the function."""
    orders = environment(2).from_collection([("ink", 2), ("pen", 3)])
    enriched = orders.map(Enriching({"ink": 5, "pen": 1}).enrich)
    assert sorted(collect(enriched)) == [("ink", 2, 10), ("pen", 3, 3)]


@pytest.mark.row("S-OPS-18")
def test_two_sources_and_two_ends() -> None:
    """Map, filter and map are one vertex."""
    env = environment(1)
    both = env.from_collection([1, 2], Types.LONG()).union(env.from_sequence(3, 4))
    chained = both.rebalance().map(lambda v: v * 10).filter(lambda v: v > 10).map(lambda v: v + 1)
    chained.map(lambda v: note("one", v)).name("first end")
    both.map(lambda v: note("two", v)).name("second end")
    names = [vertex.name for vertex in create_job_graph(env.get_stream_graph()).vertices]
    env.execute()
    assert sorted(notes["one"]) == [21, 31, 41]
    assert sorted(notes["two"]) == [1, 2, 3, 4]
    assert [name for name in names if "first end" in name] == ["Map -> Filter -> Map -> first end"]


@pytest.mark.row("S-OPS-09", "T16")
def test_union_delivers_everything_and_a_stream_with_itself_twice() -> None:
    env = environment(2)
    s = env.from_collection([1, 2])
    assert sorted(collect(s.union(s))) == [1, 1, 2, 2]
    assert sorted(collect(s.union(env.from_collection([3]), s))) == [1, 1, 2, 2, 3]
    assert sorted(collect(s.union(s).map(lambda x: -x).key_by(lambda x: x).sum(0))) == [-4, -2, -2, -1]


ODD, NEGATIVE = OutputTag("odd", Types.INT()), OutputTag("negative")


class Sorter(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        if value < 0:
            yield NEGATIVE, value
        yield value


class KeyedSorter(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield from Sorter().process_element(value, ctx)  # type: ignore[arg-type]


@CUTS
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.row("S-OPS-11")
def test_side_outputs(keyed: bool, epoch_records: int | None) -> None:
    """Three exact lists."""
    values = [1, -2, 3, -3, 4]
    env = environment(1, epoch_records=epoch_records)
    source = env.from_collection(values)
    main = source.key_by(lambda v: 0).process(KeyedSorter()) if keyed else source.process(Sorter())
    odd, negative = main.get_side_output(ODD), main.get_side_output(NEGATIVE)
    out = collect(
        main.map(lambda v: ("main", v)).union(
            odd.map(lambda v: ("odd", v)), negative.map(lambda v: ("neg", v))
        )
    )
    assert [v for t, v in out if t == "main"] == values
    assert [v for t, v in out if t == "odd"] == [1, 3, -3]
    assert [v for t, v in out if t == "neg"] == [-2, -3]


def test_a_side_output_that_nobody_reads_is_dropped() -> None:
    assert collect(environment(1).from_collection([1, -1]).process(Sorter())) == [1, -1]


@pytest.mark.parametrize("kept_at", [0, 1, 2])
@pytest.mark.parametrize("exchange", [False, True])
@pytest.mark.row("S-GRAPH-14")
def test_a_map_that_changes_its_record_is_not_seen_by_the_sibling_branch(
    exchange: bool, kept_at: int
) -> None:
    def spoil(record: list[int]) -> str:
        record.append(99)
        return "spoilt"

    env = environment(1)
    s = env.from_collection([[1], [2]]).map(lambda r: [*r, 0])
    if exchange:
        s = s.rebalance().map(lambda r: r)
    one, two, three = [s.map((lambda r: ("kept", list(r))) if i == kept_at else spoil) for i in range(3)]
    out = collect(one.union(two, three))
    assert sorted(v for v in out if v != "spoilt") == [("kept", [1, 0]), ("kept", [2, 0])]
    assert len(out) == 6


def test_a_record_sent_to_main_and_side_output_is_not_shared() -> None:
    class Both(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield NEGATIVE, value
            yield value

    def spoil(record: list[int]) -> str:
        record.append(99)
        return "spoilt"

    main = environment(1).from_collection([[1]]).process(Both())
    out = collect(main.map(spoil).union(main.get_side_output(NEGATIVE).map(lambda r: list(r))))
    assert [v for v in out if v != "spoilt"] == [[1]]


def test_declared_types_are_applied_where_they_are_declared() -> None:
    env = environment(1)
    row = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    out = collect(
        env.from_collection([1]).map(lambda v: Row(v, "x"), output_type=row).map(lambda r: r.id + 1)
    )
    assert out == [2]
    assert collect(env.from_collection([1]).map(lambda v: v, output_type=Types.DOUBLE())) == [1.0]
    assert type(collect(env.from_collection([1]).map(lambda v: v, output_type=Types.DOUBLE()))[0]) is float


def test_declared_types_are_not_applied_between_the_functions_of_a_chain() -> None:
    """As PyFlink does it: there is no coder between a function and the only one that follows it. The first
    of each pair goes on to a function alone, the second also to a side output, a sink or an exchange."""

    class Tagged(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield value
            yield ODD, 1

    def floats(env: Any) -> Any:
        return env.from_collection([0.1]).map(lambda v: v, output_type=Types.FLOAT())

    wide = "0.10000000149011612"
    assert collect(floats(environment(1)).map(repr)) == ["0.1"]
    assert collect(floats(environment(1)).filter(lambda v: v == 0.1).map(repr)) == ["0.1"]
    assert collect(floats(environment(1)).key_by(lambda v: 0).map(repr)) == [wide]
    assert collect(floats(environment(1)).rebalance().map(repr)) == [wide]
    twice = floats(environment(1))
    assert collect(twice.map(repr).union(twice.map(repr))) == [wide, wide]
    tagged = environment(1).from_collection([0.1]).process(Tagged(), output_type=Types.FLOAT())
    assert collect(tagged.map(repr).union(tagged.get_side_output(ODD).map(repr))) == [wide, "1"]


@pytest.mark.parametrize("where", ["map", "side"])
@pytest.mark.row("S-API-12")
def test_a_value_that_does_not_fit_its_declared_type_is_an_error_of_that_operator(where: str) -> None:
    env = environment(1)
    if where == "map":
        stream = env.from_collection([1]).map(lambda v: "text", output_type=Types.INT()).name("wrong")
    else:

        class Wrong(ProcessFunction):
            def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
                yield ODD, "text"

        stream = env.from_collection([1]).process(Wrong()).name("wrong").get_side_output(ODD)
    with pytest.raises(JobExecutionError) as failed:
        collect(stream)
    assert isinstance(failed.value.__cause__, TypeMismatchError)
    assert failed.value.operator == "wrong"


def test_records_that_are_bool_none_or_tuples_with_a_tag_inside_pass() -> None:
    values = [None, False, (), (None,), ("tag", ODD.tag_id), [], {}]
    env = environment(1)

    class Same(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield value

    assert collect(env.from_collection(values).process(Same())) == values
    assert collect(env.from_collection(values).rebalance().map(lambda v: v)) == values


def test_the_execution_plan_of_a_program_is_there_without_running_it() -> None:
    env = environment(2)
    env.from_collection([1, 2]).map(lambda v: v).print()
    plan = json.loads(env.get_execution_plan())
    assert [node["type"] for node in plan["nodes"]][1:] == ["Map", "Sink: Print to Std. Out"]
    assert len(env.get_stream_graph().nodes) == 3


def test_a_side_output_may_be_named_while_records_are_processed() -> None:
    """In a process that had no tag before, as a worker may be."""

    class Late(KeyedProcessFunction):
        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            yield value
            if value == 2:
                yield OutputTag("odd", Types.INT()), value  # nobody reads it: it is dropped

    try:
        OutputTag.any_made = False
        stream = environment(1).from_collection([1, 2, 3]).key_by(lambda v: v).process(Late())
        assert sorted(collect(stream)) == [1, 2, 3]
    finally:
        OutputTag.any_made = True
