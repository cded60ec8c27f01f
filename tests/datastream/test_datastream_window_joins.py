"""Window join and co-group as the program has them, and their functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import pytest

from firesteel.common.errors import ProgramError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    KeyedStream,
    StreamExecutionEnvironment,
)
from firesteel.datastream.window import (
    CountEvictor,
    CountTrigger,
    GlobalWindows,
    TumblingEventTimeWindows,
)
from firesteel.program import operators as ops
from firesteel.program.transformations import OneInputTransformation, UnionTransformation

from .window_support import W10

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
SIZE = Time.seconds(5)


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


class Plus(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first[1] + second[1]


class Both(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterator[Any]:
        yield first[1]
        yield second[1]


class Sizes(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        yield len(first), len(second)


INPUTS = [(0, ("a", 1)), (1, ("a", 10)), (0, ("a", 2)), (1, ("a", 20))]


@pytest.mark.parametrize(
    ("function", "results"),
    [
        (Plus(), [11, 21, 12, 22]),
        (lambda one, two: one[1] * two[1], [10, 20, 20, 40]),
        (Both(), [1, 10, 1, 20, 2, 10, 2, 20]),
    ],
)
def test_join(stream: DataStream, function: Any, results: list[Any]) -> None:
    joined = (
        stream.join(stream)
        .where(lambda p: p[0])
        .equal_to(lambda p: p[0])
        .window(TumblingEventTimeWindows.of(SIZE))
    )
    result = joined.apply(function, Types.INT())
    transformation, spec = operator(result)
    assert (result.get_name(), result.get_type()) == ("TumblingEventTimeWindows", Types.INT())
    assert spec.contents == ops.WindowContents("list")
    copy = cloudpickle.loads(cloudpickle.dumps(spec.function))
    assert list(copy.apply("a", W10, INPUTS)) == results
    assert list(copy.apply("a", W10, INPUTS[::2])) == []  # no partner
    union = transformation.inputs[0].inputs[0]
    assert isinstance(union, UnionTransformation)
    assert [t.parallelism for t in union.inputs] == [1, 1]  # where the collection is read
    assert [t.operator.function(5) for t in union.inputs] == [(0, 5), (1, 5)]  # type: ignore[attr-defined]


def test_co_group(stream: DataStream, keyed: KeyedStream) -> None:
    windows = keyed.co_group(stream).where(lambda p: p[0], Types.STRING()).equal_to(lambda p: p[1])
    late = 7
    trigger, evictor = CountTrigger.of(1), CountEvictor.of(9)
    result = (
        windows.window(TumblingEventTimeWindows.of(SIZE))
        .trigger(trigger)
        .evictor(evictor)
        .allowed_lateness(late)
        .apply(Sizes())
    )
    transformation, spec = operator(result)
    assert (spec.trigger, spec.evictor, spec.allowed_lateness_ms) == (trigger, evictor, late)
    assert transformation.key_type == Types.STRING()
    assert transformation.key_selector is not None
    assert transformation.key_selector((0, ("k", 5))) == "k"
    assert transformation.key_selector((1, ("k", 5))) == 5
    assert list(spec.function.apply("a", W10, INPUTS)) == [(2, 2)]
    assert list(spec.function.apply("a", W10, INPUTS[1::2])) == [(0, 2)]


def test_join_functions_are_opened_and_closed(stream: DataStream) -> None:
    class Recording(Sizes):
        def open(self, runtime_context: Any) -> None:
            calls.append(runtime_context)

        def close(self) -> None:
            calls.append("close")

    calls: list[Any] = []
    windows = stream.co_group(stream).where(lambda p: p).equal_to(lambda p: p).window(GlobalWindows.create())
    _, spec = operator(windows.apply(Recording()))
    spec.function.open("a context")
    spec.function.close()
    assert calls == ["a context", "close"]
    joined = stream.join(stream).where(lambda p: p).equal_to(lambda p: p).window(GlobalWindows.create())
    _, spec = operator(joined.apply(lambda a, b: a))
    spec.function.open("a context")
    spec.function.close()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s, w: s.join(5), "takes a stream"),
        (lambda s, w: s.co_group(None), "takes a stream"),
        (lambda s, w: s.join(s).where(5), "must be a KeySelector or a callable"),
        (lambda s, w: s.join(s).where(len).equal_to(None), "must be a KeySelector or a callable"),
        (lambda s, w: s.join(s).where(len, "x"), "key type is not a type"),
        (lambda s, w: s.join(s).where(len, Types.INT()).equal_to(len, Types.LONG()), "must be of one type"),
        (lambda s, w: s.join(s).where(len).equal_to(len, Types.LONG()), "must be of one type"),
        (lambda s, w: s.join(s).where(len).equal_to(len).window(5), "need a WindowAssigner"),
        (lambda s, w: w(s.join).trigger(5), "need a trigger"),
        (lambda s, w: w(s.join).apply(5), "must be a JoinFunction or a callable"),
        (lambda s, w: w(s.join).apply(Sizes()), "must be a JoinFunction or a callable"),
        (lambda s, w: w(s.co_group).apply(Plus()), "must be a CoGroupFunction"),
        (lambda s, w: w(s.co_group).apply(len), "must be a CoGroupFunction"),
    ],
)
def test_join_refusals(stream: DataStream, call: Callable[[Any, Any], Any], text: str) -> None:
    def windowed(start: Callable[[DataStream], Any]) -> Any:
        return start(stream).where(len).equal_to(len).window(TumblingEventTimeWindows.of(SIZE))

    with pytest.raises(ProgramError, match=text):
        call(stream, windowed)
