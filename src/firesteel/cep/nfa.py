"""The automaton that a pattern becomes: plain data, the same in every process."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from firesteel.cep.conditions import Condition, IterativeCondition
from firesteel.cep.skip_strategy import AfterMatchSkipStrategy

__all__ = ["Action", "Edge", "Logic", "Nfa", "State", "StateKind"]

#: When an edge may be used: ``True``, the number of a condition, or ``("not", a)``, ``("and", a, b)``,
#: ``("or", a, b)``. The right side of "and" and "or" is evaluated only if the left one does not decide.
Logic: TypeAlias = bool | int | tuple[Any, ...]


class Action(enum.Enum):
    """What an edge does with the event (Flink: ``StateTransitionAction``)."""

    TAKE = "take"  # the match has it from now on
    IGNORE = "ignore"  # the match goes on without it
    PROCEED = "proceed"  # the edges of the target are those of the source, too


class StateKind(enum.Enum):
    """Flink: ``State.StateType``."""

    START = "start"
    NORMAL = "normal"
    PENDING = "pending"  # a match, if its time ends here
    STOP = "stop"  # a partial match that comes here is given up
    FINAL = "final"


class Edge(NamedTuple):
    action: Action
    target: int
    condition: Logic


class State(NamedTuple):
    """
    :param name: unique; the name of its stage, or that, a colon and a number.
    :param stage: under which name its events are in a match.
    :param window_ms: how long after the event before it may be left; None: any time.
    """

    name: str
    stage: str
    kind: StateKind
    edges: tuple[Edge, ...]
    window_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Nfa:
    """
    :param conditions: those that edges name by their numbers.
    :param start: number of the start state.
    :param window_ms: the time that a match may take; None: any.
    """

    states: tuple[State, ...]
    conditions: tuple[Condition, ...]
    start: int
    window_ms: int | None
    skip: AfterMatchSkipStrategy

    @property
    def has_window(self) -> bool:
        """Whether partial matches can time out."""
        return self.window_ms is not None or any(state.window_ms is not None for state in self.states)

    def is_iterative(self, condition: int) -> bool:
        return isinstance(self.conditions[condition], IterativeCondition)
