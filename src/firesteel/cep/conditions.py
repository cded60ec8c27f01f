"""Conditions: what an event must be to take part in a match.

A *simple* condition looks at the event alone; the engine evaluates it once for each event. An *iterative*
condition also sees the partial match that the event would continue, and is evaluated for each of them.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from firesteel.cep.errors import MalformedPatternError
from firesteel.program.functions.base import Function

__all__ = [
    "And",
    "Condition",
    "Expression",
    "IterativeCondition",
    "Not",
    "Or",
    "RichIterativeCondition",
    "SimpleCondition",
    "SubtypeCondition",
    "filter_of",
    "identity",
    "to_condition",
]


class ConditionContext(Protocol):
    """What an iterative condition may ask for (Flink: ``IterativeCondition.Context``)."""

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        """Return the events that the partial match has for the stage *name*, in order."""

    def timestamp(self) -> int:
        """Return the time of the event in epoch ms: its timestamp, or when it was processed."""

    def current_processing_time(self) -> int:
        """Return the processing time in epoch ms."""


class IterativeCondition(ABC):
    """A condition on an event and on what has been matched before it (Flink: ``IterativeCondition``).

    It must depend on its arguments alone: it may be evaluated any number of times.
    """

    Context = ConditionContext

    @abstractmethod
    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        """Return whether *value* satisfies the condition."""


class RichIterativeCondition(IterativeCondition, Function):
    """An iterative condition that is opened and closed in the worker (Flink: ``RichIterativeCondition``)."""


class SimpleCondition(ABC):
    """A condition on the event alone (Flink: ``SimpleCondition``).

    >>> SimpleCondition.of(lambda amount: amount > 100).filter(7)
    False
    """

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return whether *value* satisfies the condition."""

    @staticmethod
    def of(function: Callable[[Any], bool]) -> SimpleCondition:
        """Return the condition that *function* decides."""
        return _Simple(function)


class _Simple(SimpleCondition):
    def __init__(self, function: Callable[[Any], bool]) -> None:
        self.function = function

    def filter(self, value: Any) -> bool:
        return self.function(value)


class _Iterative(IterativeCondition):
    def __init__(self, function: Callable[[Any, Any], bool]) -> None:
        self.function = function

    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        return self.function(value, ctx)


class SubtypeCondition(SimpleCondition):
    """Whether an event is an instance of a class."""

    def __init__(self, subtype: type) -> None:
        self.subtype = subtype

    def filter(self, value: Any) -> bool:
        return isinstance(value, self.subtype)


Condition: TypeAlias = SimpleCondition | IterativeCondition


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or:
    left: Expression
    right: Expression


#: Conditions put together; ``True`` holds for every event. The right side of And and Or is evaluated only if
#: the left one does not decide.
Expression: TypeAlias = bool | SimpleCondition | IterativeCondition | Not | And | Or


def filter_of(condition: Condition) -> Callable[..., bool]:
    """Return what decides a condition: the user's callable itself, where there is one."""
    return condition.function if isinstance(condition, _Simple | _Iterative) else condition.filter


def identity(condition: Condition) -> int:
    """Return the same number for conditions that are the same: the same object, or the same callable."""
    return id(condition.function if isinstance(condition, _Simple | _Iterative) else condition)


def to_condition(given: Any, what: str) -> Condition:
    """Return *given* as a condition: an object of a condition class, or a callable of one argument (the
    event) or of two (the event and the context).

    :param what: the method it was given to, for the error.
    :raises MalformedPatternError: it is neither.
    """
    if isinstance(given, SimpleCondition | IterativeCondition):
        _require_plain(given.filter, what)
        return given
    if isinstance(given, type) or not callable(given):
        raise MalformedPatternError(
            f"{what} takes a condition.",
            detail="the condition cannot be null" if given is None else f"got {given!r}",
            hint="pass lambda event: ..., lambda event, ctx: ... or an object of a condition class",
        )
    _require_plain(given, what)
    takes = _positional(given, what)
    return _Simple(given) if takes == 1 else _Iterative(given)


def _require_plain(function: Any, what: str) -> None:
    """A coroutine or a generator is true, whatever the event is."""
    for is_other in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        if is_other(function):
            raise MalformedPatternError(
                f"{what} takes a condition that returns True or False.",
                detail=f"{getattr(function, '__qualname__', function)!s} returns a coroutine or a generator",
                hint="write it with plain def, without yield",
            )


def _positional(function: Any, what: str) -> int:
    """Return how many arguments a callable takes, 1 or 2."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # a builtin that does not tell, such as bool
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    if required <= 1 <= len(positional) or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 1
    if required == 2:
        return 2
    raise MalformedPatternError(
        f"{what} takes a condition of the event, or of the event and its context.",
        detail=f"{getattr(function, '__qualname__', function)!s} needs {required} arguments",
        hint="write lambda event: ... or lambda event, ctx: ...",
    )
