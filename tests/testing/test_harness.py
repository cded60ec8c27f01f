"""The operator harness on functions with one input: records, event time, processing time, side outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    TimeDomain,
)
from firesteel.testing import (
    END_OF_TIME,
    OperatorHarness,
    StreamRecord,
    Timer,
    Watermark,
    WatermarkStatus,
)

from .functions import LATE, Count, CountInSelf, Reminder, SessionTimeout, identity


def first(value: tuple[Any, ...]) -> Any:
    return value[0]


# ---- records


class Double(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Words(FlatMapFunction):
    def flat_map(self, value: str) -> list[str]:
        return value.split()


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Sum(ReduceFunction):
    def reduce(self, value1: tuple[str, int], value2: tuple[str, int]) -> tuple[str, int]:
        return value1[0], value1[1] + value2[1]


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


@pytest.mark.parametrize(
    ("function", "fed", "expected"),
    [
        (Double(), [1, 2], [2, 4]),
        (Words(), ["a b", "", "c"], ["a", "b", "c"]),
        (Even(), [1, 2, 3, 4], [2, 4]),
        (Stamped(), [7], [(7, -(2**63))]),
    ],
)
@pytest.mark.row("S-TEST-02")
def test_each_kind_of_function(function: Any, fed: list[Any], expected: list[Any]) -> None:
    harness = OperatorHarness(function)
    for value in fed:
        harness.process_element(value)
    assert harness.values == expected


def test_a_reduce_function_has_a_result_for_each_record() -> None:
    harness = OperatorHarness(Sum(), key_by=first)
    for value in [("a", 3), ("b", 1), ("a", 4)]:
        harness.process_element(value)
    assert harness.values == [("a", 3), ("b", 1), ("a", 7)]


def test_a_map_function_on_a_keyed_stream() -> None:
    harness = OperatorHarness(Double(), key_by=identity)
    harness.process_element(4)
    assert harness.values == [8]


def test_records_keep_their_timestamps_and_watermarks_their_place() -> None:
    harness = OperatorHarness(Double())
    harness.process_element(1, timestamp=10)
    harness.process_watermark(5)
    harness.process_element(2)
    harness.process_element(3, 20)
    harness.process_watermark(15)
    harness.end_input()
    assert harness.output == [
        StreamRecord(2, 10),
        Watermark(5),
        StreamRecord(4),
        StreamRecord(6, 20),
        Watermark(15),
        END_OF_TIME,
    ]


def test_clear_output() -> None:
    harness = OperatorHarness(Double())
    harness.process_element(1)
    harness.clear_output()
    harness.process_element(2)
    assert harness.values == [4]
    assert harness.output == [StreamRecord(4)]


class Grower(FlatMapFunction):
    """Yields one list again and again, and changes it in between."""

    def flat_map(self, value: int) -> Iterator[list[int]]:
        grown: list[int] = []
        for n in range(value):
            grown.append(n)
            yield grown


def test_a_mutable_record_that_is_yielded_again_shows_its_last_content() -> None:
    """As in a job: records are handed on in batches, by pickle where they cross an exchange."""
    harness = OperatorHarness(Grower())
    harness.process_element(2)
    assert harness.values == [[0, 1], [0, 1]]
    assert harness.values[0] is not harness.values[1]


# ---- event time


def test_s_proc_01() -> None:
    """Event a@0, a@3, nothing until W20: one timeout at 13."""
    harness = OperatorHarness(SessionTimeout(10), key_by=identity)
    harness.process_element("a", 0)
    harness.process_element("a", 3)
    assert harness.timers(TimeDomain.EVENT_TIME) == [
        Timer(10, "a", TimeDomain.EVENT_TIME),
        Timer(13, "a", TimeDomain.EVENT_TIME),
    ]
    harness.process_watermark(20)
    assert harness.output == [StreamRecord(("a", "timeout"), 13), Watermark(20)]
    assert harness.timers() == []
    assert harness.num_keyed_state_entries() == 0


class Script(KeyedProcessFunction):
    """Each record is (key, [(method of the timer service, instant), ...])."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        for method, instant in value[1]:
            getattr(ctx.timer_service(), method)(instant)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


EVENT, NO_EVENT = "register_event_time_timer", "delete_event_time_timer"
PROC, NO_PROC = "register_processing_time_timer", "delete_processing_time_timer"


def test_timers_are_a_set() -> None:
    harness = OperatorHarness(Script(), key_by=first)
    harness.process_element(("a", [(EVENT, 10), (EVENT, 10), (EVENT, 20)]))
    harness.process_element(("b", [(EVENT, 10)]))
    harness.process_element(("a", [(NO_EVENT, 20), (NO_EVENT, 777)]))
    harness.process_watermark(30)
    assert sorted(harness.values) == [("a", 10, 30), ("b", 10, 30)]
    harness.clear_output()
    harness.process_element(("a", [(EVENT, 5)]))
    assert harness.output == []
    harness.process_watermark(31)
    assert harness.output == [StreamRecord(("a", 5, 31), 5), Watermark(31)]


def test_timers_of_both_kinds_with_one_number_both_fire() -> None:
    harness = OperatorHarness(Script(), key_by=first)
    harness.process_element(("a", [(EVENT, 10), (PROC, 10), (PROC, 20), (NO_PROC, 20)]))
    assert [(t.domain, t.timestamp) for t in harness.timers()] == [
        (TimeDomain.EVENT_TIME, 10),
        (TimeDomain.PROCESSING_TIME, 10),
    ]
    harness.set_processing_time(50)
    assert len(harness.values) == 1
    harness.process_watermark(10)
    assert len(harness.values) == 2


def test_a_processing_time_timer_in_the_past_fires_at_once() -> None:
    harness = OperatorHarness(Script(), key_by=first, processing_time=1_000)
    harness.process_element(("a", [(PROC, 900)]))
    assert [value[:2] for value in harness.values] == [("a", 900)]


class Jump(KeyedProcessFunction):
    """Timers 10 and 30; the one at 10 sets 20 and says "x"."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(30)
        ctx.timer_service().register_event_time_timer(10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if timestamp == 10:
            ctx.timer_service().register_event_time_timer(20)
        yield "x", timestamp, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_a_jump_of_the_watermark() -> None:
    """In order, all before the watermark, which they see already."""
    harness = OperatorHarness(Jump(), key_by=identity)
    harness.process_element("a", 0)
    harness.process_watermark(100)
    assert harness.output == [
        StreamRecord(("x", 10, 10, 100), 10),
        StreamRecord(("x", 20, 20, 100), 20),
        StreamRecord(("x", 30, 30, 100), 30),
        Watermark(100),
    ]


# ---- state, timers and a side output


def test_state_both_timers_and_a_side_output() -> None:
    harness = OperatorHarness(Reminder(), key_by=first, side_outputs=[LATE], processing_time=1_000_000)
    harness.process_element(("a", 5), 10_000)
    harness.process_element(("a", 6), 70_000)
    harness.process_element(("b", 1), 20_000)
    assert harness.state("total", "a") == 11
    assert harness.state("fresh", "a") == [5, 6]
    assert harness.state("ends", "a") == {60_000: 1, 120_000: 1}
    assert len(harness.timers(TimeDomain.PROCESSING_TIME)) == 2
    assert harness.output == []

    harness.set_processing_time(1_009_999)
    assert harness.output == []
    harness.set_processing_time(1_010_000)
    assert sorted(harness.values) == [("a", "fresh", [5, 6]), ("b", "fresh", [1])]

    harness.clear_output()
    harness.process_watermark(60_000)
    assert harness.output[-1] == Watermark(60_000)
    assert sorted(harness.values) == [("a", "total", 11, 1), ("b", "total", 1, 1)]
    assert harness.state("total", "b") is None

    harness.clear_output()
    harness.process_element(("a", 100), 60_000)
    harness.process_element(("a", 1), 60_001)
    assert harness.side_output(LATE) == [StreamRecord("a@60000", 60_000)]
    assert harness.values == []

    harness.end_input()
    assert harness.output == [StreamRecord(("a", "total", 12, 2), 120_000), END_OF_TIME]
    harness.set_processing_time(2_000_000)
    assert harness.output[-1] == END_OF_TIME, "timers of processing time are dropped at the end"


# ---- idleness


def test_idleness_is_seen_in_the_output() -> None:
    harness = OperatorHarness(Count(), key_by=identity)
    harness.process_watermark(5)
    harness.mark_idle()
    harness.process_watermark(9)  # of a channel that is idle: ignored
    harness.mark_active()
    harness.process_watermark(10)
    assert harness.output == [Watermark(5), WatermarkStatus.IDLE, WatermarkStatus.ACTIVE, Watermark(10)]


# ---- epochs and processes


def test_calls_in_one_epoch() -> None:
    harness = OperatorHarness(Count(), key_by=identity)
    with harness.epoch() as same:
        assert same is harness
        for value in "aab":
            harness.process_element(value)
        harness.process_watermark(7)
        assert harness.output == [], "nothing has run yet"
    assert harness.output == [
        StreamRecord(("a", 1)),
        StreamRecord(("a", 2)),
        StreamRecord(("b", 1)),
        Watermark(7),
    ]


def test_a_block_that_fails_leaves_no_trace() -> None:
    harness = OperatorHarness(Count(), key_by=identity)
    with pytest.raises(KeyError), harness.epoch():  # noqa: PT012  the block is what is tested
        harness.process_element("a")
        raise KeyError
    harness.process_element("a")
    assert harness.values == [("a", 1)]


def test_state_in_self_is_missed_in_the_next_process() -> None:
    honest, wrong = OperatorHarness(Count(), key_by=identity), OperatorHarness(CountInSelf(), key_by=identity)
    for _ in range(4):
        honest.process_element("a")
        wrong.process_element("a")
    assert honest.values == [("a", 1), ("a", 2), ("a", 3), ("a", 4)]
    assert wrong.values == [("a", 1), ("a", 1), ("a", 2), ("a", 2)]
    assert not honest.warnings
    assert "self.counts" in wrong.warnings[0]


def test_with_one_process_self_is_kept() -> None:
    harness = OperatorHarness(CountInSelf(), key_by=identity, processes=1)
    for _ in range(3):
        harness.process_element("a")
    assert harness.values == [("a", 1), ("a", 2), ("a", 3)]


class Counted(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.counter = runtime_context.get_metrics_group().counter("records")

    def map(self, value: Any) -> Any:
        self.counter.inc()
        return value


def test_accumulators_over_all_epochs_and_processes() -> None:
    harness = OperatorHarness(Counted())
    for value in range(5):
        harness.process_element(value)
    assert [v for k, v in harness.accumulators.items() if k.endswith("records")] == [5]


class Closing(MapFunction):
    closed = 0

    def map(self, value: int) -> float:
        return 1 / value

    def close(self) -> None:
        Closing.closed += 1


def test_close_closes_the_functions_of_all_processes() -> None:
    before = Closing.closed
    with OperatorHarness(Closing()) as harness:
        harness.process_element(1)
    assert Closing.closed == before + 2


class Unclosable(MapFunction):
    def map(self, value: int) -> int:
        return value

    def close(self) -> None:
        raise OSError("the connection is gone")


def test_what_close_raises_is_seen() -> None:
    harness = OperatorHarness(Unclosable())
    with pytest.raises(OSError, match="connection"):
        harness.close()


# ---- errors of the user's code


def test_an_exception_of_the_function_is_raised_and_leaves_no_trace() -> None:
    class Fragile(Count):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield from super().process_element(value, ctx)
            if value[1] == 0:
                raise ZeroDivisionError("nothing to divide by")

    harness = OperatorHarness(Fragile(), key_by=first)
    harness.process_element(("a", 1))
    with pytest.raises(ZeroDivisionError, match="nothing to divide by") as failed:
        harness.process_element(("a", 0))
    assert any("subtask 0" in note for note in failed.value.__notes__)
    assert any("Traceback in the worker" in note for note in failed.value.__notes__)
    assert harness.state("count", "a") == 1
    harness.process_element(("a", 2))
    assert harness.values == [("a", 1), ("a", 2)]


def test_an_exception_of_open_is_raised_by_the_constructor() -> None:
    class Unopened(MapFunction):
        def open(self, runtime_context: Any) -> None:
            raise LookupError("no such model")

        def map(self, value: Any) -> Any:
            return value

    with pytest.raises(LookupError, match="no such model"):
        OperatorHarness(Unopened())


def test_an_exception_of_the_key_selector() -> None:
    harness = OperatorHarness(Count(), key_by=first)
    with pytest.raises(TypeError):
        harness.process_element(5)


def test_a_key_without_a_stable_hash() -> None:
    harness = OperatorHarness(Count(), key_by=identity)
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ProgramError, match="key"):
        harness.process_element(cycle)


def test_timers_without_a_key() -> None:
    class Impatient(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(1)

    harness = OperatorHarness(Impatient())
    with pytest.raises(UnsupportedFeatureError, match="keyed stream"):
        harness.process_element(1)


# ---- transformations


def test_a_part_of_a_program() -> None:
    def program(lines: DataStream) -> DataStream:
        words = lines.flat_map(lambda line: line.split())
        return words.key_by(identity).process(Count()).filter(lambda pair: pair[1] > 1)

    harness = OperatorHarness(program)
    harness.process_element("a b a", 3)
    harness.process_element("b")
    assert harness.output == [StreamRecord(("a", 2), 3), StreamRecord(("b", 2))]


def test_several_exchanges_in_one_call() -> None:
    def program(numbers: DataStream) -> DataStream:
        counted = numbers.key_by(lambda n: n % 2).process(Count())
        return counted.key_by(lambda pair: pair[1]).process(Count())

    harness = OperatorHarness(program, parallelism=3)
    for n in range(4):
        harness.process_element(n)
    assert harness.values == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_several_outputs() -> None:
    def program(numbers: DataStream) -> tuple[DataStream, DataStream]:
        return numbers.filter(lambda n: n > 0), numbers.map(lambda n: -n)

    harness = OperatorHarness(program)
    harness.process_element(3)
    harness.process_element(-4)
    harness.process_watermark(1)
    assert harness.output == [StreamRecord(3), Watermark(1)]
    assert harness.outputs[1] == [StreamRecord(-3), StreamRecord(4), Watermark(1)]


def test_a_union_merges_the_watermarks() -> None:
    harness = OperatorHarness(lambda a, b, c: a.union(b, c).map(identity))
    assert len(harness.inputs) == 3
    a, b, c = harness.inputs
    a.process_watermark(5)
    b.process_watermark(7)
    assert harness.output == []
    c.process_watermark(6)
    a.process_watermark(9)
    assert harness.output == [Watermark(5), Watermark(6)]


def test_the_number_of_inputs_can_be_said() -> None:
    harness = OperatorHarness(lambda *streams: streams[0].union(*streams[1:]), inputs=2)
    harness.inputs[1].process_element("x")
    assert harness.values == ["x"]


def test_a_side_output_in_the_middle_is_returned() -> None:
    odd = OutputTag("odd")

    class Split(ProcessFunction):
        def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield (odd, value) if value % 2 else value

    def program(numbers: DataStream) -> tuple[DataStream, DataStream]:
        even = numbers.process(Split())
        return even.map(lambda n: n * 10), even.get_side_output(odd)

    harness = OperatorHarness(program)
    for n in range(4):
        harness.process_element(n)
    assert harness.values == [0, 20]
    assert harness.outputs[1] == [StreamRecord(1), StreamRecord(3)]


def test_parallel_subtasks_give_one_output_with_merged_watermarks() -> None:
    harness = OperatorHarness(Count(), key_by=identity, parallelism=4)
    for value in range(20):
        harness.process_element(value)
    harness.process_watermark(3)
    assert sorted(harness.values) == [(n, 1) for n in range(20)]
    assert harness.output.count(Watermark(3)) == 1
    assert harness.output[-1] == Watermark(3)
