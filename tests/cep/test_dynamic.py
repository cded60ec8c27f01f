"""Patterns that come while the job runs: versions, removal, refusals, state, other parallelisms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.cep import (
    CEP,
    PatternProcessFunction,
    RefusedPattern,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
)
from firesteel.common.errors import FiresteelError, ProgramError, StateError
from firesteel.datastream import DataStream, OutputTag
from firesteel.testing import OperatorHarness

REFUSED, TIMED_OUT = OutputTag("refused"), OutputTag("timed out")


class Report(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[str]:
        letters = "".join(event["letter"] for events in match.values() for event in events)
        yield f"{ctx.pattern_id()}{ctx.pattern_version()} {letters}"

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        yield TIMED_OUT, (ctx.pattern_id(), ctx.pattern_version(), ctx.timestamp())


class Rising(RichIterativeCondition):
    """Needs to be opened."""

    def open(self, runtime_context: Any) -> None:
        self.is_open = True

    def filter(self, value: Any, ctx: Any) -> bool:
        return self.is_open and all(value["letter"] > e["letter"] for e in ctx.get_events_for_pattern("up"))


class NeverOpens(RichIterativeCondition):
    def open(self, runtime_context: Any) -> None:
        raise OSError("no such table")

    def filter(self, value: Any, ctx: Any) -> bool:
        return True


CONDITIONS: dict[str, Any] = {
    "among": lambda letters: lambda event: event["letter"] in letters,
    "rising": Rising,
    "never opens": NeverOpens,
}


def harness(conditions: dict[str, Any] = CONDITIONS, event_time: bool = True, **more: Any) -> OperatorHarness:
    def find(events: DataStream, patterns: DataStream) -> DataStream:
        keyed = events.key_by(lambda e: e["key"])
        found = CEP.dynamic_patterns(keyed, patterns, conditions=conditions)
        if not event_time:
            found = found.in_processing_time()
        return found.side_output_refused_patterns(REFUSED).process(Report())

    return OperatorHarness(find, inputs=2, side_outputs=[REFUSED, TIMED_OUT], **more)


def two(id: str, first: str, second: str, version: int = 1, **more: Any) -> dict[str, Any]:
    """A pattern: one letter, later another one."""
    stages = [
        {"name": "first", "where": f"letter == {first!r}"},
        {"name": "second", "where": f"letter == {second!r}", "contiguity": "followed_by"},
    ]
    return {"id": id, "version": version, "pattern": stages, **more}


def feed(h: OperatorHarness, letters: str, at: int = 0, key: str = "k") -> None:
    """Feed one letter for each millisecond from *at* on, and let time come to the last one."""
    for n, letter in enumerate(letters):
        h.inputs[0].process_element({"key": key, "letter": letter}, at + n)
    h.inputs[0].process_watermark(at + len(letters) - 1)


def bring(h: OperatorHarness, *records: Any) -> None:
    for record in records:
        h.inputs[1].process_element(record if isinstance(record, bytes) else json.dumps(record))


def refusals(h: OperatorHarness) -> list[str]:
    found = [event.value for event in h.side_output(REFUSED)]
    assert all(isinstance(each, RefusedPattern) for each in found)
    return [each.reason for each in found]


# ---- patterns come and go


def test_nothing_matches_before_a_pattern_comes() -> None:
    h = harness()
    feed(h, "ab")
    bring(h, two("p", "a", "b"))
    feed(h, "ab", at=10)
    assert h.values == ["p1 ab"]


def test_events_that_still_wait_for_the_watermark_are_matched_by_a_new_pattern() -> None:
    h = harness()
    for n, letter in enumerate("ab"):
        h.inputs[0].process_element({"key": "k", "letter": letter}, n)
    bring(h, two("p", "a", "b"))
    h.inputs[0].process_watermark(5)
    assert h.values == ["p1 ab"]


def test_the_watermarks_of_the_pattern_stream_hold_nothing_back() -> None:
    h = harness()
    bring(h, two("p", "a", "b"))
    h.inputs[1].process_watermark(0)
    feed(h, "ab", at=10)
    assert h.values == ["p1 ab"]


def test_several_patterns_match_side_by_side_and_each_key_by_itself() -> None:
    h = harness()
    bring(h, two("p", "a", "b"), two("q", "b", "c"))
    feed(h, "a")
    feed(h, "b", at=1, key="other")
    feed(h, "bc", at=2)
    assert h.values == ["p1 ab", "q1 bc"]


@pytest.mark.parametrize("processes", [1, 3])
def test_a_removed_pattern_matches_no_more_and_leaves_no_state(
    processes: int,
) -> None:
    h = harness(processes=processes)
    bring(h, two("p", "a", "b"), two("q", "a", "c"))
    feed(h, "a")
    bring(h, {"id": "p", "remove": True})
    feed(h, "bc", at=10)
    assert h.values == ["q1 ac"]
    assert h.num_keyed_state_entries() == 0


def test_a_removed_pattern_may_come_again_and_has_nothing_of_before() -> None:
    h = harness()
    bring(h, two("p", "a", "b"))
    feed(h, "a")
    bring(h, {"id": "p", "remove": True}, two("p", "a", "b"))
    feed(h, "bab", at=10)
    assert h.values == ["p1 ab"]


# ---- versions


@pytest.mark.parametrize("processes", [1, 3])
def test_partial_matches_of_the_version_before_end_unless_they_are_to_go_on(
    processes: int,
) -> None:
    h = harness(processes=processes)
    bring(h, two("p", "a", "b"), two("q", "a", "b"))
    feed(h, "a")
    bring(h, two("p", "a", "c", version=2), two("q", "a", "c", version=2, earlier="go_on"))
    feed(h, "abc", at=10)
    assert h.values == ["q1 ab", "p2 ac", "q2 ac"], "q1 has not begun with the second a"


@pytest.mark.parametrize("processes", [1, 3])
def test_a_removal_may_let_partial_matches_go_on_until_the_next_one(
    processes: int,
) -> None:
    h = harness(processes=processes)
    bring(h, two("p", "a", "b"))
    feed(h, "aa")
    bring(h, {"id": "p", "remove": True, "earlier": "go_on"})
    feed(h, "ab", at=10)
    assert h.values == ["p1 ab", "p1 ab"]
    bring(h, two("p", "a", "b"))
    feed(h, "a", at=20)
    bring(h, {"id": "p", "remove": True, "earlier": "go_on"}, {"id": "p", "remove": True})
    feed(h, "b", at=30)
    assert len(h.values) == 2


def test_an_older_version_is_refused_and_the_same_record_counts_once() -> None:
    h = harness()
    record = two("p", "a", "b", version=2)
    bring(h, record, record, two("p", "a", "c", version=1), two("p", "a", "c", version=2))
    feed(h, "abc")
    assert h.values == ["p2 ab"]
    one, other = refusals(h)
    assert "Version 1 of the pattern 'p' is not newer" in one
    assert "with another content" in other


# ---- refusals


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"{", "JSON"),
        ({"id": "p"}, "has no version"),
        ({"id": "p", "version": 1}, "has no pattern"),
        ({"id": "p", "version": 1, "pattern": []}, "$.pattern"),
        ({"id": "p", "version": 1, "patern": []}, "patern"),
        ({"id": "p", "remove": True}, "no pattern 'p' to remove"),
        (two("p", "a", "b", skip="skip_to_last"), "no such skip strategy"),
        (two("p", "a", "b", within="ten"), "length of time"),
        ({"id": "p", "version": 1, "pattern": [{"name": "a"}, {"name": "b"}]}, "has a contiguity"),
        (
            {"id": "p", "version": 1, "pattern": [{"name": "a"}, {"name": "a", "contiguity": "next"}]},
            "Duplicate pattern name",
        ),
        (
            {
                "id": "p",
                "version": 1,
                "pattern": [{"name": "a"}, {"name": "b", "contiguity": "not_followed_by"}],
            },
            "without windowTime",
        ),
        (
            {"id": "p", "version": 1, "pattern": [{"name": "a", "where": {"name": "beyond"}}]},
            "no condition 'beyond'",
        ),
        (
            {
                "id": "p",
                "version": 1,
                "pattern": [{"name": "a", "where": {"name": "among", "parameters": {"x": 1}}}],
            },
            "does not take these parameters",
        ),
        (
            {"id": "p", "version": 1, "pattern": [{"name": "a", "where": "__import__('os')"}]},
            "not understood",
        ),
        ({"id": "p", "version": 1, "pattern": [{"name": "a", "where": "x > last('b').x"}]}, "'b'"),
        (
            {"id": "p", "version": 1, "pattern": [{"name": "a", "where": {"name": "never opens"}}]},
            "no such table",
        ),
        ({"id": "p", "version": 1, "pattern": [{"name": "a", "until": "x > 1"}]}, "until condition"),
    ],
)
def test_what_is_no_pattern_is_refused_with_the_reason_and_the_job_goes_on(record: Any, reason: str) -> None:
    h = harness()
    bring(h, two("q", "a", "b"), record)
    feed(h, "ab")
    assert h.values == ["q1 ab"]
    (refused,) = refusals(h)
    assert reason in refused


def test_a_bad_version_leaves_the_one_in_force() -> None:
    h = harness()
    bring(h, two("p", "a", "b"))
    feed(h, "a")
    bring(h, two("p", "a", "c", version=2, within=0))
    feed(h, "b", at=10)
    assert h.values == ["p1 ab"]
    assert len(refusals(h)) == 1
    assert h.accumulators["DynamicCepOperator.numPatternsRefused"] == 1


def test_one_subtask_of_several_says_what_is_refused() -> None:
    h = harness(parallelism=3)
    bring(h, {"id": "p"})
    h.inputs[0].process_watermark(1)
    assert len(refusals(h)) == 1


# ---- conditions


def test_conditions_are_expressions_registered_ones_or_put_together() -> None:
    stages = [
        {
            "name": "up",
            "where": {
                "all": [
                    {"name": "rising"},
                    {"any": [{"name": "among", "parameters": {"letters": "abcd"}}, "letter == 'z'"]},
                    {"not": "letter == 'c'"},
                ]
            },
            "one_or_more": True,
            "consecutive": True,
        },
        {"name": "end", "where": "letter == first('up').letter", "contiguity": "next"},
    ]
    h = harness()
    bring(h, {"id": "p", "version": 1, "pattern": stages, "skip": "skip_past_last_event"})
    feed(h, "cabdaxcz")
    assert h.values == ["p1 abda"]


def test_a_group_is_repeated() -> None:
    pair = [
        {"name": "a", "where": "letter == 'a'"},
        {"name": "b", "where": "letter == 'b'", "contiguity": "next"},
    ]
    h = harness()
    bring(h, {"id": "p", "version": 1, "pattern": [{"group": pair, "times": 2}]})
    feed(h, "abab")
    assert h.values == ["p1 aabb"]


# ---- time and state


def test_partial_matches_time_out() -> None:
    h = harness()
    bring(h, two("p", "a", "b", within="10 ms"), two("q", "a", "b", within=20))
    feed(h, "a")
    feed(h, "x", at=30)
    assert [event.value for event in h.side_output(TIMED_OUT)] == [("p", 1, 10), ("q", 1, 20)]


def test_processing_time() -> None:
    h = harness(event_time=False)
    bring(h, two("p", "a", "b"))
    feed(h, "ab")
    assert h.values == ["p1 ab"]


@pytest.mark.row("S-CEP-17")
@pytest.mark.parametrize("widths", [(2, 3, 1), (1, 2)])
def test_patterns_and_partial_matches_survive_restore_and_rescale(widths: tuple[int, ...]) -> None:
    keys = [f"k{n}" for n in range(20)]
    h = harness(parallelism=widths[0], max_parallelism=16)
    bring(h, two("p", "a", "b"), two("q", "a", "c"), two("gone", "a", "b"))
    for n, key in enumerate(keys):
        feed(h, "a", at=n, key=key)
    bring(h, two("p", "a", "c", version=2, earlier="go_on"), {"id": "gone", "remove": True})
    for at, width in enumerate(widths[1:], 1):
        h = harness(parallelism=width, max_parallelism=16, restore=h.snapshot())
        for key in keys:
            h.inputs[0].process_element({"key": key, "letter": "x"}, 100 * at)
        h.inputs[0].process_watermark(100 * at)
    for key in keys:
        h.inputs[0].process_element({"key": key, "letter": "b"}, 900)
        h.inputs[0].process_element({"key": key, "letter": "c"}, 901)
    h.inputs[0].process_watermark(999)
    assert sorted(h.values) == ["p1 ab"] * 20 + ["q1 ac"] * 20
    assert h.num_keyed_state_entries() == 0
    bring(h, two("p", "a", "c", version=2, earlier="go_on"))
    assert refusals(h) == [], "the record has come once more"


def test_a_registered_condition_that_is_gone_is_said_when_the_job_goes_on() -> None:
    h = harness()
    where = {"name": "among", "parameters": {"letters": "a"}}
    bring(h, {"id": "p", "version": 1, "pattern": [{"name": "a", "where": where}]})
    feed(h, "x")
    with pytest.raises(FiresteelError) as caught, harness({}, restore=h.snapshot()) as restored:
        feed(restored, "a", at=10)
    error: BaseException | None = caught.value
    while error is not None and not isinstance(error, StateError):
        error = error.__cause__
    assert isinstance(error, StateError)
    assert "register the conditions" in str(error)


def test_what_is_not_a_stream_or_a_condition_is_refused() -> None:
    with pytest.raises(ProgramError, match="a stream of events"):
        CEP.dynamic_patterns("events", "patterns")  # type: ignore[arg-type]
