"""What the harness refuses, and how it says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.common.errors import FiresteelError, UnpicklableFunctionError
from firesteel.datastream import (
    CoMapFunction,
    MapFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from firesteel.testing import OperatorHarness, StreamRecord, Watermark

from .functions import Converter, Count, SessionTimeout, identity


class Plain(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class OfWindows(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return elements

    def clear(self, context: Any) -> None: ...


def other_stream() -> Any:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([1])


BUILDING: dict[str, tuple[Callable[[], Any], str]] = {
    "no key selector": (lambda: OperatorHarness(Count()), "key_by="),
    "one selector of two": (lambda: OperatorHarness(Converter(), key_by=identity), "2, not 1"),
    "two selectors of one": (lambda: OperatorHarness(Plain(), key_by=(identity, identity)), "1, not 2"),
    "two inputs without one": (lambda: OperatorHarness(Both(), key_by=identity), "2, not 1"),
    "a class": (lambda: OperatorHarness(Plain), "MyFunction()"),
    "no callable": (lambda: OperatorHarness("map"), "got 'map'"),
    "a function of windows": (lambda: OperatorHarness(OfWindows()), "pass the transformation"),
    "key_by with a transformation": (
        lambda: OperatorHarness(lambda s: s.map(identity), key_by=identity),
        "keys its streams itself",
    ),
    "inputs that cannot be counted": (lambda: OperatorHarness(lambda *s: s[0]), "inputs=2"),
    "no stream returned": (lambda: OperatorHarness(lambda s: None), "must return the stream"),
    "a sink returned": (lambda: OperatorHarness(lambda s: s.print()), "MiniCluster"),
    "a stream of another program": (lambda: OperatorHarness(lambda s: other_stream()), "another environment"),
    "an input that is not used": (lambda: OperatorHarness(lambda a, b: a.map(identity)), "Input 1"),
    "no channel": (lambda: OperatorHarness(Plain(), channels=0), "number of channels"),
    "no process": (lambda: OperatorHarness(Plain(), processes=0), "number of processes"),
    "no subtask": (lambda: OperatorHarness(Plain(), parallelism=0), "parallelism"),
    "more subtasks than key groups": (
        lambda: OperatorHarness(Count(), key_by=identity, parallelism=8, max_parallelism=4),
        "parallelism",
    ),
    "a negative time": (lambda: OperatorHarness(Plain(), processing_time=-1), "processing time"),
    "a configuration that is none": (lambda: OperatorHarness(Plain(), configuration={}), "Configuration"),
}


@pytest.mark.parametrize("what", BUILDING)
def test_building(what: str) -> None:
    build, said = BUILDING[what]
    with pytest.raises(FiresteelError) as refused:
        build()
    assert said in str(refused.value)


def test_a_function_that_cannot_be_sent() -> None:
    import threading

    lock = threading.Lock()
    with pytest.raises(UnpicklableFunctionError, match="cannot be sent"):
        OperatorHarness(lambda stream: stream.map(lambda value: (lock, value)))


def two_inputs() -> OperatorHarness:
    return OperatorHarness(Both())


def ended() -> OperatorHarness:
    harness = OperatorHarness(Plain())
    harness.end_input()
    return harness


def one_channel_ended() -> OperatorHarness:
    harness = OperatorHarness(Plain(), channels=2)
    harness.end_input(channel=1)
    return harness


FEEDING: dict[str, tuple[Callable[[], OperatorHarness], Callable[[OperatorHarness], Any], str]] = {
    "which input": (two_inputs, lambda h: h.process_element(1), "harness.inputs"),
    "a record after the end": (ended, lambda h: h.process_element(1), "Input 0 has ended"),
    "a watermark after the end": (ended, lambda h: h.process_watermark(1), "Input 0 has ended"),
    "an end after the end": (ended, lambda h: h.end_input(), "Input 0 has ended"),
    "a channel after its end": (
        one_channel_ended,
        lambda h: h.process_watermark(1, channel=1),
        "Channel 1 of input 0 has ended",
    ),
    "no such channel": (two_inputs, lambda h: h.inputs[1].process_element(1, channel=1), "channel"),
    "a timestamp that is no number": (two_inputs, lambda h: h.inputs[0].process_element(1, "2"), "timestamp"),
    "a timestamp with a fraction": (two_inputs, lambda h: h.inputs[0].process_element(1, 2.5), "got 2.5"),
    "a watermark that is none": (two_inputs, lambda h: h.process_watermark(None), "watermark"),
    "time goes back": (
        lambda: OperatorHarness(Plain(), processing_time=9),
        lambda h: h.set_processing_time(8),
        "it is 9",
    ),
    "an undeclared side output": (
        two_inputs,
        lambda h: h.side_output(OutputTag("late")),
        "side_outputs=[tag]",
    ),
}


@pytest.mark.parametrize("what", FEEDING)
def test_feeding(what: str) -> None:
    make, misuse, said = FEEDING[what]
    harness = make()
    with pytest.raises(FiresteelError) as refused:
        misuse(harness)
    assert said in str(refused.value)


def test_epochs_do_not_nest() -> None:
    harness = OperatorHarness(Plain())
    with pytest.raises(FiresteelError, match="already"), harness.epoch(), harness.epoch():
        pass
    with pytest.raises(FiresteelError, match="stands still"), harness.epoch():
        harness.set_processing_time(5)
    harness.process_element(1)
    assert harness.output == [StreamRecord(1)]


def test_a_refused_call_leaves_no_trace() -> None:
    harness = OperatorHarness(Plain())
    for _ in range(2):
        with pytest.raises(FiresteelError):
            harness.process_element(1, timestamp="now")  # type: ignore[arg-type]
    harness.process_watermark(3)
    assert harness.output == [Watermark(3)]


def test_settings_are_those_of_the_program() -> None:
    class Greeting(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.greeting = runtime_context.get_job_parameter("greeting", "hello")

        def map(self, value: str) -> str:
            return f"{self.greeting} {value}"

    configuration = Configuration()
    configuration.set_string("pipeline.global-job-parameters", "greeting: good day")
    harness = OperatorHarness(Greeting(), configuration=configuration)
    harness.process_element("you")
    assert harness.values == ["good day you"]


def test_harnesses_do_not_know_each_other() -> None:
    one, two = (OperatorHarness(SessionTimeout(5), key_by=identity) for _ in range(2))
    one.process_element("a", 1)
    two.process_element("a", 7)
    one.process_watermark(100)
    assert one.values == [("a", "timeout")]
    assert two.values == []
    assert [timer.timestamp for timer in two.timers()] == [12]


def test_the_garbage_collector_is_left_as_it_was() -> None:
    import gc

    before = gc.get_threshold()
    harness = OperatorHarness(Plain())
    harness.process_element(1)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
