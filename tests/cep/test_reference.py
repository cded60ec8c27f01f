"""The same pattern programs on Flink's own library and here: the same matches, in the same order.

What Flink has matched is in ``reference/programs.jsonl``; ``reference/make_programs.py`` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.cep.compiler import compiled
from firesteel.cep.kept import StateNames, decoded, encoded
from firesteel.cep.matcher import Match, Matcher
from firesteel.cep.name_table import NO_NAMES
from firesteel.cep.shared_buffer import KeyMatches
from firesteel.common.errors import FiresteelError
from tests.cep.programs import pattern_of

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "reference" / "programs.jsonl").read_text().splitlines()
]
RUN = [case for case in CASES if "refused" not in case["flink"]]
REFUSED = [case for case in CASES if "refused" in case["flink"]]


def shown(match: Match) -> list[Any]:
    return [[stage, [event[0] for event in events]] for stage, events in match.items()]


class Run:
    """A program as ``CepReference.java`` runs it.

    :param stores: state is written and read after each event.
    :param screens: the events that change nothing are left out.
    """

    def __init__(self, program: dict[str, Any], *, stores: bool = False, screens: bool = False) -> None:
        self.nfa = compiled(pattern_of(program["pattern"]))
        self.matcher = Matcher(self.nfa, handles_timeouts=True)
        self.names = StateNames(state.name for state in self.nfa.states)
        self.key = KeyMatches()
        self.stored: dict[bytes, bytes] = {}
        self.table = NO_NAMES
        self.steps: list[dict[str, Any]] = []
        now = None
        events = [(place, kind, value) for place, (_, kind, value) in enumerate(program["events"])]
        chosen: dict[int, Any] = dict.fromkeys(range(len(events)))
        if screens:
            screening = self.matcher.screening
            chosen = dict(screening.changing(events, range(len(events)), screening.beginning(events)))
        self.left_out = len(events) - len(chosen)
        for place, (timestamp, kind, value) in enumerate(program["events"]):
            if timestamp != now:
                now = timestamp
                self.advance(now)
            if place not in chosen:
                continue
            matches = self.matcher.process(self.key, (place, kind, value), timestamp, chosen[place])
            if matches:
                self.steps.append({"event": place, "matches": list(map(shown, matches))})
            if stores:
                self.store()
        self.advance(program["end"])
        self.answer = {"steps": self.steps, "partial": len(self.key.partial) + len(self.key.completed) + 1}

    def advance(self, now: int) -> None:
        matches, timed_out = self.matcher.advance(self.key, now)
        if matches or timed_out:
            timeouts = [[shown(match), time] for match, time in timed_out]
            self.steps.append({"advance": now, "matches": list(map(shown, matches)), "timeouts": timeouts})

    def store(self) -> None:
        self.stored, self.table = encoded(self.key, self.names, self.table, self.stored)
        self.key = decoded(self.stored, self.names, self.table) if self.stored else KeyMatches()


def of_flink(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case["flink"].items() if name != "buffer_empty"}


def test_there_are_enough() -> None:
    assert len(RUN) >= 300
    assert sum(bool(case["flink"]["steps"]) for case in RUN) >= 300


@pytest.mark.row(
    "S-CEP-03", "S-CEP-04", "S-CEP-05", "S-CEP-06", "S-CEP-07", "S-CEP-08", "S-CEP-09", "S-CEP-13"
)
@pytest.mark.parametrize("case", RUN, ids=lambda case: str(case["seed"]))
def test_matches_are_those_of_flink(case: dict[str, Any]) -> None:
    assert Run(case["program"]).answer == of_flink(case)


@pytest.mark.parametrize("case", RUN[::3], ids=lambda case: str(case["seed"]))
def test_matches_are_the_same_with_state_stored_after_each_event(case: dict[str, Any]) -> None:
    assert Run(case["program"], stores=True).answer == of_flink(case)


def test_matches_are_the_same_without_the_events_that_change_nothing() -> None:
    left_out = 0
    for case in RUN:
        run = Run(case["program"], screens=True)
        assert run.answer == of_flink(case), case["seed"]
        left_out += run.left_out
    assert left_out > 200


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: str(case["seed"]))
def test_what_flink_refuses_is_refused_with_its_reason(case: dict[str, Any]) -> None:
    with pytest.raises(FiresteelError) as caught:
        compiled(pattern_of(case["program"]["pattern"]))
    assert caught.value.message == case["flink"]["refused"].partition(": ")[2]
