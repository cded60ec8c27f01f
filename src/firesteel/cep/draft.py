"""Automata that are still being made, and conditions that are put together for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from firesteel.cep.conditions import And, Condition, Expression, Not, Or, identity
from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.nfa import Action, Edge, Logic, Nfa, State, StateKind
from firesteel.cep.skip_strategy import AfterMatchSkipStrategy

__all__ = [
    "DraftState",
    "both",
    "finished",
    "require_no_more",
    "require_progress",
    "until",
    "until_if_any",
]


@dataclass(slots=True, eq=False)
class DraftEdge:
    action: Action
    target: DraftState
    condition: Expression


@dataclass(slots=True, eq=False)
class DraftState:
    name: str
    stage: str
    kind: StateKind
    window_ms: int | None = None
    edges: list[DraftEdge] = field(default_factory=list)

    def add(self, action: Action, target: DraftState, condition: Expression = True) -> None:
        self.edges.append(DraftEdge(action, target, condition))


class _Conditions:
    """The conditions of an automaton, by number."""

    def __init__(self) -> None:
        self.found: list[Condition] = []
        self._numbers: dict[int, int] = {}

    def logic(self, expression: Expression) -> Logic:
        match expression:
            case bool():
                return expression
            case Not(operand):
                inside = self.logic(operand)
                return not inside if type(inside) is bool else ("not", inside)
            case And(left, right):
                return ("and", self.logic(left), self.logic(right))
            case Or(left, right):
                return ("or", self.logic(left), self.logic(right))
        number = self._numbers.setdefault(identity(expression), len(self.found))
        if number == len(self.found):
            self.found.append(expression)
        return number


def finished(
    drafts: Sequence[DraftState], start: DraftState, window_ms: int | None, skip: AfterMatchSkipStrategy
) -> Nfa:
    """Return the automaton as plain data."""
    places = {id(state): place for place, state in enumerate(drafts)}
    conditions = _Conditions()
    states = tuple(
        State(
            draft.name,
            draft.stage,
            draft.kind,
            tuple(Edge(e.action, places[id(e.target)], conditions.logic(e.condition)) for e in draft.edges),
            draft.window_ms,
        )
        for draft in drafts
    )
    return Nfa(states, tuple(conditions.found), places[id(start)], window_ms, skip)


def require_progress(states: Sequence[DraftState]) -> None:
    """Refuse a way from a state back to itself that takes no event. (Flink does not return from it.)"""
    done: set[int] = set()
    for state in states:
        if id(state) not in done:
            _follow(state, done)


def _follow(first: DraftState, done: set[int]) -> None:
    """Look at all that a state proceeds to, a way at a time: there may be many optional stages in a row."""
    way = [first]
    ahead = [_proceeds_to(first)]
    on_the_way = {id(first)}
    while way:
        target = next(ahead[-1], None)
        if target is None:
            ahead.pop()
            left = id(way.pop())
            on_the_way.remove(left)
            done.add(left)
        elif id(target) in on_the_way:
            raise MalformedPatternError(
                "A group that can match without any event cannot be repeated.",
                detail=f"all stages around {target.stage!r} are optional",
                hint="make one stage of the group mandatory, or make the group optional instead",
            )
        elif id(target) not in done:
            way.append(target)
            ahead.append(_proceeds_to(target))
            on_the_way.add(id(target))


def _proceeds_to(state: DraftState) -> Iterator[DraftState]:
    return (edge.target for edge in state.edges if edge.action is Action.PROCEED)


def both(left: Expression, right: Expression) -> Expression:
    return right if left is True else And(left, right)


def until(condition: Expression, end: Expression | None) -> Expression:
    """*condition* for as long as the loop has not ended."""
    if end is None:
        return condition
    return Not(end) if condition is True else And(Not(end), condition)


def until_if_any(condition: Expression | None, end: Expression | None) -> Expression | None:
    return None if condition is None else until(condition, end)


def require_no_more(state: DraftState, take: Expression) -> None:
    """A greedy stage before *state* has every event that it can take."""
    for edge in state.edges:
        edge.condition = both(edge.condition, Not(take))
