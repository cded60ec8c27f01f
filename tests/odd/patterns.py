"""Patterns that mean little, conditions and functions that misbehave, and odd events to match."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    SimpleCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)
from firesteel.datastream import DataStream, OutputTag

from .core import Case, Here, area
from .times import timed

CASES: list[Case] = []
case = area("patterns", CASES)

LAST = 2**63 - 1
SIDE = OutputTag("side")


def pairs() -> Pattern:
    """Any two events in a row."""
    return Pattern.begin("a").next("b")


def found(stream: DataStream, pattern: Pattern, comparator: Any = None) -> Any:
    """The pattern in the stream, which is one key, in processing time."""
    return CEP.pattern(stream.key_by(lambda e: 0), pattern, comparator).in_processing_time()


def shown(match: dict[str, list[Any]]) -> str:
    return " ".join(f"{stage}={events}" for stage, events in match.items())


# ---- conditions


class Mine(BaseException):
    pass


def raising(error: BaseException, at: Any = 2) -> Callable[[Any], bool]:
    def condition(event: Any) -> bool:
        if event == at:
            raise error
        return True

    return condition


class Untrue:
    def __bool__(self) -> bool:
        raise RuntimeError("neither")


ERRORS = [StopIteration("x"), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), Mine("mine")]
for _error in ERRORS:
    _words = f"raises {type(_error).__name__}"

    @case(f"a condition that {_words}")
    def _(here: Here, error: BaseException = _error) -> Any:
        return found(here.of(1, 2, 3), Pattern.begin("a").where(raising(error))).select(shown)

    @case(f"an iterative condition that {_words}")
    def _(here: Here, error: BaseException = _error) -> Any:
        condition = raising(error)
        pattern = Pattern.begin("a").next("b").where(lambda e, ctx: condition(e))
        return found(here.of(1, 2, 3), pattern).select(shown)

    @case(f"a condition that {_words} for an event that it is not asked for")
    def _(here: Here, error: BaseException = _error) -> Any:
        first = Pattern.begin("a").where(lambda e: e == 5)
        pattern = first.next("b").where(raising(error))
        return found(here.of(2, 5, 6), pattern).select(shown)


ANSWERS: list[tuple[str, Any]] = [
    ("None", lambda e: None),
    ("a text", lambda e: "no" if e == 2 else ""),
    ("a NumPy bool", lambda e: np.bool_(e == 2)),
    ("NaN", lambda e: float("nan") if e == 2 else 0.0),
    ("an empty array", lambda e: np.array([])),
    ("an array of two", lambda e: np.array([True, False])),
    ("an object without a truth", lambda e: Untrue()),
    ("a generator", lambda e: (x for x in ())),
]
for _words, _condition in ANSWERS:

    @case(f"a condition that gives {_words}")
    def _(here: Here, condition: Any = _condition) -> Any:
        return found(here.of(1, 2, 3), Pattern.begin("a").where(condition)).select(shown)


@case("a condition that changes the event")
def _(here: Here) -> Any:
    def grows(event: list[int]) -> bool:
        event.append(0)
        return True

    stream = here.of([1], [2]).map(list)
    return found(stream, Pattern.begin("a").where(grows).next("b")).select(shown)


@case("a condition that asks for the events of a stage that there is not")
def _(here: Here) -> Any:
    def lonely(event: Any, ctx: Any) -> bool:
        return not list(ctx.get_events_for_pattern("nowhere"))

    return found(here.of(1, 2), pairs().where(lonely)).select(shown)


@case("a condition that changes the list of events that it is given")
def _(here: Here) -> Any:
    def clears(event: Any, ctx: Any) -> bool:
        ctx.get_events_for_pattern("a").clear()
        return len(ctx.get_events_for_pattern("a")) == 1

    return found(here.of(1, 2), pairs().where(clears)).select(shown)


GIVEN: list[tuple[str, Any]] = [
    ("None", lambda: None),
    ("True", lambda: True),
    ("a class", lambda: SimpleCondition),
    ("a function of nothing", lambda: lambda: True),
    ("a function of three", lambda: lambda a, b, c: True),
    ("any arguments", lambda: lambda *events: len(events) == 1),
]
for _words, _condition in GIVEN:

    @case(f"a condition that is {_words}" if _words != "any arguments" else "a condition of any arguments")
    def _(here: Here, condition: Any = _condition) -> Any:
        return found(here.of(1), Pattern.begin("a").where(condition())).select(shown)


# ---- patterns


def surrogate() -> Pattern:
    return Pattern.begin("\ud800").next("\0 \u20ac")


def itself() -> Pattern:
    one = Pattern.begin("a")
    return one.next(one)


def optional(stages: int, first: int = 1) -> Pattern:
    pattern = Pattern.begin("s").where(lambda e: e == first)
    for number in range(stages):
        pattern = pattern.next(f"s{number}").where(lambda e: e == 2).optional()
    return pattern.next("end").where(lambda e: e == 3)


PATTERNS: list[tuple[str, Callable[[], Any]]] = [
    ("two stages of one name", lambda: Pattern.begin("a").next("a")),
    ("two stages of one name, one in a group", lambda: Pattern.begin("a").next(Pattern.begin("a"))),
    ("a pattern that is a group of itself", itself),
    ("a stage without a name", lambda: Pattern.begin("")),
    ("a stage whose name is a number", lambda: Pattern.begin(5)),  # type: ignore[arg-type]
    ("a stage whose name is a space", lambda: Pattern.begin(" ").next("  ")),
    ("a stage with a colon in its name", lambda: Pattern.begin("a:0")),
    ("a stage with the name of the last state", lambda: Pattern.begin("$endState$")),
    ("stages with half a character and a zero in their names", surrogate),
    ("a stage with a very long name", lambda: Pattern.begin("a" * 70_000).next("b").where(lambda e: False)),
    ("within 0", lambda: pairs().within(0)),
    ("within -1", lambda: pairs().within(-1)),
    ("within True", lambda: pairs().within(True)),
    ("within '10 min'", lambda: pairs().within("10 min")),  # type: ignore[arg-type]
    ("within 1.5", lambda: pairs().within(1.5)),  # type: ignore[arg-type]
    ("within a microsecond", lambda: pairs().within(dt.timedelta(microseconds=1))),
    ("within as long as there is", lambda: pairs().within(LAST)),
    ("within longer than that", lambda: pairs().within(LAST + 1)),
    (
        "within the event before longer than within the match",
        lambda: pairs().within(5, WithinType.PREVIOUS_AND_CURRENT).within(4),
    ),
    ("0 times", lambda: Pattern.begin("a").times(0)),
    ("0 to 0 times", lambda: Pattern.begin("a").times(0, 0)),
    ("0 to 2 times", lambda: Pattern.begin("a").times(0, 2).next("b")),
    ("3 to 2 times", lambda: Pattern.begin("a").times(3, 2)),
    ("-1 times", lambda: Pattern.begin("a").times(-1)),
    ("True times", lambda: Pattern.begin("a").times(True)),
    ("2.0 times", lambda: Pattern.begin("a").times(2.0)),  # type: ignore[arg-type]
    ("2 times, then 3 times", lambda: Pattern.begin("a").times(2).times(3)),
    ("1 to 500 times", lambda: Pattern.begin("a").times(1, 500)),
    ("1,010 optional stages, and nothing that begins", lambda: optional(1_010, first=5)),
    ("60 optional stages", lambda: optional(60)),
    ("until without a loop", lambda: Pattern.begin("a").until(lambda e: True)),
    ("until after 2 times", lambda: Pattern.begin("a").times(2).until(lambda e: True)),
    (
        "until twice",
        lambda: Pattern.begin("a").one_or_more().until(lambda e: False).until(lambda e: True),
    ),
    ("until that holds at once", lambda: Pattern.begin("a").one_or_more().until(lambda e: True)),
    ("not_followed_by at the end", lambda: Pattern.begin("a").not_followed_by("b")),
    ("not_next at the end", lambda: Pattern.begin("a").not_next("b").where(lambda e: e == 2)),
    ("not_next of a group", lambda: Pattern.begin("a").not_next(pairs())),  # type: ignore[arg-type]
    ("not_followed_by that is optional", lambda: Pattern.begin("a").not_followed_by("b").optional()),
    ("not_followed_by twice as often", lambda: Pattern.begin("a").not_followed_by("b").times(2)),
    ("a negative stage after an optional one", lambda: Pattern.begin("a").optional().not_next("b")),
    ("greedy without a loop", lambda: Pattern.begin("a").greedy()),
    ("greedy of a group", lambda: Pattern.begin(pairs()).one_or_more().greedy()),
    ("a condition of a group", lambda: Pattern.begin(pairs()).where(lambda e: True)),
    (
        "an optional stage after a greedy one",
        lambda: Pattern.begin("a").one_or_more().greedy().next("b").optional(),
    ),
    ("optional twice", lambda: Pattern.begin("a").optional().optional()),
    ("nothing but an optional stage", lambda: Pattern.begin("a").where(lambda e: e == 2).optional()),
    (
        "a loop of a group that may be empty",
        lambda: Pattern.begin(Pattern.begin("a").optional()).one_or_more(),
    ),
    ("consecutive without a loop", lambda: Pattern.begin("a").consecutive()),
    ("consecutive combinations", lambda: Pattern.begin("a").times(2).consecutive().allow_combinations()),
    ("a subtype that is a text", lambda: Pattern.begin("a").subtype("int")),  # type: ignore[arg-type]
    ("a subtype that is bool", lambda: Pattern.begin("a").subtype(bool)),
    ("a skip strategy that is a class", lambda: Pattern.begin("a", AfterMatchSkipStrategy)),  # type: ignore[arg-type]
    (
        "a skip to a stage that there is not",
        lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("z")),
    ),
    (
        "a skip to the first event that must not be missed",
        lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("a").throw_exception_on_miss()).next(
            "b"
        ),
    ),
    ("no pattern", lambda: None),
    ("a class instead of a pattern", lambda: Pattern),
]
for _words, _pattern in PATTERNS:

    @case(_words)
    def _(here: Here, pattern: Callable[[], Any] = _pattern) -> Any:
        return found(here.of(1, 2, 3), pattern()).select(lambda match: shown(match)[:60])


@case("a pattern for two streams")
def _(here: Here) -> Any:
    pattern, env = pairs(), here.env()
    streams = [env.from_collection(events) for events in ([1, 2], [3, 4])]
    one, other = (found(stream, pattern).select(shown) for stream in streams)
    return one.union(other)


@case("a pattern that is gone on with in two ways, after it was used")
def _(here: Here) -> Any:
    stream, pattern = here.of(1, 2, 3), Pattern.begin("a").where(lambda e: e == 1)
    streams = [
        found(stream, each).select(shown)
        for each in (pattern, pattern.next("b"), pattern.next("c"), pattern.followed_by("d").one_or_more())
    ]
    return streams[0].union(*streams[1:])


@case("a pattern in the matches of a pattern")
def _(here: Here) -> Any:
    return found(found(here.of(1, 2, 3), pairs()).select(shown), pairs()).select(shown)


# ---- events and their times


class Peevish:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare me")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Peevish"


EVENTS: list[tuple[str, list[Any]]] = [
    ("events that are None", [None, None]),
    ("events that cannot be hashed", [[1], {"b": {2}}]),
    ("events that are NaN", [float("nan"), float("nan")]),
    ("events that are bytes", [b"", b"\xc0"]),
    ("events that are arrays", [np.array([1, 2]), np.array([])]),
    ("events that cannot be compared", [Peevish(), Peevish()]),
    ("events that are beyond 64 bits", [2**64, -(2**70)]),
    ("one event", [1]),
    ("no event", []),
]
for _words, _events in EVENTS:

    @case(_words)
    def _(here: Here, events: list[Any] = _events) -> Any:
        env = here.env(**{"firesteel.epoch.max-records": 1})
        return found(env.from_collection(events or [0]).filter(lambda e: events != []), pairs()).select(shown)


INSTANTS: list[tuple[str, list[int], int | None]] = [
    ("the last instants", [LAST - 1, LAST], None),
    ("the last instants, within 1 ms", [LAST - 1, LAST], 1),
    ("the last instants, within as long as there is", [LAST - 1, LAST], LAST),
    ("the first instants", [-LAST + 1, -LAST + 2], 2),
    ("the first and the last instant", [-LAST, LAST], None),
    ("the first and the last instant, within as long as there is", [-LAST, LAST], LAST),
    ("an instant, and later than within", [0, 10, 20], 10),
]
for _words, _instants, _within in INSTANTS:

    @case(f"events of {_words}")
    def _(here: Here, instants: list[int] = _instants, within: int | None = _within) -> Any:
        pattern = pairs() if within is None else pairs().within(within)
        matches = CEP.pattern(timed(here, *instants).key_by(lambda e: 0), pattern).select(
            shown,
            timed_out_partial_matches_tag=SIDE,
            pattern_timeout_function=lambda match, at: f"timed out at {at}: {shown(match)}",
        )
        return matches.union(matches.get_side_output(SIDE))


def compared(here: Here, comparator: Any) -> Any:
    stream = timed(here, "b1", "a1", assigner=lambda v, t: 1)
    return CEP.pattern(stream.key_by(lambda e: 0), pairs(), comparator).select(shown)


def stops(a: Any, b: Any) -> int:
    raise StopIteration


def breaks(a: Any, b: Any) -> int:
    raise KeyboardInterrupt


COMPARATORS: list[tuple[str, Any]] = [
    ("orders", lambda a, b: (a > b) - (a < b)),
    ("gives a NumPy number", lambda a, b: np.int64((a > b) - (a < b))),
    ("gives NaN", lambda a, b: float("nan")),
    ("gives None", lambda a, b: None),
    ("gives a text", lambda a, b: "less"),
    ("raises StopIteration", stops),
    ("raises KeyboardInterrupt", breaks),
    ("takes one event", lambda a: 0),
    ("is a number", 5),
]
for _words, _comparator in COMPARATORS:

    @case(f"a comparator that {_words}")
    def _(here: Here, comparator: Any = _comparator) -> Any:
        return compared(here, comparator)


@case("events without timestamps in event time")
def _(here: Here) -> Any:
    return CEP.pattern(here.of(1, 2).key_by(lambda e: 0), pairs()).select(shown)


@case("late events in the side output of timeouts")
def _(here: Here) -> Any:
    stream = timed(here, 5, 20, 1, 40).key_by(lambda e: 0)
    matches = (
        CEP.pattern(stream, pairs().where(lambda e: False).within(10))
        .side_output_late_data(SIDE)
        .select(
            shown,
            timed_out_partial_matches_tag=SIDE,
            pattern_timeout_function=lambda match, at: f"timed out at {at}: {shown(match)}",
        )
    )
    late = matches.get_side_output(SIDE)
    return late.map(str).union(late.map(lambda e: f"{e}, again"))


@case("late events in processing time")
def _(here: Here) -> Any:
    return found(here.of(1), pairs()).side_output_late_data(SIDE)


# ---- functions


def half_way(match: Any) -> Any:
    yield "half"
    raise ValueError("the other half")


SELECTS: list[tuple[str, Any]] = [
    ("a select that gives None", lambda s: s.select(lambda match: None)),
    ("a select that raises StopIteration", lambda s: s.select(lambda match: next(iter(())))),
    ("a select that gives a generator", lambda s: s.select(half_way)),
    ("a select of nothing", lambda s: s.select(lambda: 1)),
    ("a select that is a class", lambda s: s.select(PatternProcessFunction)),
    ("a flat select that gives None", lambda s: s.flat_select(lambda match: None)),
    ("a flat select that gives a number", lambda s: s.flat_select(lambda match: 5)),
    ("a flat select that gives a text", lambda s: s.flat_select(lambda match: "text")),
    ("a flat select that raises half-way", lambda s: s.flat_select(half_way)),
    (
        "a timeout function without a tag",
        lambda s: s.select(shown, pattern_timeout_function=lambda match, at: at),
    ),
    ("a tag without a timeout function", lambda s: s.select(shown, timed_out_partial_matches_tag=SIDE)),
]
for _words, _select in SELECTS:

    @case(_words)
    def _(here: Here, select: Any = _select) -> Any:
        return select(found(here.of(1, 2), pairs()))


@case("a select that changes the match")
def _(here: Here) -> Any:
    def clearing(match: dict[str, list[Any]]) -> str:
        said = shown(match)
        match["a"][0].append("changed")
        match.clear()
        return said

    pattern = Pattern.begin("a").where(lambda e: e == [1]).followed_by_any("b")
    return found(here.of([1], [2], [3]), pattern).select(clearing)


class Process(PatternProcessFunction, TimedOutPartialMatchHandler):
    """:param results: of a match; ``timed_out``: of a partial match that timed out."""

    def __init__(self, results: Any, timed_out: Any = None) -> None:
        self.results = results
        self.timed_out = timed_out

    def process_match(self, match: Any, ctx: Any) -> Any:
        return self.results

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        return self.timed_out


class Coroutine(PatternProcessFunction):
    async def process_match(self, match: Any, ctx: Any) -> Any:
        return [1]


class ForgottenProcess(PatternProcessFunction):
    """Has no method."""


PROCESSES: list[tuple[str, Any]] = [
    ("a match function that gives a number", lambda: Process(5)),
    ("a match function that gives a text", lambda: Process("text")),
    ("a match function that gives a dict", lambda: Process({1: 2})),
    ("a match function that gives to a side output nobody reads", lambda: Process([(SIDE, 1), 2])),
    ("a match function that is a coroutine", lambda: Coroutine()),
    ("a match function without its method", lambda: ForgottenProcess()),
    ("a match function that is a class", lambda: Process),
    ("a timeout handler that gives records", lambda: Process([], [1])),
    ("a timeout handler that gives a number", lambda: Process([], 1)),
]
for _words, _process in PROCESSES:

    @case(_words)
    def _(here: Here, process: Any = _process) -> Any:
        stream = timed(here, 1, 2, 30).key_by(lambda e: 0)
        pattern = pairs().where(lambda e: e == 2).within(10)
        return CEP.pattern(stream, pattern).process(process())


# ---- patterns that come as data


def refused(here: Here, *records: Any, conditions: Any = None) -> DataStream:
    """The matches of three events, and why records are refused. In BATCH mode patterns come first."""
    env = here.env(**{"execution.runtime-mode": "BATCH"})
    events = env.from_collection([{"n": n} for n in (1, 2, 3)]).key_by(lambda e: 0)
    texts = [record if isinstance(record, str | bytes) else json.dumps(record) for record in records]
    stream = CEP.dynamic_patterns(events, env.from_collection(texts), conditions=conditions)
    matches = stream.in_processing_time().side_output_refused_patterns(SIDE).select(shown)
    return matches.union(matches.get_side_output(SIDE).map(lambda refused: refused.reason.splitlines()[0]))


def record(id: Any = "p", version: Any = 1, where: Any = "n == 2", **more: Any) -> dict[str, Any]:
    return {"id": id, "version": version, "pattern": [{"name": "a", "where": where}], **more}


def nested(depth: int) -> str:
    return "[" * depth


def group(depth: int) -> dict[str, Any]:
    return {"name": "a"} if depth == 0 else {"group": [group(depth - 1)]}


def quits(**parameters: Any) -> Any:
    raise SystemExit(1)


RECORDS: list[tuple[str, list[Any]]] = [
    ("text that is not JSON", ["{"]),
    ("bytes that are not UTF-8", [b'{"id": "\xff"}']),
    ("a list", ["[]"]),
    ("a field that there is not", [record(versoin=2)]),
    ("no version", [{"id": "p", "pattern": [{"name": "a"}]}]),
    ("a version that is a text", [record(version="1")]),
    ("a version that is true", [record(version=True)]),
    ("a version beyond 64 bits", [record(version=10**30)]),
    ("a negative version", [record(version=-1)]),
    ("an empty id", [record(id="")]),
    ("no stage", [{"id": "p", "version": 1, "pattern": []}]),
    ("the same record twice", [record(), record()]),
    ("another pattern of the same version", [record(), record(where="n == 3")]),
    ("an older version", [record(version=2), record(version=1, where="n == 3")]),
    ("two ids of one pattern", [record(), record(id="q")]),
    ("the removal of what there is not", [{"id": "p", "remove": True}]),
    ("a removal with a version", [record(), {"id": "p", "version": 2, "remove": True}]),
    ("a skip strategy that there is not", [record(skip="skip_to_end")]),
    ("a skip to a stage that there is not", [record(skip={"skip_to_last": "z"})]),
    ("within 0", [record(within=0)]),
    ("within no time", [record(within="soon")]),
    ("a condition that calls", [record(where="__import__('os')")]),
    ("a condition that is no expression", [record(where="n ==")]),
    ("a condition that is empty", [record(where="")]),
    ("a condition that is nothing", [record(where={})]),
    ("a condition that is not registered", [record(where={"name": "above"})]),
    ("parameters that do not fit", [record(where={"name": "over", "parameters": {"x": 1}})]),
    ("a condition that quits as it is made", [record(where={"name": "quits"})]),
    ("lists in lists without end", [nested(100_000)]),
    ("groups in groups", [{"id": "p", "version": 1, "pattern": [group(200)]}]),
    ("conditions in conditions", [record(where="not " * 2_000 + "n == 2")]),
]
for _words, _records in RECORDS:

    @case(f"as data: {_words}")
    def _(here: Here, records: list[Any] = _records) -> Any:
        return refused(here, *records, conditions={"over": lambda n: lambda e: e["n"] > n, "quits": quits})


# ---- many


def many(here: Here, most: int, policy: str) -> Any:
    """Each of the first events doubles the partial matches; the last one completes all."""
    options = {
        "firesteel.cep.max-partial-matches-per-key": most,
        "firesteel.cep.too-many-partial-matches": policy,
    }
    pattern = (
        Pattern.begin("a", AfterMatchSkipStrategy.no_skip())
        .where(lambda e: e < 14)
        .one_or_more()
        .allow_combinations()
        .next("b")
        .where(lambda e: e == 14)
    )
    stream = here.env(**options).from_collection(range(15))
    return found(stream, pattern).select(lambda match: 1).key_by(lambda one: 0).reduce(lambda a, b: a + b)


for _most, _policy in ((10_000, "fail"), (10_000, "drop-oldest"), (20_000, "fail"), (0, "fail"), (9, "none")):

    @case(f"{2**14 - 1:,} partial matches where {_most:,} are allowed, and else {_policy}")
    def _(here: Here, most: int = _most, policy: str = _policy) -> Any:
        totals = sorted(many(here, most, policy).execute_and_collect())
        return f"{totals[-1]:,} matches"
