"""What windows add to a program, and what is refused when it is built."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

from firesteel.common.errors import ProgramError, UnpicklableFunctionError, UnsupportedFeatureError
from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import Duration, Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    Trigger,
    TriggerResult,
    WindowAssigner,
    WindowFunction,
)
from firesteel.datastream._windowed_stream import _Windows
from firesteel.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from firesteel.datastream.window import (
    CountEvictor,
    CountTrigger,
    CountWindow,
    CountWindowSerializer,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    NeverTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.program import operators as ops
from firesteel.program.transformations import OneInputTransformation

from .window_support import ElementIsGap, FakeContext, ms

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
CONTINUE, FIRE, PURGE, FIRE_AND_PURGE = (
    TriggerResult.CONTINUE,
    TriggerResult.FIRE,
    TriggerResult.PURGE,
    TriggerResult.FIRE_AND_PURGE,
)


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class First(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class Keys(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key


class ProcessKeys(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key


class All(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield 1


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield 1


@pytest.fixture
def stream(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1)], type_info=PAIR)


@pytest.fixture
def keyed(stream: DataStream) -> KeyedStream:
    return stream.key_by(lambda p: p[0], Types.STRING())


def operator(stream: DataStream) -> tuple[OneInputTransformation, ops.Window]:
    transformation = stream._transformation
    assert isinstance(transformation, OneInputTransformation)
    assert isinstance(transformation.operator, ops.Window)
    return transformation, transformation.operator


SIZE = Time.seconds(5)
PROGRAMS: list[tuple[Callable[[Any, Any], DataStream], str, str, Any]] = [
    # (stream, keyed stream) -> result, the name and description in PyFlink's plan, the type of the result
    (
        lambda s, k: k.window(TumblingEventTimeWindows.of(SIZE)).reduce(lambda a, b: a),
        "TumblingEventTimeWindows",
        "Window(TumblingEventTimeWindows(5000, 0), EventTimeTrigger, function)",
        PAIR,
    ),
    (
        lambda s, k: k.window(SlidingEventTimeWindows.of(SIZE, Time.seconds(1), ms(3))).reduce(
            First(), ProcessKeys()
        ),
        "SlidingEventTimeWindows",
        "Window(SlidingEventTimeWindows(5000, 1000, 3), EventTimeTrigger, First, ProcessKeys)",
        None,
    ),
    (
        lambda s, k: k.window(SlidingProcessingTimeWindows.of(SIZE, Time.seconds(1))).aggregate(
            Sum(), output_type=Types.INT()
        ),
        "SlidingProcessingTimeWindows",
        "Window(SlidingProcessingTimeWindows(5000, 1000, 0), ProcessingTimeTrigger, Sum)",
        Types.INT(),
    ),
    (
        lambda s, k: k.window(EventTimeSessionWindows.with_gap(SIZE)).apply(Keys(), Types.STRING()),
        "EventTimeSessionWindows",
        "Window(EventTimeSessionWindows(5000), EventTimeTrigger, Keys)",
        Types.STRING(),
    ),
    (
        lambda s, k: k.window(EventTimeSessionWindows.with_dynamic_gap(ElementIsGap())).process(
            ProcessKeys()
        ),
        "DynamicEventTimeSessionWindows",
        "Window(DynamicEventTimeSessionWindows(0), EventTimeTrigger, ProcessKeys)",
        None,
    ),
    (
        lambda s, k: (
            k.window(GlobalWindows.create())
            .trigger(PurgingTrigger.of(CountTrigger.of(2)))
            .process(ProcessKeys(), [Types.STRING()])
        ),
        "GlobalWindows",
        "Window(GlobalWindows(), PurgingTrigger, ProcessKeys)",
        Types.ROW([Types.STRING()]),
    ),
    (
        lambda s, k: k.count_window(3, 2).apply(Keys()),
        "CountSlidingWindowAssigner",
        "Window(CountSlidingWindowAssigner(3, 2), PurgingTrigger, Keys)",  # PyFlink: CountTrigger
        None,
    ),
    (
        lambda s, k: s.window_all(TumblingProcessingTimeWindows.of(SIZE)).process(ProcessAll()),
        "TumblingProcessingTimeWindows",
        "AllWindow(TumblingProcessingTimeWindows(5000, 0), ProcessingTimeTrigger, ProcessAll)",
        None,
    ),
    (
        lambda s, k: s.window_all(TumblingEventTimeWindows.of(SIZE)).aggregate(
            Sum(), All(), accumulator_type=[Types.INT()]
        ),
        "TumblingEventTimeWindows",
        "AllWindow(TumblingEventTimeWindows(5000, 0), EventTimeTrigger, Sum, All)",
        None,
    ),
    (
        lambda s, k: s.count_window_all(2).reduce(lambda a, b: a),
        "CountTumblingWindowAssigner",
        "AllWindow(CountTumblingWindowAssigner(2), PurgingTrigger, function)",
        PAIR,
    ),
    (  # with an evictor as Java describes it
        lambda s, k: k.window(TumblingEventTimeWindows.of(SIZE)).evictor(CountEvictor.of(1)).reduce(First()),
        "TumblingEventTimeWindows",
        "Window(TumblingEventTimeWindows(5000, 0), EventTimeTrigger, CountEvictor, First)",
        PAIR,
    ),
]


@pytest.mark.parametrize(
    ("build", "name", "description", "output_type"), PROGRAMS, ids=[p[2] for p in PROGRAMS]
)
def test_names_and_types(
    stream: DataStream,
    keyed: KeyedStream,
    build: Callable[[Any, Any], DataStream],
    name: str,
    description: str,
    output_type: Any,
) -> None:
    result = build(stream, keyed)
    transformation, _ = operator(result)
    assert result.get_name() == name
    assert transformation.description == description
    assert transformation.output_type == output_type
    assert transformation.key_selector is not None


def test_settings_reach_the_operator(keyed: KeyedStream) -> None:
    late = OutputTag("late", PAIR)
    assigner, trigger, evictor = (
        TumblingEventTimeWindows.of(SIZE),
        CountTrigger.of(2),
        TimeEvictor.of(Time.seconds(1)),
    )
    function, aggregate = ProcessKeys(), Sum()
    windows = keyed.window(assigner)
    settings = windows.trigger(NeverTrigger()).trigger(trigger).evictor(evictor).allowed_lateness(200)
    assert settings.side_output_late_data(late) is windows
    result = windows.aggregate(aggregate, function)
    transformation, spec = operator(result)
    assert spec == ops.Window(
        assigner, trigger, ops.WindowContents("aggregate", aggregate), function, evictor, 200, late
    )
    assert transformation.key_type == Types.STRING()
    assert transformation.input is keyed._transformation
    assert transformation.created_at is not None
    assert transformation.created_at.startswith("test_datastream_windowed_streams.py:")
    assert result.get_side_output(late).get_type() == PAIR
    _, spec = operator(windows.process(function))
    assert spec.contents == ops.WindowContents("list")
    assert spec.function is function
    _, spec = operator(windows.allowed_lateness(Duration.of_seconds(1)).reduce(First()))
    assert (spec.contents.kind, spec.function, spec.allowed_lateness_ms) == ("reduce", None, 1000)


def test_facts_of_a_windowed_stream(env: StreamExecutionEnvironment, stream: DataStream) -> None:
    keyed = stream.key_by(lambda p: p[0])
    for windows in (keyed.count_window(2), stream.count_window_all(2), keyed.count_window_all(2, 1)):
        assert windows.get_execution_environment() is env
        assert windows.get_input_type() == PAIR


def test_the_default_trigger_gets_the_environment(
    env: StreamExecutionEnvironment, keyed: KeyedStream
) -> None:
    class ByParallelism(GlobalWindows[Any]):
        def get_default_trigger(self, env: StreamExecutionEnvironment) -> Trigger[Any, GlobalWindow]:
            return CountTrigger.of(env.get_parallelism())

    env.set_parallelism(3)
    _, spec = operator(keyed.window(ByParallelism()).reduce(First()))
    context = FakeContext()
    assert [spec.trigger.on_element(1, 1, GlobalWindow(), context) for _ in range(3)][1:] == [CONTINUE, FIRE]


@pytest.mark.row("S-WIN-10")
def test_windows_of_all_records_run_in_one_subtask(
    env: StreamExecutionEnvironment, stream: DataStream
) -> None:
    env.set_parallelism(4)
    result = stream.window_all(TumblingEventTimeWindows.of(SIZE)).reduce(First())
    transformation, _ = operator(result)
    assert (transformation.parallelism, transformation.max_parallelism) == (1, 1)
    assert transformation.key_selector is not None
    assert {transformation.key_selector(v) for v in (1, "a", None)} == {0}
    with pytest.raises(ProgramError, match="must not be larger than 1"):
        result.set_parallelism(2)
    with pytest.raises(ProgramError, match="must be 1"):
        result.set_max_parallelism(2)
    result.set_parallelism(1).set_max_parallelism(1)


# ---- programs with assigners and triggers of their own, written for PyFlink ----


class OddOrEven(WindowAssigner[Any, CountWindow]):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[CountWindow]:
        return [CountWindow(element % 2)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        return EverySecond()

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


class EverySecond(Trigger[Any, CountWindow]):
    def on_element(self, element: Any, timestamp: int, window: CountWindow, ctx: Any) -> TriggerResult:
        return FIRE

    def on_processing_time(self, time: int, window: CountWindow, ctx: Any) -> TriggerResult:
        return CONTINUE

    def on_event_time(self, time: int, window: CountWindow, ctx: Any) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: CountWindow, ctx: Any) -> None:
        pass

    def clear(self, window: CountWindow, ctx: Any) -> None:
        pass


class OwnSessions(MergingWindowAssigner[Any, TimeWindow]):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        TimeWindow.merge_windows(windows, callback)

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EverySecond()  # type: ignore[return-value]

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def test_own_assigners_and_triggers(keyed: KeyedStream) -> None:
    result = keyed.window(OddOrEven()).reduce(First())
    _, spec = operator(result)
    assert isinstance(spec.trigger, EverySecond)
    assert result.get_name() == "OddOrEven"


# ---- refusals ----


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s, k: k.window(None), "need a WindowAssigner"),
        (lambda s, k: k.window(TumblingEventTimeWindows), "need a WindowAssigner"),
        (lambda s, k: s.window_all(Time.seconds(5)), "need a WindowAssigner"),
        (lambda s, k: k.count_window(0), "at least 1"),
        (lambda s, k: k.count_window(3, -1), "at least 1"),
        (lambda s, k: s.count_window_all(-1), "at least 1"),
        (lambda s, k: k.count_window(2).trigger(None), "need a trigger"),
        (lambda s, k: k.count_window(2).trigger(CountTrigger), "need a trigger"),
        (lambda s, k: k.count_window(2).evictor(CountTrigger.of(2)), "takes an Evictor"),
        (lambda s, k: k.window(TumblingEventTimeWindows.of(SIZE)).allowed_lateness(-1), "not be negative"),
        (lambda s, k: k.window(TumblingEventTimeWindows.of(SIZE)).allowed_lateness("1 s"), "length of time"),
        (lambda s, k: k.window(TumblingEventTimeWindows.of(SIZE)).side_output_late_data("x"), "an OutputTag"),
        (lambda s, k: k.window(EventTimeSessionWindows(5)).trigger(NeverTrigger()), "not support merging"),
        (lambda s, k: s.window_all(EventTimeSessionWindows(5)).trigger(EverySecond()), "not support merging"),
        (lambda s, k: k.window(OwnSessions()).reduce(First()), "not support merging"),
        (lambda s, k: k.count_window(2).reduce(5), "must be a ReduceFunction or a callable"),
        (lambda s, k: k.count_window(2).reduce(First), "a class and not an object"),
        (lambda s, k: k.count_window(2).reduce(First(), All()), "WindowFunction or ProcessWindowFunction"),
        (lambda s, k: k.count_window(2).reduce(First(), lambda *a: a), "must be a WindowFunction or"),
        (lambda s, k: k.count_window(2).aggregate(First()), "must be a AggregateFunction"),
        (lambda s, k: k.count_window(2).aggregate(Sum(), ProcessAll()), "must be a WindowFunction or"),
        (lambda s, k: k.count_window(2).aggregate(Sum(), accumulator_type="x"), "accumulator type is not"),
        (lambda s, k: k.count_window(2).apply(ProcessKeys()), "must be a WindowFunction"),
        (lambda s, k: k.count_window(2).apply(All()), "must be a WindowFunction"),
        (lambda s, k: k.count_window(2).process(Keys()), "must be a ProcessWindowFunction"),
        (lambda s, k: k.count_window(2).process(ProcessAll()), "must be a ProcessWindowFunction"),
        (lambda s, k: k.count_window(2).process(ProcessKeys), "must be a ProcessWindowFunction"),
        (lambda s, k: s.count_window_all(2).reduce(First(), Keys()), "must be a AllWindowFunction or"),
        (lambda s, k: s.count_window_all(2).apply(Keys()), "must be a AllWindowFunction"),
        (lambda s, k: s.count_window_all(2).process(ProcessKeys()), "must be a ProcessAllWindowFunction"),
    ],
)
def test_refusals(stream: DataStream, keyed: KeyedStream, call: Callable[[Any, Any], Any], text: str) -> None:
    with pytest.raises(ProgramError, match=text):
        call(stream, keyed)


class OpenedReduce(ReduceFunction):
    def open(self, runtime_context: Any) -> None: ...

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class ClosedAggregate(Sum):
    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda k: k.count_window(2).reduce(OpenedReduce()), r"OpenedReduce\.open\(\) would never be called"),
        (lambda k: k.count_window_all(2).reduce(OpenedReduce()), "cannot be a rich function"),
        (lambda k: k.count_window(2).reduce(OpenedReduce(), Keys()), "ReduceFunction of reduce"),
        (lambda k: k.count_window(2).aggregate(ClosedAggregate()), r"ClosedAggregate\.close\(\)"),
    ],
)
def test_what_folds_the_elements_of_a_window_cannot_be_a_rich_function(
    keyed: KeyedStream, call: Callable[[Any], Any], text: str
) -> None:
    """As in Flink's Java API; PyFlink takes it and never opens it."""
    with pytest.raises(UnsupportedFeatureError, match=text) as error:
        call(keyed)
    assert "window function is opened and closed" in str(error.value)
    keyed.reduce(OpenedReduce())  # a rolling one is opened


def test_a_function_of_the_other_kind_is_a_type_error_with_a_way_out(keyed: KeyedStream) -> None:
    with pytest.raises(TypeError) as error:
        keyed.count_window(2).apply(All())  # type: ignore[arg-type]
    assert "window_all()" in str(error.value)
    with pytest.raises(TypeError) as error:
        keyed.count_window_all(2).process(ProcessKeys())  # type: ignore[arg-type]
    assert "key_by().window()" in str(error.value)


def test_what_cannot_travel_to_the_workers(keyed: KeyedStream) -> None:
    lock = threading.Lock()

    class Locked(ElementIsGap):
        def __init__(self) -> None:
            self.lock = lock

    windows = TumblingEventTimeWindows.of(SIZE)
    for build in (
        lambda: keyed.window(windows).reduce(lambda a, b: lock and a),
        lambda: keyed.window(EventTimeSessionWindows.with_dynamic_gap(Locked())).reduce(First()),
        lambda: keyed.window(windows).trigger(DeltaTrigger.of(1, lambda a, b: lock and 1)).reduce(First()),
        lambda: keyed.window(windows).evictor(DeltaEvictor.of(1, lambda a, b: lock and 1)).reduce(First()),
    ):
        with pytest.raises(UnpicklableFunctionError, match="lock"):
            build()


@pytest.mark.parametrize(
    "build",
    [
        lambda k: k.window(TumblingProcessingTimeWindows.of(SIZE)),
        lambda k: k.window(GlobalWindows.create()),
        lambda k: k.count_window(2),
    ],
)
def test_late_data_of_windows_that_have_none(keyed: KeyedStream, build: Callable[[Any], _Windows]) -> None:
    with pytest.warns(UserWarning, match="allowed lateness has no effect") as caught:
        build(keyed).allowed_lateness(5)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="side output of late data has no effect"):
        build(keyed).side_output_late_data(OutputTag("late"))
    build(keyed).allowed_lateness(0)
