"""Which events change anything, found out for many of them at once.

Most events begin no match, and leave the partial matches of their key as they are. Whether that is so follows
from the answers of the simple conditions, which are evaluated here column by column.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from firesteel.cep.conditions import filter_of
from firesteel.cep.decisions import Decision, Decisions, Plan, Tree
from firesteel.cep.nfa import Action, Nfa, StateKind
from firesteel.common._map_all import map_all

__all__ = ["Answers", "Screening"]

#: What the conditions say of an event, by their numbers; None: that is not known.
Answers: TypeAlias = Sequence[bool | None]

#: With more simple conditions than this it is cheaper to ask for those alone that the states of a key need.
_MOST_CONDITIONS: Final = 16


class Screening:
    """Looks at events before they are given to their keys."""

    def __init__(self, decisions: Decisions) -> None:
        nfa = decisions.nfa
        self._filters: list[Callable[..., bool]] = list(map(filter_of, nfa.conditions))
        self._simple = [n for n in range(len(nfa.conditions)) if not nfa.is_iterative(n)]
        self._waiting = [decisions.roots[state] for state in _waiting_states(nfa)]
        self._start: Tree = decisions.roots[nfa.start]
        self._inert: dict[tuple[bool, ...], bool] = {}  # by the answers of the simple conditions
        self._is_of_use = 0 < len(self._simple) <= _MOST_CONDITIONS

    def begin_no_more(self) -> None:
        self._start = Plan((), stays=True, stops=False)
        self._inert.clear()

    # ---- what begins a match

    def beginning(self, values: Sequence[Any]) -> list[bool] | None:
        """Return which events may begin a match; None: that cannot be told from the event alone."""
        root = self._start
        if type(root) is Plan and not root.steps:
            return [False] * len(values)
        if type(root) is not Decision or root.is_iterative:
            return None
        if self._is_begun_by(root):
            return self._column(root.condition, values)
        return [self._may_begin(value) for value in values]

    @staticmethod
    def _is_begun_by(root: Decision) -> bool:
        """Whether an event begins a match if, and only if, one condition holds."""
        yes, no = root.branch(True), root.branch(False)
        return type(yes) is Plan and bool(yes.steps) and type(no) is Plan and not no.steps

    def _may_begin(self, value: Any) -> bool:
        tree = self._start
        while type(tree) is Decision:
            if tree.is_iterative:
                return True
            tree = tree.branch(bool(self._filters[tree.condition](value)))
        return bool(tree.steps)

    # ---- what changes anything

    def changing(
        self, values: Sequence[Any], places: Sequence[int], begins: Sequence[bool] | None
    ) -> Iterable[tuple[int, Answers | None]]:  # hot
        """Return the *places* of the events that may change something for a key with partial matches, or
        begin one, each with the answers that are known by then.

        :param begins: what ``beginning`` says of all *values*.
        """
        if not self._is_of_use or not places:
            return [(place, None) for place in places]
        try:
            rows = self._rows(values, places, begins)
        except BaseException:  # raised again where the event is matched, if it is asked there
            return [(place, None) for place in places]
        inert = self._inert
        for answers in set(rows).difference(inert):
            inert[answers] = self._is_inert(answers)
        found = [(place, answers) for place, answers in zip(places, rows, strict=True) if not inert[answers]]
        if len(self._simple) == len(self._filters):
            return found
        return [(place, self._by_number(answers)) for place, answers in found]

    def _rows(
        self, values: Sequence[Any], places: Sequence[int], begins: Sequence[bool] | None
    ) -> list[tuple[bool, ...]]:
        """The answers of the simple conditions, event by event."""
        root = self._start
        known = root.condition if type(root) is Decision and self._is_begun_by(root) else None
        chosen = [values[place] for place in places]
        columns = [
            [begins[place] for place in places]
            if number == known and begins is not None
            else self._column(number, chosen)
            for number in self._simple
        ]
        return list(zip(*columns, strict=True))

    def _column(self, condition: int, values: Sequence[Any]) -> list[bool]:
        return list(map(operator.truth, map_all(self._filters[condition], values)))

    def _by_number(self, answers: tuple[bool, ...]) -> Answers:
        known: list[bool | None] = [None] * len(self._filters)
        for number, answer in zip(self._simple, answers, strict=True):
            known[number] = answer
        return known

    def _is_inert(self, answers: tuple[bool, ...]) -> bool:
        """Whether no state is left, and none begun, with these answers."""
        known = self._by_number(answers)
        start = _plan(self._start, known)
        if start is None or start.steps:
            return False
        plans = (_plan(root, known) for root in self._waiting)
        return all(plan is not None and plan.stays for plan in plans)


def _waiting_states(nfa: Nfa) -> set[int]:
    """The states that a partial match can be in between two events."""
    return {
        edge.target
        for state in nfa.states
        for edge in state.edges
        if edge.action is not Action.PROCEED
        and nfa.states[edge.target].kind not in (StateKind.FINAL, StateKind.STOP)
    }


def _plan(tree: Tree, answers: Answers) -> Plan | None:
    """The plan that answers lead to; None: an iterative condition is asked on the way."""
    while type(tree) is Decision:
        answer = answers[tree.condition]
        if answer is None:
            return None
        tree = tree.branch(answer)
    return tree
