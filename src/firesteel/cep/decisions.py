"""What an event does to a partial match: decided once for each outcome of the conditions.

What becomes of a partial match depends on its state and on the conditions that its edges ask for. So each
state has a tree: an inner node asks for one condition, a leaf is a ``Plan``, the finished answer. The order
in which conditions are asked for, and which of them are not, is that of a search through the edges (Flink:
``NFA.createDecisionGraph``). A branch is made when an event first takes it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias, final

from firesteel.cep.nfa import Action, Edge, Logic, Nfa, StateKind

__all__ = ["Decision", "Decisions", "Plan", "Step"]

NO_STATE: Final = -1


class Step(NamedTuple):
    """One way on for a partial match.

    :param takes: whether the event becomes part of it, for ``stage``.
    :param target: the state that it is in then; NO_STATE: none that waits for more.
    :param completes: whether it is a match.
    """

    takes: bool
    stage: str
    target: int
    completes: bool


@final
class Plan:
    """What becomes of a partial match.

    :ivar steps: its ways on, in the order in which they come out.
    :ivar stays: nothing happens; it goes on as it is.
    :ivar stops: none of its ways on counts, but for those that are complete.
    """

    __slots__ = ("stays", "steps", "stops")

    def __init__(self, steps: tuple[Step, ...], stays: bool, stops: bool) -> None:
        self.steps = steps
        self.stays = stays
        self.stops = stops


@final
class Decision:
    """A question: whether a condition holds."""

    __slots__ = ("_decisions", "_known", "_state", "condition", "is_iterative", "no", "yes")

    def __init__(self, decisions: Decisions, state: int, known: dict[int, bool], condition: int) -> None:
        self._decisions = decisions
        self._state = state
        self._known = known
        self.condition = condition
        self.is_iterative = decisions.nfa.is_iterative(condition)
        self.no: Tree | None = None
        self.yes: Tree | None = None

    def branch(self, holds: bool) -> Tree:
        """Return where an answer leads."""
        return (self.yes if holds else self.no) or self.answer(holds)

    def answer(self, holds: bool) -> Tree:
        """Make the branch for an answer."""
        known = {**self._known, self.condition: holds}
        branch = self._decisions.tree(self._state, known)
        if holds:
            self.yes = branch
        else:
            self.no = branch
        return branch


Tree: TypeAlias = Decision | Plan


class _Unknown(Exception):
    def __init__(self, condition: int) -> None:
        self.condition = condition


class Decisions:
    """The trees of an automaton."""

    def __init__(self, nfa: Nfa) -> None:
        self.nfa = nfa
        self.roots: list[Tree] = [self.tree(state, {}) for state in range(len(nfa.states))]

    def tree(self, state: int, known: dict[int, bool]) -> Tree:
        """Return what is to be asked next, or the plan, where the answers in *known* are given."""
        try:
            return self._plan(state, known)
        except _Unknown as unknown:
            return Decision(self, state, known, unknown.condition)

    def _plan(self, state: int, known: dict[int, bool]) -> Plan:
        edges = self._edges(state, known)
        is_start = self.nfa.states[state].kind is StateKind.START
        steps: list[Step] = []
        stops = False
        for source, edge in edges:
            kind = self.nfa.states[edge.target].kind
            if kind is StateKind.STOP:
                stops = True
            elif edge.action is Action.TAKE:
                steps.append(self._take(source, edge.target, known))
            elif not is_start:  # who has not begun cannot ignore anything
                steps.append(self._ignore(edge.target, kind))
        stays = not stops and steps == [Step(False, "", state, False)]
        return Plan(tuple(steps), stays, stops)

    def _take(self, source: int, target: int, known: dict[int, bool]) -> Step:
        states = self.nfa.states
        is_final = states[target].kind is StateKind.FINAL
        completes = is_final or self._proceeds_to_final(target, known)
        return Step(True, states[source].stage, NO_STATE if is_final else target, completes)

    def _ignore(self, target: int, kind: StateKind) -> Step:
        is_final = kind is StateKind.FINAL
        return Step(False, "", NO_STATE if is_final else target, is_final)

    def _edges(self, state: int, known: dict[int, bool]) -> list[tuple[int, Edge]]:
        """The edges that take or ignore the event, of the state and of those that it proceeds to."""
        found = []
        to_look_at = [state]
        while to_look_at:
            current = to_look_at.pop()
            for edge in self.nfa.states[current].edges:
                if not _holds(edge.condition, known):
                    continue
                if edge.action is Action.PROCEED:
                    to_look_at.append(edge.target)
                else:
                    found.append((current, edge))
        return found

    def _proceeds_to_final(self, state: int, known: dict[int, bool]) -> bool:
        to_look_at = [state]
        while to_look_at:
            for edge in self.nfa.states[to_look_at.pop()].edges:
                if edge.action is Action.PROCEED and _holds(edge.condition, known):
                    if self.nfa.states[edge.target].kind is StateKind.FINAL:
                        return True
                    to_look_at.append(edge.target)
        return False


def _holds(logic: Logic, known: dict[int, bool]) -> bool:
    match logic:
        case bool():
            return logic
        case int():
            holds = known.get(logic)
            if holds is None:
                raise _Unknown(logic)
            return holds
        case ("not", operand):
            return not _holds(operand, known)
        case ("and", left, right):
            return _holds(left, known) and _holds(right, known)
        case ("or", left, right):
            return _holds(left, known) or _holds(right, known)
    raise AssertionError(f"no such condition: {logic!r}")
