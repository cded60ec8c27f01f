"""What is no pattern is refused, with Flink's reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    IterativeCondition,
    MalformedPatternError,
    Pattern,
    SimpleCondition,
    WithinType,
)
from firesteel.cep.compiler import compiled
from firesteel.common import Duration, Time
from firesteel.common.errors import FiresteelError
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.testing import PatternTester


def a() -> Pattern:
    return Pattern.begin("a").where(lambda e: e == "a")


def anything(event: Any) -> bool:
    return True


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: a().until(anything), "only applicable to looping states"),
    (lambda: a().one_or_more().until(anything).until(anything), "Only one until condition"),
    (lambda: a().greedy(), "not applicable to singleton quantifier"),
    (lambda: Pattern.begin(a()).one_or_more().greedy(), "Option not applicable to group pattern"),
    (lambda: a().one_or_more().times(2), "Already applied quantifier"),
    (lambda: a().consecutive(), "Consecutive not applicable"),
    (lambda: a().allow_combinations(), "Combinations not applicable"),
    (lambda: a().times(2).consecutive().allow_combinations(), "either combinations or consecutive"),
    (lambda: a().times(2).consecutive().consecutive(), "Consecutive already applied"),
    (lambda: a().one_or_more().allow_combinations().greedy(), "not applicable to FollowedByAny"),
    (lambda: a().optional().optional(), "Optional already applied"),
    (lambda: a().not_next("b").optional(), "NOT pattern cannot be optional"),
    (lambda: a().not_next("b").one_or_more(), "not applicable to NOT pattern"),
    (lambda: a().optional().not_next("b"), "optional path to NOT condition"),
    (lambda: a().optional().not_followed_by("b"), "optional path to NOT condition"),
    (lambda: a().one_or_more().greedy().next("b").optional(), "cannot be preceded by greedy"),
    (lambda: a().times(0), "positive number greater than 0"),
    (lambda: a().times(3, 2), "greater than or equal to from: 3"),
    (lambda: Pattern.begin(a()).where(anything), "does not support where clause"),
    (lambda: Pattern.begin(a()).or_where(anything), "does not support or clause"),
    (lambda: Pattern.begin(a()).subtype(int), "does not support subtype clause"),
    (lambda: compiled(a().next("a")), "Duplicate pattern name: a"),
    (lambda: compiled(Pattern.begin(Pattern.begin(a())).next("a")), "Duplicate pattern name: a"),
    (lambda: compiled(a().not_followed_by("b")), "not supported without windowTime as a last part"),
    (
        lambda: compiled(a().next("b").within(9, WithinType.PREVIOUS_AND_CURRENT).within(5)),
        "cannot be larger than the window length between the first and last",
    ),
    (
        lambda: compiled(Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("x"))),
        "in AfterMatchSkipStrategy can not be found",
    ),
    # What Flink does not look at:
    (lambda: compiled(Pattern.begin(a().optional()).one_or_more()), "cannot be repeated"),
    (lambda: Pattern.begin("a:b"), "has no ':' in it"),
    (lambda: Pattern.begin(""), "not empty"),
    (lambda: a().within(0), "at least a millisecond"),
    (lambda: a().within("5 min"), "takes a length of time"),  # type: ignore[arg-type]
    (lambda: a().within(5, "first"), "takes a WithinType"),  # type: ignore[arg-type]
    (lambda: a().where(None), "takes a condition"),
    (lambda: a().where(SimpleCondition), "takes a condition"),
    (lambda: a().where(lambda x, y, z: True), "needs 3 arguments"),
    (lambda: a().where(lambda e: (yield e)), "returns a coroutine or a generator"),
    (lambda: a().not_followed_by(a()), "not a group"),  # type: ignore[arg-type]
    (lambda: Pattern.begin("a", "no_skip"), "takes an AfterMatchSkipStrategy"),  # type: ignore[arg-type]
    (lambda: AfterMatchSkipStrategy.no_skip().throw_exception_on_miss(), "can miss the event"),
]


@pytest.mark.parametrize(("build", "reason"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_cannot_match_is_refused(build: Callable[[], Any], reason: str) -> None:
    with pytest.raises(FiresteelError, match=reason):
        build()


@pytest.mark.parametrize(
    "length", [600_000, Time.minutes(10), Duration.of_minutes(10), timedelta(minutes=10)], ids=repr
)
def test_lengths_of_time(length: Any) -> None:
    assert compiled(a().within(length)).window_ms == 600_000


def test_conditions_are_callables_or_objects() -> None:
    class Rising(IterativeCondition):
        def filter(self, value: int, ctx: IterativeCondition.Context) -> bool:
            return all(value > earlier for earlier in ctx.get_events_for_pattern("up"))

    class Odd(SimpleCondition):
        def filter(self, value: int) -> bool:
            return value % 2 == 1

    pattern = (
        Pattern.begin("up")
        .where(Odd())
        .where(Rising())
        .times(2)
        .next("end")
        .where(lambda e: e > 0)
        .subtype(int)
    )
    tester = PatternTester(pattern)
    found = [match for event in (3, 1, 5, 7, 2) for match in tester.process(event)]
    assert found == [{"up": [3, 5], "end": [7]}, {"up": [1, 5], "end": [7]}, {"up": [5, 7], "end": [2]}]


def test_a_simple_condition_is_evaluated_once_for_each_event() -> None:
    calls = []

    def is_b(event: str) -> bool:
        calls.append(event)
        return event == "b"

    pattern = Pattern.begin("a").where(lambda e: e == "a").followed_by_any("b").where(is_b)
    tester = PatternTester(pattern)
    for event in ["a", "a", "a", "x", "b"]:
        tester.process(event)
    assert len(tester.matches) == 3
    assert calls == ["a", "a", "x", "b"]


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss(), "Could not skip to b"),
        (AfterMatchSkipStrategy.skip_to_first("a").throw_exception_on_miss(), "Could not skip to first"),
    ],
)
def test_a_missed_skip_fails_if_that_is_asked_for(strategy: AfterMatchSkipStrategy, reason: str) -> None:
    pattern = Pattern.begin("a", strategy).where(lambda e: e == "a")
    pattern = pattern.next("b").where(lambda e: e == "b").optional().next("c").where(lambda e: e == "c")
    tester = PatternTester(pattern)
    tester.process("a")
    with pytest.raises(FiresteelError, match=reason):
        tester.process("c")


def test_streams_take_patterns_alone() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(FiresteelError, match="takes a pattern"):
        CEP.pattern(stream, "a")  # type: ignore[arg-type]
    with pytest.raises(FiresteelError, match="takes a stream"):
        CEP.pattern([1], a())  # type: ignore[arg-type]
    with pytest.raises(FiresteelError, match="In processing time no event is late"):
        CEP.pattern(stream, a()).in_processing_time().side_output_late_data(OutputTag("late"))
    with pytest.raises(FiresteelError, match="need both an OutputTag and a function"):
        CEP.pattern(stream, a()).select(len, timed_out_partial_matches_tag=OutputTag("late"))
    with pytest.raises(FiresteelError, match="must be a PatternProcessFunction"):
        CEP.pattern(stream, a()).process(len)  # type: ignore[arg-type]


def test_a_condition_that_cannot_travel_is_refused_at_once() -> None:
    import threading

    lock = threading.Lock()
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(FiresteelError, match="cannot be sent to the workers"):
        CEP.pattern(stream, Pattern.begin("a").where(lambda e: lock.locked()))


def test_malformed_patterns_are_errors_of_the_program() -> None:
    with pytest.raises(ValueError, match="Duplicate"):
        compiled(a().next("a"))
    assert issubclass(MalformedPatternError, FiresteelError)


def test_conditions_that_share_a_callable_are_told_apart() -> None:
    class Is(SimpleCondition):
        def __init__(self, function: Any, wanted: str) -> None:
            self.function = function
            self.wanted = wanted

        def filter(self, value: str) -> bool:
            return self.function(value) == self.wanted

    tester = PatternTester(Pattern.begin("a").where(Is(str.lower, "a")).next("b").where(Is(str.lower, "b")))
    assert [match for event in "AB" for match in tester.process(event)] == [{"a": ["A"], "b": ["B"]}]


def test_groups_may_be_nested() -> None:
    inner = Pattern.begin("x").where(lambda e: e == "x").next("y").where(lambda e: e == "y")
    outer = Pattern.begin(inner).times(2).next(Pattern.begin("z").where(lambda e: e == "z"))
    tester = PatternTester(Pattern.begin(outer).one_or_more().consecutive().next("end").where(str.isupper))
    for event in "xyxyzxyxyzE":
        tester.process(event)
    assert [[len(events) for events in match.values()] for match in tester.matches] == [
        [4, 4, 2, 1],
        [2, 2, 1, 1],
    ]


Skip = AfterMatchSkipStrategy
ALL_RUNS = ["b1 b2 b3 c", "b2 b3 c", "b3 c"]


@pytest.mark.row("S-CEP-08", "T20")
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (Skip.no_skip(), ALL_RUNS),
        (Skip.skip_to_next(), ALL_RUNS),
        (Skip.skip_past_last_event(), ALL_RUNS[:1]),
        (Skip.skip_to_first("b"), ALL_RUNS),
        (Skip.skip_to_last("b"), ["b1 b2 b3 c", "b3 c"]),
    ],
    ids=lambda value: str(value) if isinstance(value, Skip) else "",
)
def test_a_run_of_events_and_another_one_by_skip_strategy(strategy: Skip, expected: list[str]) -> None:
    begin = Pattern.begin("b", strategy).where(lambda e: e[0] == "b")
    pattern = begin.one_or_more().consecutive().next("c").where(lambda e: e == "c")
    assert sorted(matched(pattern, "b1 b2 b3 c")) == expected


@pytest.mark.row("S-CEP-04", "S-CEP-05", "S-CEP-06", "T20")
def test_what_relaxed_contiguity_takes() -> None:
    loop = Pattern.begin("b").where(lambda e: e[0] == "b").one_or_more()
    relaxed = loop.followed_by("c").where(lambda e: e == "c")
    assert sorted(matched(relaxed, "b1 b2 b3 c")) == sorted([*ALL_RUNS, "b1 c", "b1 b2 c", "b2 c"])
    high, foreign = (lambda e: e[0] == "H"), (lambda e: e[0] == "F")
    any_later = Pattern.begin("high").where(high).followed_by_any("foreign").where(foreign)
    assert sorted(matched(any_later, "H0 H1 F2 F3")) == ["H0 F2", "H0 F3", "H1 F2", "H1 F3"]


def matched(pattern: Pattern, events: str) -> list[str]:
    tester = PatternTester(pattern)
    for event in events.split():
        tester.process(event)
    return [" ".join(e for events in match.values() for e in events) for match in tester.matches]
