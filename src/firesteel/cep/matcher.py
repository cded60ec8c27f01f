"""The engine: what an event, or the passing of time, does to the partial matches of a key.

It knows neither streams nor state; ``operator`` feeds it from a stream, and MATCH_RECOGNIZE can do the same.
Semantics are those of Flink's ``NFA``: for each event the partial matches go on in the order of their first
events, then a new one may begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from firesteel.cep import _heap
from firesteel.cep.conditions import filter_of
from firesteel.cep.decisions import NO_STATE, Decision, Decisions, Plan, Tree
from firesteel.cep.errors import SkipError, TooManyPartialMatchesError
from firesteel.cep.nfa import Nfa, StateKind
from firesteel.cep.screening import Answers, Screening
from firesteel.cep.shared_buffer import KeyMatches, MatchedEvent, Node, PartialMatch
from firesteel.cep.skip_strategy import Skip

__all__ = ["Advanced", "Limit", "Match", "Matcher", "TimedOut"]

#: The events of a match by stage, in the order in which they were taken.
Match: TypeAlias = dict[str, list[Any]]

_NOTHING: Final[list[Match]] = []


class TimedOut(NamedTuple):
    """A partial match whose time was over at ``timestamp``."""

    match: Match
    timestamp: int


class Advanced(NamedTuple):
    """What came of the passing of time: matches that had waited for it, and partial matches that timed
    out."""

    matches: list[Match]
    timed_out: list[TimedOut]


_NOT_ADVANCED: Final = Advanced([], [])


class Limit(NamedTuple):
    """How many partial matches a key may have.

    :param drops: whether the oldest ones go then; else it is an error.
    """

    partial_matches: int
    drops: bool


class _Context:
    """What an iterative condition sees of the partial match that it is evaluated for."""

    __slots__ = ("_clock", "_events", "_node", "_timestamp")

    def __init__(self, node: Node | None, timestamp: int, clock: Callable[[], int]) -> None:
        self._node = node
        self._timestamp = timestamp
        self._clock = clock
        self._events: dict[str, list[MatchedEvent]] | None = None

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        if self._events is None:
            self._events = {} if self._node is None else self._node.by_stage()
        return [event.value for event in self._events.get(name, ())]

    def timestamp(self) -> int:
        return self._timestamp

    def current_processing_time(self) -> int:
        return self._clock()


class Matcher:
    """Runs an automaton on the events of one key after the other.

    :param handles_timeouts: whether somebody wants to know of partial matches that time out.
    :param clock: tells the processing time, for conditions.
    :ivar screening: finds the events that ``process`` must be given.
    :ivar dropped: how many partial matches went because a key had too many.
    """

    def __init__(
        self,
        nfa: Nfa,
        *,
        handles_timeouts: bool = False,
        clock: Callable[[], int] = lambda: 0,
        limit: Limit | None = None,
    ) -> None:
        self._nfa = nfa
        self._handles_timeouts = handles_timeouts
        self._clock = clock
        self._limit = limit
        self.dropped = 0
        self._filters = list(map(filter_of, nfa.conditions))
        decisions = Decisions(nfa)
        self.screening = Screening(decisions)
        self._roots = decisions.roots
        self._start = decisions.roots[nfa.start]
        self._no_answers: list[bool | None] = [None] * len(nfa.conditions)
        self._window_ms = nfa.window_ms
        self._windows = {n: s.window_ms for n, s in enumerate(nfa.states) if s.window_ms is not None}
        self._pending = {n for n, s in enumerate(nfa.states) if s.kind is StateKind.PENDING}
        self._keeps_all = nfa.skip.skip is Skip.NO_SKIP

    def begin_no_more(self) -> None:
        """From here on partial matches go on, and none begins."""
        self._start = Plan((), stays=True, stops=False)
        self.screening.begin_no_more()

    # ---- an event

    def process(
        self, matches: KeyMatches, value: Any, timestamp: int, known: Answers | None = None
    ) -> list[Match]:  # hot
        """Give the key an event; return the matches that are complete with it.

        :param known: what the conditions say of it, as far as that is known.
        """
        answers = list(known or self._no_answers)
        event: MatchedEvent | None = None
        kept: list[PartialMatch] = []
        completed: list[Node] = []
        roots = self._roots
        changed = False
        for partial in matches.partial:
            plan = roots[partial[0]]
            if type(plan) is not Plan:
                plan = self._decide(plan, value, answers, partial[1], timestamp)
            if plan.stays:
                kept.append(partial)
                continue
            changed = True
            if plan.steps:
                event = event or MatchedEvent.of(matches.sequence, timestamp, value)
                self._go_on(plan, partial[1], event, kept, completed)
        plan = self._start
        if type(plan) is not Plan:
            plan = self._decide(plan, value, answers, None, timestamp)
        if plan.steps:
            changed = True
            event = event or MatchedEvent.of(matches.sequence, timestamp, value)
            self._go_on(plan, None, event, kept, completed)
        if not changed:
            return _NOTHING
        if event is not None:
            matches.sequence += 1
        matches.partial = kept
        if self._limit is not None and len(kept) > self._limit.partial_matches:
            self._cut(matches, self._limit)
        return self._matches(matches, completed)

    def _decide(
        self, tree: Tree, value: Any, answers: list[bool | None], node: Node | None, timestamp: int
    ) -> Plan:  # hot
        """Follow a tree to its plan. Answers of simple conditions are good for all partial matches; those of
        iterative ones, for one."""
        context: _Context | None = None
        while type(tree) is Decision:
            condition = tree.condition
            holds = answers[condition]
            if holds is None:
                if tree.is_iterative:
                    context = context or _Context(node, timestamp, self._clock)
                    holds = bool(self._filters[condition](value, context))
                else:
                    holds = answers[condition] = bool(self._filters[condition](value))
            tree = (tree.yes if holds else tree.no) or tree.answer(holds)
        return tree

    @staticmethod
    def _go_on(
        plan: Plan,
        node: Node | None,
        event: MatchedEvent,
        kept: list[PartialMatch],
        completed: list[Node],
    ) -> None:
        """Carry out a plan for the partial match that ends with *node*; None: for one that begins."""
        taken: dict[str, Node] = {}
        for takes, stage, target, completes in plan.steps:
            if takes:
                end = taken.get(stage)
                if end is None:
                    end = taken[stage] = Node(stage, event, node)
            else:
                assert node is not None, "who has not begun does not ignore anything"
                end = node
            if target != NO_STATE and not plan.stops:
                kept.append((target, end))
            if completes:
                completed.append(end)

    def _cut(self, matches: KeyMatches, limit: Limit) -> None:
        excess = len(matches.partial) - limit.partial_matches
        if not limit.drops:
            raise TooManyPartialMatchesError(
                f"A key has more than {limit.partial_matches} partial matches.",
                detail=f"{len(matches.partial)} of them wait for events",
                hint="give the pattern a time with within(...), or an until(...) to its loop; or set "
                "firesteel.cep.max-partial-matches-per-key, or firesteel.cep.too-many-partial-matches to "
                "drop-oldest",
            )
        del matches.partial[:excess]
        self.dropped += excess

    # ---- time

    def advance(self, matches: KeyMatches, now: int) -> Advanced:
        """Let time go on to *now*: no event before it comes any more."""
        if not matches.partial or not self._any_due(matches, now):
            return _NOT_ADVANCED
        kept: list[PartialMatch] = []
        completed: list[Node] = []
        timed_out: list[TimedOut] = []
        for partial in matches.partial:
            over = self._over(partial, now)
            if over is None:
                kept.append(partial)
            elif partial[0] in self._pending:
                completed.append(partial[1])
            elif self._handles_timeouts:
                timed_out.append(TimedOut(_values(partial[1].by_stage()), over))
        matches.partial = kept
        return Advanced(self._matches(matches, completed), timed_out)

    def _any_due(self, matches: KeyMatches, now: int) -> bool:
        due = self.due_ms(matches)
        return due is not None and due <= now

    def _over(self, partial: PartialMatch, now: int) -> int | None:
        """When the time of a partial match was over; None: it is not."""
        state, node = partial
        window_ms = self._windows.get(state)
        if window_ms is not None and now - node.event.timestamp >= window_ms:
            return node.event.timestamp + window_ms
        window_ms = self._window_ms
        if window_ms is not None and now - node.first.timestamp >= window_ms:
            return node.first.timestamp + window_ms
        return None

    def due_ms(self, matches: KeyMatches) -> int | None:
        """Return when the first partial match times out; None: none does."""
        window_ms = self._window_ms
        due: int | None = None
        if window_ms is not None and matches.partial:
            due = matches.partial[0][1].first.timestamp + window_ms
        if self._windows:
            windows = self._windows
            for state, node in matches.partial:
                window_ms = windows.get(state)
                if window_ms is not None and (due is None or node.event.timestamp + window_ms < due):
                    due = node.event.timestamp + window_ms
        return due

    # ---- complete matches

    def _matches(self, matches: KeyMatches, completed: list[Node]) -> list[Match]:
        """Return the matches that count now; those that began after a partial match wait, if the strategy may
        still give them up."""
        waiting = matches.completed
        if not completed and not waiting:
            return _NOTHING
        for node in completed:
            _heap.push(waiting, node)
        found: list[Match] = []
        while waiting:
            earliest = None if self._keeps_all or not matches.partial else matches.partial[0][1].first
            if earliest is not None and earliest.sequence < waiting[0].first.sequence:
                break
            events = _heap.pop(waiting).by_stage()
            if not self._keeps_all:
                self._skip(matches, events)
            found.append(_values(events))
        return found

    def _skip(self, matches: KeyMatches, events: dict[str, list[MatchedEvent]]) -> None:
        first = self._first_kept(events)
        if first is not None:
            matches.partial = [p for p in matches.partial if p[1].first.sequence >= first]
            _heap.drop(matches.completed, lambda node: node.first.sequence < first)

    def _first_kept(self, events: dict[str, list[MatchedEvent]]) -> int | None:
        """Return from which event on others may have begun; None: they all go on."""
        strategy = self._nfa.skip
        match strategy.skip:
            case Skip.TO_NEXT:
                return min(each[0].sequence for each in events.values()) + 1
            case Skip.PAST_LAST_EVENT:
                return max(each[-1].sequence for each in events.values()) + 1
        assert strategy.stage is not None
        found = events.get(strategy.stage)
        if not found:
            if strategy.fails_on_miss:
                raise SkipError(
                    f"Could not skip to {strategy.stage}. No such element in the found match",
                    detail=f"the match is {_values(events)}",
                )
            return None
        target = found[0 if strategy.skip is Skip.TO_FIRST else -1].sequence
        if strategy.fails_on_miss and target == min(each[0].sequence for each in events.values()):
            raise SkipError(
                "Could not skip to first element of a match.",
                detail=f"the match {_values(events)} begins with the event of {strategy.stage!r} to skip to",
            )
        return target


def _values(events: dict[str, list[MatchedEvent]]) -> Match:
    return {stage: [event.copy() for event in each] for stage, each in events.items()}
