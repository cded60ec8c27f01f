"""The evaluator: branches only where rows need them, equal expressions once, constants beforehand, errors
that say what failed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.columns import Columns
from firesteel.sql import types as t
from firesteel.sql.evaluator import (
    EvaluationContext,
    EvaluationError,
    compile_expressions,
    compile_filter,
)
from firesteel.sql.expressions import Call, Expression, InputRef, Literal
from firesteel.sql.functions.calls import call, call_named, cast
from firesteel.sql.functions.registry import FunctionDefinition, Typing

INT = t.IntType()
BOOL = t.BooleanType()
A, B = InputRef(0, INT), InputRef(1, INT)


def lit(value: Any) -> Literal:
    kind = BOOL if isinstance(value, bool) else INT
    return Literal(value, kind.with_nullability(value is None))


def columns(a: list[int | None], b: list[int | None] | None = None) -> Columns:
    arrays = [pa.array(a, pa.int32()), pa.array(a if b is None else b, pa.int32())]
    return Columns(arrays, len(a))


def run(expression: Expression, data: Columns, functions: Any = None) -> list[Any]:
    program = compile_expressions([expression], [INT, INT], functions)
    found: list[Any] = program.run(data, EvaluationContext())[0].to_pylist()
    return found


# ---- against an interpreter of one row


class Failed(Exception):
    pass


def interpret(e: Expression, row: tuple[int | None, ...]) -> Any:
    """What Flink's generated code does for one row."""
    if isinstance(e, InputRef):
        return row[e.index]
    if isinstance(e, Literal):
        return e.value
    assert isinstance(e, Call)
    operands = e.operands
    if e.function in ("AND", "OR"):
        decisive = e.function == "OR"
        unknown = False
        for operand in operands:
            value = interpret(operand, row)
            if value is decisive:
                return decisive
            unknown = unknown or value is None
        return None if unknown else not decisive
    if e.function == "CASE":
        for condition, result in zip(operands[:-1:2], operands[1:-1:2], strict=True):
            if interpret(condition, row) is True:
                return interpret(result, row)
        return interpret(operands[-1], row)
    if e.function == "COALESCE":
        return next((v for o in operands if (v := interpret(o, row)) is not None), None)
    values = [interpret(o, row) for o in operands]
    if e.function == "IS_NULL":
        return values[0] is None
    if None in values:
        return None
    return OPERATIONS[e.function](*values)


def divide(a: int, b: int) -> int:
    if b == 0:
        raise Failed
    size = abs(a) // abs(b)
    return wrapped(size if (a < 0) == (b < 0) else -size)


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


OPERATIONS: dict[str, Any] = {
    "PLUS": lambda a, b: wrapped(a + b),
    "TIMES": lambda a, b: wrapped(a * b),
    "DIVIDE": divide,
    "MOD": lambda a, b: wrapped(a - b * divide(a, b)),
    "LESS_THAN": lambda a, b: a < b,
    "EQUALS": lambda a, b: a == b,
    "NOT": lambda a: not a,
}

NUMBERS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)]))


Draw = Callable[[st.SearchStrategy[Any]], Any]


def number(draw: Draw, depth: int) -> Expression:
    kinds = ["leaf", "two", "coalesce", "case"] if depth else ["leaf"]
    match draw(st.sampled_from(kinds)):
        case "two":
            name = draw(st.sampled_from(["PLUS", "TIMES", "DIVIDE", "MOD"]))
            return call_named(name, number(draw, depth - 1), number(draw, depth - 1))
        case "coalesce":
            return call_named("COALESCE", number(draw, depth - 1), number(draw, depth - 1))
        case "case":
            branches: list[Expression] = []
            for _ in range(draw(st.integers(1, 2))):
                branches += [condition(draw, depth - 1), number(draw, depth - 1)]
            return call_named("CASE", *branches, number(draw, depth - 1))
    leaf: Expression = draw(st.sampled_from([A, B, lit(0), lit(1), lit(None)]))
    return leaf


def condition(draw: Draw, depth: int) -> Expression:
    kinds = ["null", "compare", "and", "or", "not"] if depth else ["null", "compare"]
    match draw(st.sampled_from(kinds)):
        case "null":
            return call_named("IS_NULL", number(draw, max(depth - 1, 0)))
        case "compare":
            name = draw(st.sampled_from(["LESS_THAN", "EQUALS"]))
            return call_named(name, number(draw, max(depth - 1, 0)), number(draw, max(depth - 1, 0)))
        case "not":
            return call_named("NOT", condition(draw, depth - 1))
        case kind:
            return call_named(kind.upper(), condition(draw, depth - 1), condition(draw, depth - 1))


EXPRESSIONS = st.composite(lambda draw: number(draw, 3))()


@settings(max_examples=120, deadline=None)
@given(EXPRESSIONS, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6))
def test_a_program_gives_what_each_row_gives_alone(
    expression: Expression, rows: list[tuple[int | None, int | None]]
) -> None:
    data = columns([a for a, _ in rows], [b for _, b in rows])
    try:
        expected = [interpret(expression, row) for row in rows]
    except Failed:
        with pytest.raises(EvaluationError):
            run(expression, data)
    else:
        assert run(expression, data) == expected


# ---- short circuits


def test_a_branch_is_evaluated_for_its_rows_only() -> None:
    quotient = call_named("DIVIDE", lit(10), A)
    safe = call_named("CASE", call_named("EQUALS", A, lit(0)), lit(-1), quotient)
    assert run(safe, columns([0, 5, None, 3])) == [-1, 2, None, 3]
    guarded = call_named(
        "AND", call_named("NOT_EQUALS", A, lit(0)), call_named("LESS_THAN", quotient, lit(4))
    )
    assert run(guarded, columns([0, 5, None, 2])) == [False, True, None, False]


def test_an_error_says_which_expression_failed() -> None:
    failing = call_named("PLUS", lit(1), call_named("DIVIDE", lit(10), A))
    with pytest.raises(EvaluationError, match="/ by zero") as caught:
        run(failing, columns([1, 0]))
    assert caught.value.expression == "DIVIDE(10, $0)"
    assert "DIVIDE(10, $0)" in str(caught.value)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), EvaluationError)


def test_a_constant_that_fails_does_so_where_a_row_needs_it() -> None:
    never = call_named("CASE", call_named("LESS_THAN", A, lit(0)), call_named("DIVIDE", lit(1), lit(0)), A)
    assert run(never, columns([1, 2])) == [1, 2]
    with pytest.raises(EvaluationError):
        run(never, columns([1, -2]))


def _counting(calls: list[Any], deterministic: bool = True) -> FunctionDefinition:
    def value(_: Any, number: int) -> int:
        calls.append(number)
        return number + 1

    return FunctionDefinition(
        name="COUNTED",
        rule=lambda given: Typing(INT, tuple(given.types)),
        value=value,
        deterministic=deterministic,
    )


def test_equal_expressions_are_computed_once() -> None:
    calls: list[Any] = []
    counted = _counting(calls)
    once = call(counted, [A])
    both = call_named("PLUS", once, call(counted, [A]))
    assert run(both, columns([1, 2]), {"COUNTED": counted}) == [4, 6]
    assert calls == [1, 2]


def test_functions_that_are_not_deterministic_are_called_each_time() -> None:
    calls: list[Any] = []
    counted = _counting(calls, deterministic=False)
    both = call_named("PLUS", call(counted, [A]), call(counted, [A]))
    assert run(both, columns([1, 2]), {"COUNTED": counted}) == [4, 6]
    assert calls == [1, 2, 1, 2]


def test_a_branch_uses_what_is_known_of_all_rows() -> None:
    calls: list[Any] = []
    counted = _counting(calls)
    shared = call(counted, [A])
    small, quotient = call_named("LESS_THAN", shared, lit(3)), call_named("DIVIDE", shared, A)
    case = call_named("CASE", small, quotient, shared)
    assert run(case, columns([1, 5]), {"COUNTED": counted}) == [2, 6]
    assert calls == [1, 5]


def test_constants_are_computed_when_the_program_is_made() -> None:
    calls: list[Any] = []
    counted = _counting(calls)
    program = compile_expressions([call(counted, [lit(1)])], [INT, INT], {"COUNTED": counted})
    assert calls == [1]
    assert program.run(columns([7, 8]), EvaluationContext())[0].to_pylist() == [2, 2]
    assert calls == [1]


def test_values_that_repeat_are_computed_once_each() -> None:
    calls: list[Any] = []
    counted = _counting(calls)
    data = columns([1, 2, None] * 1000)
    assert run(call(counted, [A]), data, {"COUNTED": counted}) == [2, 3, None] * 1000
    assert sorted(calls) == [1, 2]


def test_a_filter_takes_rows_for_which_its_condition_is_true() -> None:
    condition = compile_filter(call_named("LESS_THAN", A, lit(2)), [INT, INT])
    mask = condition.run(columns([1, 2, None]), EvaluationContext())
    assert mask.tolist() == [True, False, False]
    always = compile_filter(call_named("EQUALS", lit(1), lit(1)), [INT, INT])
    assert np.all(always.run(columns([1, 2]), EvaluationContext()))


def test_expressions_travel_to_workers() -> None:
    expression = cast(call_named("PLUS", A, lit(1)), t.VarCharType())
    assert run(pickle.loads(pickle.dumps(expression)), columns([1])) == ["2"]


def test_no_rows_are_no_error() -> None:
    assert run(call_named("DIVIDE", A, B), columns([])) == []
    assert run(call_named("DIVIDE", lit(1), lit(0)), columns([])) == []


def test_the_clock_is_that_of_the_batch_or_of_the_query() -> None:
    now = call_named("CURRENT_TIMESTAMP")
    program = compile_expressions([now], [])
    streaming = EvaluationContext(clock=iter([1000, 2000]).__next__)
    assert [x.value for x in program.run(Columns([], 2), streaming)[0]] == [1000, 1000]
    assert [x.value for x in program.run(Columns([], 1), streaming)[0]] == [2000]
    batch = EvaluationContext(query_start=5000)
    assert [x.value for x in program.run(Columns([], 1), batch)[0]] == [5000]


def test_the_time_zone_is_that_of_the_session() -> None:
    instant = InputRef(0, t.LocalZonedTimestampType(precision=3))
    program = compile_expressions([cast(instant, t.VarCharType())], [instant.type])
    data = Columns([pa.array([0], pa.timestamp("ms", "UTC"))], 1)
    for zone, shown in (("UTC", "1970-01-01 00:00:00.000"), ("Asia/Shanghai", "1970-01-01 08:00:00.000")):
        assert program.run(data, EvaluationContext(time_zone=zone))[0].to_pylist() == [shown]
