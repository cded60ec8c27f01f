"""A pattern, fed by hand and watched step by step, without a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.cep.compiler import compiled
from firesteel.cep.matcher import Match, Matcher, TimedOut
from firesteel.cep.pattern import Pattern
from firesteel.cep.shared_buffer import KeyMatches
from firesteel.common.errors import ProgramError
from firesteel.program.checks import require_int

__all__ = ["PartialMatch", "PatternTester"]


@dataclass(frozen=True, slots=True)
class PartialMatch:
    """What a pattern has seen of a match so far.

    :param state: the state of the automaton in which it waits, as ``pattern.explain()`` calls it.
    :param events: by stage.
    """

    state: str
    events: Match


class PatternTester:
    """Runs a pattern on events of one key: what matches, what is left waiting, what times out.

    Events are given in the order of time, as a job gives them to a pattern once the watermark has passed
    them.

    >>> from firesteel.cep import Pattern
    >>> pattern = Pattern.begin("a").where(str.islower).next("b").where(str.isupper).within(10)
    >>> tester = PatternTester(pattern)
    >>> tester.process("x", timestamp=1)
    []
    >>> tester.partial_matches
    [PartialMatch(state='b', events={'a': ['x']})]
    >>> tester.process("Y", timestamp=2)
    [{'a': ['x'], 'b': ['Y']}]

    :ivar events: those that were given, each with its timestamp.
    :ivar matches: all that have come so far.
    :ivar timed_out: partial matches whose time was over, with that time.
    :raises MalformedPatternError: the pattern cannot be matched as it is written.
    """

    def __init__(self, pattern: Pattern) -> None:
        self._nfa = compiled(pattern)
        self._now: int | None = None
        self._matcher = Matcher(self._nfa, handles_timeouts=True, clock=lambda: self._now or 0)
        self._key = KeyMatches()
        self.events: list[tuple[Any, int]] = []
        self.matches: list[Match] = []
        self.timed_out: list[TimedOut] = []

    def process(self, value: Any, timestamp: int | None = None) -> list[Match]:
        """Give the pattern an event; return the matches that are complete now.

        :param timestamp: in epoch ms; None: a millisecond after the event before.
        """
        if timestamp is None:
            timestamp = 0 if self._now is None else self._now + 1
        before = self.advance(timestamp)
        self.events.append((value, timestamp))
        with_event = self._matcher.process(self._key, value, timestamp)
        self.matches += with_event
        return before + with_event

    def advance(self, timestamp: int) -> list[Match]:
        """Let time go on; return the matches that are complete because nothing has come."""
        require_int(timestamp, "timestamp", -(2**63), 2**63 - 1)
        if self._now is not None and timestamp < self._now:
            raise ProgramError(
                "Time does not go back.",
                detail=f"it is {self._now}, asked for is {timestamp}",
                hint="give the events in the order of their timestamps",
            )
        self._now = timestamp
        found: list[Match] = []
        while (due := self._matcher.due_ms(self._key)) is not None and due <= timestamp:
            advanced = self._matcher.advance(self._key, due)
            found += advanced.matches
            self.timed_out += advanced.timed_out
        self.matches += found
        return found

    @property
    def partial_matches(self) -> list[PartialMatch]:
        """The partial matches that wait for events, by their first event."""
        return [
            PartialMatch(
                self._nfa.states[state].name,
                {name: [e.copy() for e in events] for name, events in node.by_stage().items()},
            )
            for state, node in self._key.partial
        ]
