"""What the calls of the API add to the program, and what they refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from firesteel.common import Duration, WatermarkStrategy
from firesteel.common.errors import FiresteelError, ProgramError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    SinkFunction,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from firesteel.datastream.data_stream import CachedDataStream
from firesteel.program import operators as ops
from firesteel.program.transformations import (
    ChainingStrategy,
    OneInputTransformation,
    PartitionKind,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    TwoInputTransformation,
    UnionTransformation,
)
from tests.waiting import patience

HERE = os.path.basename(__file__)
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


class AddOne(MapFunction):
    def map(self, value: Any) -> Any:
        return value + 1


class Split(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        return value.split()


class Passing(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value


class KeyedPassing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


class Merging(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield value


class KeyedMerging(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        yield value


class TwoMaps(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class TwoFlatMaps(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return [value]

    def flat_map2(self, value: Any) -> Any:
        return [value]


def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)], type_info=PAIR)


@pytest.mark.row("S-GRAPH-01")
def test_a_program_is_a_list_of_transformations_that_point_at_their_inputs(
    env: StreamExecutionEnvironment,
) -> None:
    pairs(env).map(lambda v: v).key_by(lambda v: v[0]).process(KeyedPassing()).print()
    kinds = [type(t) for t in env.transformations]
    assert kinds == [
        SourceTransformation,
        OneInputTransformation,
        PartitionTransformation,
        OneInputTransformation,
        SinkTransformation,
    ]
    for before, after in zip(env.transformations, env.transformations[1:], strict=False):
        assert after.inputs == (before,)
    assert [t.name for t in env.transformations] == [
        "Collection Source",
        "Map",
        "Partition(HASH)",
        "KEYED PROCESS",
        "Print to Std. Out",
    ]


def test_each_transformation_knows_where_the_program_made_it(env: StreamExecutionEnvironment) -> None:
    pairs(env).map(AddOne())
    assert [t.created_at.split(":")[0] for t in env.transformations if t.created_at] == [HERE, HERE]
    line = int(str(env.transformations[1].created_at).split(":")[1])
    assert line == test_each_transformation_knows_where_the_program_made_it.__code__.co_firstlineno + 1


@pytest.mark.parametrize(
    ("build", "name", "spec", "output_type"),
    [
        (lambda s: s.map(AddOne()), "Map", ops.Map, None),
        (lambda s: s.map(str, output_type=Types.STRING()), "Map", ops.Map, Types.STRING()),
        (lambda s: s.map(str, [Types.STRING()]), "Map", ops.Map, Types.ROW([Types.STRING()])),
        (lambda s: s.flat_map(Split()), "FlatMap", ops.FlatMap, None),
        (lambda s: s.filter(lambda v: True), "Filter", ops.Filter, PAIR),
        (lambda s: s.process(Passing()), "PROCESS", ops.Process, None),
        (lambda s: s.project(1), "Projection", ops.Project, Types.TUPLE([Types.INT()])),
        (
            lambda s: s.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()),
            "Timestamps/Watermarks",
            ops.TimestampsAndWatermarks,
            PAIR,
        ),
    ],
)
def test_operators_of_a_stream(
    env: StreamExecutionEnvironment, build: Any, name: str, spec: type, output_type: Any
) -> None:
    made = build(pairs(env))._transformation
    assert (made.name, type(made.operator), made.output_type) == (name, spec, output_type)
    assert made.key_selector is None


@pytest.mark.parametrize(
    ("build", "name", "spec", "output_type"),
    [
        (lambda s: s.map(AddOne()), "Map", ops.KeyedMap(AddOne), None),
        (lambda s: s.flat_map(Split()), "FlatMap", ops.KeyedMap(Split, flat=True), None),
        (lambda s: s.filter(bool), "Filter", ops.KeyedMap(bool, filter=True), PAIR),
        (lambda s: s.process(KeyedPassing()), "KEYED PROCESS", ops.KeyedProcess(None), None),
        (lambda s: s.reduce(max), "Reduce", ops.KeyedReduce(max), PAIR),
        (lambda s: s.sum(1), "Reduce", ops.KeyedReduce(None), PAIR),
    ],
)
def test_operators_of_a_keyed_stream(
    env: StreamExecutionEnvironment, build: Any, name: str, spec: Any, output_type: Any
) -> None:
    def key(value: Any) -> Any:
        return value[0]

    made = build(pairs(env).key_by(key, Types.STRING()))._transformation
    assert (made.name, type(made.operator), made.output_type) == (name, type(spec), output_type)
    assert (made.key_selector, made.key_type) == (key, Types.STRING())
    if isinstance(spec, ops.KeyedMap):
        assert (made.operator.flat, made.operator.filter) == (spec.flat, spec.filter)
    partition = made.input
    assert partition.partitioning.kind is PartitionKind.HASH
    assert partition.partitioning.key_selector is key


def test_project_takes_fields_of_tuples_only(env: StreamExecutionEnvironment) -> None:
    stream = pairs(env)
    assert stream.project(1, 0).get_type() == Types.TUPLE([Types.INT(), Types.STRING()])
    with pytest.raises(ProgramError, match="at least one field"):
        stream.project()
    with pytest.raises(ProgramError, match="between 0 and 1"):
        stream.project(2)
    with pytest.raises(TypeError, match="declared type"):
        stream.map(lambda v: v).project(0)


@pytest.mark.parametrize("kind", ["shuffle", "rebalance", "rescale", "forward", "global_", "broadcast"])
@pytest.mark.row("S-GRAPH-02")
def test_partitioners_are_virtual(env: StreamExecutionEnvironment, kind: str) -> None:
    made = getattr(pairs(env), kind)()._transformation
    assert isinstance(made, PartitionTransformation)
    assert made.partitioning.kind is PartitionKind[kind.upper().rstrip("_")]
    assert made.output_type == PAIR


def test_partition_custom_takes_functions_and_objects(env: StreamExecutionEnvironment) -> None:
    class ByValue(Partitioner):
        def partition(self, key: Any, num_partitions: int) -> int:
            return int(key) % num_partitions

    class Second(KeySelector):
        def get_key(self, value: Any) -> Any:
            return value[1]

    made = pairs(env).partition_custom(ByValue(), Second())._transformation
    assert made.partitioning.partition(made.partitioning.key_selector(("a", 5)), 3) == 2
    plain = pairs(env).partition_custom(lambda key, n: 0, lambda v: v)._transformation
    assert plain.partitioning.kind is PartitionKind.CUSTOM


def test_union_needs_equal_types(env: StreamExecutionEnvironment) -> None:
    one, two = pairs(env), pairs(env)
    made = one.union(two, one)._transformation
    assert isinstance(made, UnionTransformation)
    assert made.union_of == (one._transformation, two._transformation, one._transformation)
    with pytest.raises(TypeError, match="different types"):
        one.union(one.map(lambda v: v))
    with pytest.raises(ProgramError, match="different environments"):
        one.union(pairs(StreamExecutionEnvironment()))


def test_connected_streams(env: StreamExecutionEnvironment) -> None:
    one, two = pairs(env), env.from_collection([1])
    connected = one.connect(two)
    for function, method, name, spec in (
        (TwoMaps(), "map", "Co-Map", ops.CoMap),
        (TwoFlatMaps(), "flat_map", "Co-Flat Map", ops.CoFlatMap),
        (Merging(), "process", "Co-Process", ops.CoProcess),
    ):
        made = getattr(connected, method)(function, Types.INT())._transformation
        assert isinstance(made, TwoInputTransformation)
        assert (made.name, type(made.operator), made.output_type) == (name, spec, Types.INT())
        assert made.inputs == (one._transformation, two._transformation)
        assert made.key_selector1 is None
    with pytest.raises(TypeError, match="CoProcessFunction") as error:
        connected.process(KeyedMerging())
    assert "key_by()" in str(error.value)


def test_connected_keyed_streams(env: StreamExecutionEnvironment) -> None:
    one, two = pairs(env), pairs(env)
    keyed = one.connect(two).key_by(lambda v: v[0], lambda v: v[1], Types.STRING())
    made = keyed.process(KeyedMerging())._transformation
    assert (made.name, type(made.operator)) == ("Keyed Co-Process", ops.KeyedCoProcess)
    assert made.key_selector1(("a", 1)) == "a"
    assert made.key_selector2(("a", 1)) == 1
    assert made.key_type == Types.STRING()
    assert type(keyed.process(Merging())._transformation.operator) is ops.KeyedCoProcess
    assert keyed.map(TwoMaps())._transformation.operator.flat is False
    assert keyed.flat_map(TwoFlatMaps())._transformation.operator.flat is True
    with pytest.raises(ProgramError, match="of one type"):
        one.key_by(lambda v: v, Types.STRING()).connect(two.key_by(lambda v: v)).map(TwoMaps())


def test_side_outputs(env: StreamExecutionEnvironment) -> None:
    main = pairs(env).process(Passing())
    late = main.get_side_output(OutputTag("late", Types.INT()))
    made = late._transformation
    assert isinstance(made, SideOutputTransformation)
    assert (made.input, made.tag.tag_id, made.output_type) == (main._transformation, "late", Types.INT())
    main.get_side_output(OutputTag("late", Types.INT()))
    with pytest.raises(ProgramError, match="two types"):
        main.get_side_output(OutputTag("late", Types.STRING()))
    for stream in (main.rebalance(), main.union(main), main.key_by(lambda v: v)):
        with pytest.raises(ProgramError, match="belongs to the operator that emits"):
            stream.get_side_output(OutputTag("late", Types.INT()))


def test_a_side_output_may_be_named_as_in_pyflink(env: StreamExecutionEnvironment) -> None:
    late = pairs(env).process(Passing()).get_side_output(OutputTag("late", Types.INT()))
    late.name("late records").set_parallelism(2)
    made = late._transformation
    assert isinstance(made, OneInputTransformation)
    assert (made.name, made.parallelism, made.output_type) == ("late records", 2, Types.INT())
    assert isinstance(made.input, SideOutputTransformation)
    assert late.get_name() == "late records"


def test_settings_of_an_operator(env: StreamExecutionEnvironment) -> None:
    stream = pairs(env).map(lambda v: v)
    (
        stream.name("n")
        .uid("u")
        .set_uid_hash("0" * 32)
        .set_parallelism(3)
        .set_max_parallelism(12)
        .set_buffer_timeout(5)
        .set_description("d")
        .slot_sharing_group("g")
        .start_new_chain()
    )
    made = stream._transformation
    assert (made.name, made.uid, made.uid_hash, made.parallelism) == ("n", "u", "0" * 32, 3)
    assert (made.max_parallelism, made.buffer_timeout_ms) == (12, 5)
    assert (made.description, made.slot_sharing_group, made.chaining) == ("d", "g", ChainingStrategy.HEAD)
    assert stream.disable_chaining()._transformation.chaining is ChainingStrategy.NEVER
    sink = stream.print("out").name("p").uid("q").set_parallelism(1).disable_chaining()._transformation
    assert (sink.name, sink.uid, sink.parallelism, sink.sink.identifier) == ("p", "q", 1, "out")


def test_a_larger_parallelism_than_the_limit_is_refused(env: StreamExecutionEnvironment) -> None:
    stream = pairs(env)
    with pytest.raises(ProgramError, match="not be larger than 1"):
        stream.set_parallelism(2)
    with pytest.raises(ProgramError, match="must be 1"):
        stream.set_max_parallelism(4)
    mapped = stream.map(lambda v: v).force_non_parallel()
    assert mapped._transformation.parallelism == 1
    with pytest.raises(ProgramError, match="not be larger than 1"):
        mapped.set_parallelism(2)
    with pytest.raises(ProgramError, match="smaller than the parallelism"):
        stream.map(lambda v: v).set_parallelism(8).set_max_parallelism(4)


def test_a_used_up_uid_is_refused_with_the_place_of_the_other(env: StreamExecutionEnvironment) -> None:
    first = pairs(env).map(lambda v: v).uid("a")
    first.uid("a")
    with pytest.raises(ProgramError, match="uid 'a' is taken") as error:
        pairs(env).filter(bool).uid("a")
    assert error.value.operator == "Filter"
    assert f"'Map' of {HERE}" in str(error.value)
    first.uid("b")
    pairs(env).filter(bool).uid("a")


@pytest.mark.parametrize("virtual", [lambda s: s.rebalance(), lambda s: s.union(s)])
def test_settings_do_not_belong_to_partitionings_and_unions(
    env: StreamExecutionEnvironment, virtual: Any
) -> None:
    with pytest.raises(ProgramError, match="cannot be set here"):
        virtual(pairs(env)).name("x")


def test_a_keyed_stream_refuses_settings_and_partitionings(env: StreamExecutionEnvironment) -> None:
    keyed = pairs(env).key_by(lambda v: v[0])
    for call in (
        lambda: keyed.name("x"),
        lambda: keyed.uid("x"),
        lambda: keyed.set_uid_hash("0" * 32),
        lambda: keyed.set_parallelism(2),
        lambda: keyed.set_max_parallelism(2),
        lambda: keyed.force_non_parallel(),
        lambda: keyed.set_buffer_timeout(2),
        lambda: keyed.start_new_chain(),
        lambda: keyed.disable_chaining(),
        lambda: keyed.slot_sharing_group("g"),
        lambda: keyed.get_name(),
        lambda: keyed.shuffle(),
        lambda: keyed.rebalance(),
        lambda: keyed.rescale(),
        lambda: keyed.forward(),
        lambda: keyed.broadcast(),
        lambda: keyed.global_(),
        lambda: keyed.partition_custom(lambda k, n: 0, lambda v: v),
    ):
        with pytest.raises(ProgramError, match="keyed stream"):
            call()
    assert keyed.key_by(lambda v: v[1])._transformation.inputs == keyed._transformation.inputs
    assert keyed.get_type() == PAIR


@pytest.mark.row("S-OPS-10", "S-OPS-13")
def test_what_comes_later_is_refused_with_a_way_out(env: StreamExecutionEnvironment) -> None:
    stream = pairs(env)
    for call, way_out in (
        (lambda: stream.split(lambda v: ["odd"]), "side outputs"),
        (lambda: stream.key_by(lambda v: v[0]).iterate(), "one job for each round"),
    ):
        with pytest.raises(UnsupportedFeatureError) as error:
            call()
        assert way_out in (error.value.hint or "")
        assert error.value.operator
        assert isinstance(error.value, NotImplementedError)
    with pytest.raises(TypeError, match="MapStateDescriptor"):
        stream.broadcast("rules")


@pytest.mark.parametrize("module", ["firesteel.dataset", "pyflink.dataset"])
@pytest.mark.row("S-OPS-23", "S-BATCH-06")
def test_the_dataset_api_is_refused_with_the_mode_to_use(module: str) -> None:
    """No name of it can be imported."""
    code = f"from firesteel.cli import pyflink_alias; pyflink_alias.install(); from {module} import DataSet"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=patience(60))
    assert done.returncode == 1
    assert "set_runtime_mode(RuntimeExecutionMode.BATCH)" in done.stderr.splitlines()[-1]


def test_a_cached_stream_cannot_be_set(env: StreamExecutionEnvironment) -> None:
    cached = pairs(env).cache()
    for call in (
        lambda: cached.name("x"),
        lambda: cached.get_name(),
        lambda: cached.uid("x"),
        lambda: cached.set_uid_hash("0" * 32),
        lambda: cached.set_parallelism(1),
        lambda: cached.set_max_parallelism(1),
        lambda: cached.force_non_parallel(),
        lambda: cached.set_buffer_timeout(1),
        lambda: cached.start_new_chain(),
        lambda: cached.disable_chaining(),
        lambda: cached.slot_sharing_group("x"),
    ):
        with pytest.raises(ProgramError, match="cannot be set or read on a cached stream"):
            call()
    assert isinstance(cached, CachedDataStream)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: s.map(5), "must be a MapFunction or a callable"),
        (lambda s: s.map(AddOne), "a class and not an object"),
        (lambda s: s.map(Split()), "must be a MapFunction"),
        (lambda s: s.filter(AddOne()), "must be a FilterFunction"),
        (lambda s: s.process(lambda v: v), "must be a ProcessFunction"),
        (lambda s: s.process(KeyedPassing()), "must be a ProcessFunction"),
        (lambda s: s.key_by(lambda v: v).process(Passing()), "must be a KeyedProcessFunction"),
        (lambda s: s.key_by("f0"), "must be a KeySelector or a callable"),
        (lambda s: s.key_by(lambda v: v).reduce(3), "must be a ReduceFunction"),
        (lambda s: s.map(lambda v: v, output_type="INT"), "output_type is not a type"),
        (lambda s: s.connect(s).map(lambda v: v), "must be a CoMapFunction"),
        (lambda s: s.union(3), "takes streams"),
        (lambda s: s.connect(3), "takes a stream"),
        (lambda s: s.sink_to(3), "takes a sink"),
        (lambda s: s.add_sink(print), "takes a SinkFunction"),
        (lambda s: s.get_side_output("late"), "takes an OutputTag"),
        (lambda s: s.assign_timestamps_and_watermarks(Duration.of_seconds(1)), "needs a WatermarkStrategy"),
        (lambda s: s.name(3), "must be a text"),
    ],
)
def test_a_wrong_argument_is_a_type_error_at_once(
    env: StreamExecutionEnvironment, call: Any, text: str
) -> None:
    with pytest.raises(TypeError, match=text) as error:
        call(pairs(env))
    assert isinstance(error.value, FiresteelError)
    assert error.value.operator


def test_an_async_function_is_no_map(env: StreamExecutionEnvironment) -> None:
    async def later(value: Any) -> Any:
        return value

    with pytest.raises(TypeError, match="async"):
        pairs(env).map(later)


def test_resources_of_a_slot_sharing_group_are_said_to_have_no_effect(
    env: StreamExecutionEnvironment,
) -> None:
    group = SlotSharingGroup.builder("big").set_cpu_cores(1.0).set_task_heap_memory_mb(100).build()
    stream = pairs(env).map(lambda v: v)
    with pytest.warns(UserWarning, match="'big' have no effect"):
        stream.slot_sharing_group(group)
    assert stream._transformation.slot_sharing_group == "big"
    assert env.slot_sharing_groups == {"big": group}
    stream.slot_sharing_group(SlotSharingGroup.builder("plain").build())


def test_sink_functions_get_every_record(env: StreamExecutionEnvironment) -> None:
    class Recording(SinkFunction):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[Any] = []

        def open(self) -> None:
            self.seen.append("open")

        def close(self) -> None:
            self.seen.append("close")

        def invoke(self, value: Any, context: SinkFunction.Context) -> None:
            self.seen.append((value, context.timestamp()))

    function = Recording()
    sink: Any = pairs(env).add_sink(function)._transformation
    writer = sink.sink.create_writer(None)
    writer.write_batch(["a", "b"], [1, None])
    writer.write_batch(["c"], None)
    assert writer.prepare_commit() == []
    writer.close()
    assert function.seen == ["open", ("a", 1), ("b", None), ("c", None), "close"]
    with pytest.raises(TypeError, match="invoke"):
        pairs(env).add_sink(SinkFunction())
    with pytest.raises(UnsupportedFeatureError, match="Java"):
        SinkFunction("org.example.Sink")


def test_a_stream_cannot_go_to_the_workers(env: StreamExecutionEnvironment) -> None:
    stream = pairs(env)
    with pytest.raises(ProgramError, match="cannot be sent") as error:
        stream.map(lambda v: stream)
    assert "variable 'stream'" in str(error.value)


def test_a_strategy_that_is_changed_later_stays_as_it_was_where_it_was_used(env: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    first = env.from_collection([1]).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, ts: value)
    )
    second = env.from_collection([1]).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, ts: -value)
    )
    strategies = [stream._transformation.operator.strategy for stream in (first, second)]
    assert [s.timestamp_assigner.extract_timestamp(7, 0) for s in strategies] == [7, -7]
