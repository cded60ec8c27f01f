"""A pattern, step by step, without a stream."""

from __future__ import annotations

import pytest

from firesteel.cep import MalformedPatternError, Pattern
from firesteel.common.errors import ProgramError
from firesteel.testing import PartialMatch, PatternTester


def pattern() -> Pattern:
    return Pattern.begin("a").where(str.islower).followed_by("b").where(str.isupper).within(10)


def test_what_matches_and_what_waits_is_seen_after_each_event() -> None:
    tester = PatternTester(pattern())
    assert tester.process("x") == []
    assert tester.process("y") == []
    assert tester.partial_matches == [PartialMatch("b", {"a": ["x"]}), PartialMatch("b", {"a": ["y"]})]
    assert tester.process("Z") == [{"a": ["x"], "b": ["Z"]}, {"a": ["y"], "b": ["Z"]}]
    assert tester.partial_matches == []
    assert tester.matches == [{"a": ["x"], "b": ["Z"]}, {"a": ["y"], "b": ["Z"]}]
    assert tester.events == [("x", 0), ("y", 1), ("Z", 2)]


def test_time_passes_by_hand() -> None:
    tester = PatternTester(pattern())
    tester.process("x", timestamp=5)
    assert tester.advance(14) == [] == tester.timed_out
    tester.advance(15)
    assert tester.timed_out == [({"a": ["x"]}, 15)]
    with pytest.raises(ProgramError, match="Time does not go back"):
        tester.process("Z", timestamp=3)


def test_a_match_may_need_time_alone() -> None:
    tester = PatternTester(Pattern.begin("a").not_followed_by("b").where(str.isupper).within(10))
    tester.process("x", timestamp=0)
    assert tester.advance(10) == [{"a": ["x"]}]


def test_a_bad_pattern_is_refused() -> None:
    with pytest.raises(MalformedPatternError, match="Duplicate pattern name"):
        PatternTester(Pattern.begin("a").next("a"))
