"""A pattern as text: what it matches, stage by stage, and the automaton that finds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.cep.compiler import compiled
from firesteel.cep.conditions import Condition, SubtypeCondition, filter_of
from firesteel.cep.expressions import ExpressionCondition, IterativeExpressionCondition
from firesteel.cep.nfa import Logic, Nfa, StateKind
from firesteel.cep.pattern import GroupPattern, Pattern, WithinType

__all__ = ["condition_text", "explained", "logic_text", "reachable", "state_text"]


def explained(pattern: Pattern) -> str:
    nfa = compiled(pattern)
    lines = ["Pattern", *_stage_lines(pattern, "  ")]
    if nfa.window_ms is not None:
        lines.append(f"  within {nfa.window_ms} ms from the first to the last event")
    lines.append(f"  after a match: {nfa.skip}")
    lines.append("Automaton")
    for number in reachable(nfa):
        lines += _state_lines(nfa, number)
    lines.append("Conditions")
    lines += [f"  c{n}: {condition_text(condition)}" for n, condition in enumerate(nfa.conditions)]
    return "\n".join(lines) + "\n"


def _stage_lines(pattern: Pattern, indent: str) -> Iterator[str]:
    for stage in pattern.stages():
        link = "begin" if stage.previous is None else stage.quantifier.strategy.value
        name = "a group of" if isinstance(stage, GroupPattern) else stage.name
        yield " ".join([f"{indent}{link} {name}", *_quantifier_words(stage)])
        if isinstance(stage, GroupPattern):
            yield from _stage_lines(stage.group, indent + "  ")


def _quantifier_words(stage: Pattern) -> Iterator[str]:
    quantifier, times = stage.quantifier, stage.times_range
    if times is not None:
        if quantifier.is_looping:
            yield f"{times.least} or more"
        else:
            yield f"{times.least}" if times.least == times.most else f"{times.least} to {times.most}"
        yield f"times ({quantifier.inner.value})"
    if quantifier.is_optional:
        yield "optional"
    if quantifier.is_greedy:
        yield "greedy"
    if stage.until_condition is not None:
        yield "until a condition"
    window_ms = stage.windows_ms.get(WithinType.PREVIOUS_AND_CURRENT)
    if window_ms is not None:
        yield f"within {window_ms} ms of the event before"


def _state_lines(nfa: Nfa, number: int) -> Iterator[str]:
    state = nfa.states[number]
    yield f"  {state_text(nfa, number)}"
    if state.kind in (StateKind.FINAL, StateKind.STOP):
        return
    for action, target, condition in state.edges:
        reason = "" if condition is True else f" if {logic_text(condition)}"
        yield f"    {action.value}{reason} -> {nfa.states[target].name}"


def state_text(nfa: Nfa, number: int) -> str:
    state = nfa.states[number]
    text = state.name if state.kind is StateKind.NORMAL else f"{state.name} ({state.kind.value})"
    return text if state.window_ms is None else f"{text}, at most {state.window_ms} ms"


def reachable(nfa: Nfa) -> list[int]:
    """The states that a match can come to, each after one that leads to it; stop and final states last."""
    found = {nfa.start: None}
    to_look_at = [nfa.start]
    while to_look_at:
        for edge in nfa.states[to_look_at.pop(0)].edges:
            if edge.target not in found:
                found[edge.target] = None
                to_look_at.append(edge.target)
    last = (StateKind.STOP, StateKind.FINAL)
    return sorted(found, key=lambda number: nfa.states[number].kind in last)


def logic_text(logic: Logic) -> str:
    match logic:
        case bool():
            return "always" if logic else "never"
        case int():
            return f"c{logic}"
        case ("not", operand):
            inner = logic_text(operand)
            return f"not {inner}" if isinstance(operand, int) else f"not ({inner})"
        case (word, left, right):
            return f"{_inside(left, word)} {word} {_inside(right, word)}"
    raise AssertionError(f"no such condition: {logic!r}")


def _inside(logic: Logic, word: str) -> str:
    text = logic_text(logic)
    is_other = isinstance(logic, tuple) and logic[0] in ("and", "or") and logic[0] != word
    return f"({text})" if is_other else text


def condition_text(condition: Condition) -> str:
    """What a condition says, or where it is written."""
    if isinstance(condition, SubtypeCondition):
        return f"is a {condition.subtype.__qualname__}"
    if isinstance(condition, ExpressionCondition | IterativeExpressionCondition):
        return condition.text
    function: Any = filter_of(condition)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", type(condition).__qualname__)
    return name if code is None else f"{name.rpartition('.')[2] or name}, line {code.co_firstlineno}"
