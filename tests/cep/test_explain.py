"""A pattern explains itself: as text, and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from firesteel.cep import Pattern, WithinType
from tests.cep.programs import pattern_of, program


def sample() -> Pattern:
    def high(event: int) -> bool:
        return event > 5

    return (
        Pattern.begin("high")
        .where(high)
        .one_or_more()
        .not_followed_by("stop")
        .where(high)
        .next("low")
        .within(9)
    )


def test_the_text_has_stages_states_and_conditions() -> None:
    text = sample().explain()
    assert "begin high 1 or more times (followed_by)" in text
    assert "next low" in text
    assert "within 9 ms from the first to the last event" in text
    assert "  high:1 (start)\n    take if c0 -> high\n" in text
    assert "low\n    take -> $endState$" in text
    assert "c0: high, line" in text


def test_windows_between_events_and_groups_are_shown() -> None:
    pattern = Pattern.begin(Pattern.begin("a").next("b").within(4, WithinType.PREVIOUS_AND_CURRENT)).times(2)
    text = pattern.explain()
    assert "begin a group of 2 times (followed_by)" in text
    assert "b, at most 4 ms" in text


@pytest.mark.parametrize("seed", [1, 11, 24, 37, 50, 62])
def test_the_picture_has_each_state_once(seed: int) -> None:
    pattern = pattern_of(program(seed)["pattern"])
    automaton = pattern.explain().partition("Automaton\n")[2].partition("Conditions\n")[0]
    states = [line for line in automaton.splitlines() if not line.startswith("    ")]
    picture = ElementTree.fromstring(pattern.explain_svg())
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}rect")) == len(states) > 1


def test_the_picture_is_well_formed_and_names_its_states() -> None:
    picture = ElementTree.fromstring(sample().explain_svg())
    texts = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"high", "high:1", "low", "match", "stop"} <= texts
