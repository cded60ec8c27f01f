"""From what is under test to a job graph: inputs that a test feeds, outputs that it reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.base import Sink, SinkWriter, WriterContext
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.graph.generator import generate
from firesteel.graph.job_graph import JobGraph, create_job_graph
from firesteel.jobmanager.executor import graph_config
from firesteel.jobmanager.validation import validate
from firesteel.program.checks import WrongArgumentError
from firesteel.program.operator_kinds import kind_of
from firesteel.program.operators import OperatorSpec
from firesteel.program.transformations import OneInputTransformation, TwoInputTransformation
from firesteel.testing.scripted_source import ScriptedSource

UnderTest = Function | OperatorSpec | Callable[..., DataStream | Sequence[DataStream]]
KeySelectors = Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None

_INPUT: Final = "harness-input-{}"
_OUTPUT: Final = "harness-output-{}"

# Function class -> the method of the stream that takes it.
_ONE_INPUT: Final[dict[type, str]] = {
    KeyedProcessFunction: "process",
    ProcessFunction: "process",
    MapFunction: "map",
    FlatMapFunction: "flat_map",
    FilterFunction: "filter",
    ReduceFunction: "reduce",
}
_TWO_INPUTS: Final[dict[type, str]] = {
    KeyedCoProcessFunction: "process",
    CoProcessFunction: "process",
    CoMapFunction: "map",
    CoFlatMapFunction: "flat_map",
}
_NEED_A_KEY: Final = (KeyedProcessFunction, KeyedCoProcessFunction, ReduceFunction)


@dataclass(frozen=True, slots=True)
class Program:
    """A job graph with open ends. ``inputs`` and ``outputs`` are vertex ids; ``sides`` by tag id."""

    graph: JobGraph
    settings: dict[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sides: dict[str, str]


class _Discard(Sink):
    """Stands where the harness reads what comes."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Nowhere()


class _Nowhere(SinkWriter):
    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None: ...

    def prepare_commit(self) -> list[Any]:
        return []


def build_program(
    under_test: UnderTest,
    *,
    key_by: KeySelectors,
    inputs: int | None,
    side_outputs: Collection[OutputTag],
    channels: int,
    parallelism: int,
    max_parallelism: int,
    configuration: Configuration | None,
) -> Program:
    """Build the program by the API, as a user does, and translate it."""
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    env.set_max_parallelism(max_parallelism)
    transformation, count = _as_transformation(under_test, key_by, inputs)
    streams = [_input(env, number, channels) for number in range(count)]
    outputs = _outputs(transformation(*streams), env)
    sides = {tag.tag_id: outputs[0].get_side_output(tag) for tag in side_outputs}
    for number, stream in enumerate((*outputs, *sides.values())):
        # Never chained and one subtask: what comes here has crossed an exchange, and can be read there.
        sink = stream.global_().sink_to(_Discard()).set_parallelism(1)
        sink.name(f"output {number}").uid(_OUTPUT.format(number))
    _name_operators(env)
    graph = create_job_graph(generate(env.transformations, graph_config(env, "harness")))
    validate(graph, env.configuration)
    by_uid = {vertex.head.node.uid: vertex.id for vertex in graph.vertices}
    for number in range(count):
        if _INPUT.format(number) not in by_uid:
            raise ProgramError(
                f"Input {number} is not used: what is fed to it would go nowhere.",
                hint="leave the parameter out, or use its stream",
            )
    ends = [by_uid[_OUTPUT.format(number)] for number in range(len(outputs) + len(sides))]
    return Program(
        graph=graph,
        settings=env.configuration.to_dict(),
        inputs=tuple(by_uid[_INPUT.format(number)] for number in range(count)),
        outputs=tuple(ends[: len(outputs)]),
        sides=dict(zip(sides, ends[len(outputs) :], strict=True)),
    )


def _input(env: StreamExecutionEnvironment, number: int, channels: int) -> DataStream:
    source = ScriptedSource(*([] for _ in range(channels)), bounded=False)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), f"input {number}")
    stream.set_parallelism(channels).uid(_INPUT.format(number))
    return stream.rebalance()  # never chained: the first operator has a gate with all channels


def _outputs(result: Any, env: StreamExecutionEnvironment) -> list[DataStream]:
    streams = [result] if isinstance(result, DataStream) else result
    if not isinstance(streams, (list, tuple)) or not streams:
        streams = [result]
    for stream in streams:
        if not isinstance(stream, DataStream):
            raise WrongArgumentError(
                "The transformation must return the stream to look at, or several.",
                detail=f"it returned {result!r}",
                hint="lambda stream: stream.key_by(...).process(...); a program with sinks of its own "
                "is tested as a whole, on a MiniCluster",
            )
        if stream.get_execution_environment() is not env:
            raise ProgramError(
                "The transformation returned a stream of another environment.",
                hint="build it on the streams that it is given",
            )
    return list(streams)


def _name_operators(env: StreamExecutionEnvironment) -> None:
    """State is found again by uids: give one, by its place, to each operator that has none."""
    operators = (
        t for t in env.transformations if isinstance(t, (OneInputTransformation, TwoInputTransformation))
    )
    for number, operator in enumerate(operators):
        if operator.uid is None and operator.uid_hash is None:
            operator.uid = f"harness-operator-{number}"


def _as_transformation(
    under_test: UnderTest, key_by: KeySelectors, inputs: int | None
) -> tuple[Callable[..., Any], int]:
    """A callable that takes streams, and how many."""
    if isinstance(under_test, Function):
        return _of_function(under_test, key_by)
    if isinstance(under_test, OperatorSpec):
        return _of_spec(under_test, key_by)
    if isinstance(under_test, type) or not callable(under_test):
        raise WrongArgumentError(
            "A harness takes a function object or a transformation.",
            detail=f"got {under_test!r}",
            hint="an instance such as MyFunction(), or lambda stream: stream.key_by(...).process(...)",
        )
    if key_by is not None:
        raise ProgramError(
            "key_by is for a function object.",
            hint="a transformation keys its streams itself: lambda stream: stream.key_by(...)...",
        )
    return under_test, _count_inputs(under_test) if inputs is None else inputs


def _count_inputs(transformation: Callable[..., Any]) -> int:
    try:
        parameters = list(inspect.signature(transformation).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.kind in positional and p.default is p.empty for p in parameters)
    if not count or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ProgramError(
            "How many streams the transformation takes cannot be seen.",
            detail=f"{transformation!r} has no plain parameters",
            hint="say it: OperatorHarness(..., inputs=2)",
        )
    return count


def _of_spec(spec: OperatorSpec, key_by: KeySelectors) -> tuple[Callable[..., Any], int]:
    kind, selectors = kind_of(spec), _selectors(key_by)
    _check_selectors(kind.name, len(selectors), kind.inputs, needs_key=kind.keyed)
    return _apply(selectors, lambda stream: stream.transform(kind.name, None, spec)), kind.inputs


def _selectors(key_by: KeySelectors) -> tuple[Callable[[Any], Any], ...]:
    return () if key_by is None else tuple(key_by) if isinstance(key_by, Sequence) else (key_by,)


def _of_function(function: Function, key_by: KeySelectors) -> tuple[Callable[..., Any], int]:
    selectors = _selectors(key_by)
    for table, count in ((_ONE_INPUT, 1), (_TWO_INPUTS, 2)):
        for kind, method in table.items():
            if isinstance(function, kind):
                needs_key = isinstance(function, _NEED_A_KEY)
                _check_selectors(type(function).__name__, len(selectors), count, needs_key=needs_key)
                return _apply(selectors, methodcaller(method, function)), count
    raise WrongArgumentError(
        "There is no harness for this kind of function alone.",
        detail=f"got a {type(function).__name__}",
        hint="pass the transformation that it is part of: "
        "lambda stream: stream.key_by(...).window(...).process(function)",
    )


def _check_selectors(under_test: str, given: int, inputs: int, *, needs_key: bool) -> None:
    if given == inputs or (given == 0 and not needs_key):
        return
    if given == 0:
        message = f"A {under_test} works on keyed streams, and there is no key selector."
    else:
        message = f"There must be one key selector for each input: {inputs}, not {given}."
    example = "key_by=lambda value: value.id" if inputs == 1 else "key_by=(selector1, selector2)"
    raise ProgramError(message, hint=f"OperatorHarness(function, {example})")


def _apply(
    selectors: Sequence[Callable[[Any], Any]], operator: Callable[[Any], DataStream]
) -> Callable[..., DataStream]:
    def transformation(*streams: DataStream) -> DataStream:
        keyed: list[Any] = list(streams)
        if selectors:
            keyed = [stream.key_by(select) for stream, select in zip(streams, selectors, strict=True)]
        stream = keyed[0] if len(keyed) == 1 else keyed[0].connect(keyed[1])
        return operator(stream)

    return transformation
