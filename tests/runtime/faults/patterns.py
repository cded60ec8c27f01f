"""Patterns: conditions, comparators, functions of matches and of partial matches that time out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.cep import (
    CEP,
    Pattern,
    PatternFlatSelectFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    RichIterativeCondition,
    SimpleCondition,
    TimedOutPartialMatchHandler,
)
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import DataStream, OutputTag, StreamExecutionEnvironment

from .core import PLACES, Place, here, numbers, parity, place, slip, timed

TIMED_OUT = OutputTag("timed out", Types.PICKLED_BYTE_ARRAY())


#: Of processing time: what matches must not depend on how long an epoch takes.
AN_HOUR_MS = 3_600_000


def two(low: Any = lambda v: True, high: Any = lambda v: True, within_ms: int = 4) -> Pattern:
    return Pattern.begin("low").where(low).followed_by("high").where(high).within(within_ms)


class Rich(RichIterativeCondition):
    def __init__(self, where: str) -> None:
        self.where = where

    def _at(self, where: str) -> None:
        if self.where == where:
            slip()

    def open(self, runtime_context: Any) -> None:
        self._at("open")

    def close(self) -> None:
        self._at("close")

    def filter(self, value: Any, ctx: Any) -> bool:
        self._at("filter")
        return list(ctx.get_events_for_pattern("low")) != []


class Simple(SimpleCondition):
    def filter(self, value: Any) -> bool:
        slip()
        return True


class Matches(PatternProcessFunction, TimedOutPartialMatchHandler):
    def __init__(self, where: str) -> None:
        self.where = where

    def _at(self, where: str) -> None:
        if self.where == where:
            slip()

    def open(self, runtime_context: Any) -> None:
        self._at("open")

    def close(self) -> None:
        self._at("close")

    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        self._at("process_match")
        yield sorted(match.items())
        self._at("behind_a_match")

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        self._at("process_timed_out_match")
        yield TIMED_OUT, sorted(match.items())


class Selects(PatternSelectFunction):
    def select(self, pattern: Any) -> Any:
        return slip(sorted(pattern.items()))


class FlatSelects(PatternFlatSelectFunction):
    def flat_select(self, pattern: Any) -> Iterator[Any]:
        yield slip(sorted(pattern.items()))


def matched(env: StreamExecutionEnvironment, pattern: Pattern, comparator: Any = None) -> Any:
    return CEP.pattern(timed(env).key_by(parity), pattern, comparator)


def selected(pattern: Pattern, comparator: Any = None) -> Place:
    return lambda env: here(matched(env, pattern, comparator).select(lambda match: str(match)))


PLACES["pattern_condition"] = selected(two(low=lambda v: slip(True)))
PLACES["pattern_condition_object"] = selected(two(high=Simple()))
PLACES["pattern_condition_with_context"] = selected(two(high=lambda v, ctx: slip(True)))
PLACES["pattern_until"] = selected(Pattern.begin("low").one_or_more().until(lambda v: slip(v > 6)).within(4))
for _where in ("open", "filter", "close"):
    PLACES[f"pattern_condition_{_where}"] = selected(two(high=Rich(_where)))
for _where in ("open", "process_match", "behind_a_match", "close"):
    PLACES[f"pattern_{_where}"] = lambda env, w=_where: here(matched(env, two()).process(Matches(w)))  # type: ignore[misc]
    PLACES[f"pattern_{_where}_processing_time"] = lambda env, w=_where: here(  # type: ignore[misc]
        matched(env, two(within_ms=AN_HOUR_MS)).in_processing_time().process(Matches(w))
    )


@place
def pattern_timed_out_match(env: StreamExecutionEnvironment) -> DataStream:
    return here(matched(env, two(high=lambda v: v > 100)).process(Matches("process_timed_out_match")))


@place
def pattern_select(env: StreamExecutionEnvironment) -> DataStream:
    return here(matched(env, two()).select(Selects()))


@place
def pattern_flat_select(env: StreamExecutionEnvironment) -> DataStream:
    return here(matched(env, two()).flat_select(FlatSelects()))


@place
def pattern_timeout_function(env: StreamExecutionEnvironment) -> DataStream:
    return here(
        matched(env, two(high=lambda v: v > 100)).select(
            str,
            timed_out_partial_matches_tag=TIMED_OUT,
            pattern_timeout_function=lambda match, stamp: slip(stamp),
        )
    )


@place
def pattern_comparator(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: v // 4)
    stream = numbers(env).assign_timestamps_and_watermarks(strategy).key_by(parity)
    return here(CEP.pattern(stream, two(), lambda a, b: slip(a - b)).select(str))


TWO_IN_A_STREAM = {
    "id": "two",
    "version": 1,
    "pattern": [
        {"name": "low", "where": {"name": "slips"}},
        {"name": "high", "contiguity": "followed_by"},
    ],
    "within": 4,
}


def matched_as_told(env: StreamExecutionEnvironment, where: str) -> DataStream:
    """The pattern comes in a stream; ``where`` is what slips."""
    events = timed(env).key_by(parity)
    patterns = env.from_collection([TWO_IN_A_STREAM], Types.PICKLED_BYTE_ARRAY())
    condition = (lambda v: slip(True)) if where == "condition" else (lambda v: True)
    found = CEP.dynamic_patterns(events, patterns, conditions={"slips": lambda: condition})
    return here(found.process(Matches(where)))


for _where in ("condition", "open", "process_match", "behind_a_match", "close"):
    PLACES[f"pattern_of_a_stream_{_where}"] = lambda env, w=_where: matched_as_told(env, w)  # type: ignore[misc]
