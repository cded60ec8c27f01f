"""Automata that are still being made, and conditions that are put together for them."""

from __future__ import annotations

from collections.abc import Sequence
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
        _follow(state, set(), done)


def _follow(state: DraftState, above: set[int], done: set[int]) -> None:
    if id(state) in above:
        raise MalformedPatternError(
            "A group that can match without any event cannot be repeated.",
            detail=f"all stages around {state.stage!r} are optional",
            hint="make one stage of the group mandatory, or make the group optional instead",
        )
    if id(state) not in done:
        for edge in state.edges:
            if edge.action is Action.PROCEED:
                _follow(edge.target, {*above, id(state)}, done)
        done.add(id(state))


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
