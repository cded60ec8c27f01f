"""Functions that must give something, and by their code never do: a ``return`` was forgotten."""

from __future__ import annotations

import dis
import inspect
from collections.abc import MutableMapping, MutableSequence, MutableSet
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.program.checks import require_callable
from firesteel.program.functions.base import ReduceFunction


def require_result(function: Any, what: str, operator: str) -> None:
    """Raise when *function* returns None wherever it ends: what it was to keep would be lost."""
    if returns_nothing(function):
        raise ProgramError(
            f"{what} never returns anything but None.",
            operator=operator,
            hint="return the new value: what a function has changed in place counts only when it is returned",
        )


def require_reduce(function: Any, operator: str) -> None:
    """*function* is a ReduceFunction or a callable, and returns something."""
    require_callable(function, ReduceFunction, operator)
    require_result(getattr(function, "reduce", function), "The reduce function", operator)


def returns_nothing(function: Any) -> bool:
    """Whether each way out of a Python function is ``return None``. False where there is no code to read.

    >>> returns_nothing(lambda a, b: print(a)), returns_nothing(lambda a, b: None)
    (False, True)
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return False
    before, found = None, False
    for step in dis.get_instructions(code):
        constant = step if step.opname == "RETURN_CONST" else before  # Python 3.12 has both in one
        if step.opname in ("RETURN_VALUE", "RETURN_CONST"):
            if constant is None or "CONST" not in constant.opname or constant.argval is not None:
                return False
            found = True
        before = step
    return found


def require_own_accumulators(aggregate_function: Any, operator: str) -> None:
    """Raise when ``create_accumulator`` gives one object again and again: all keys and windows would share
    it."""
    try:
        one, other = aggregate_function.create_accumulator(), aggregate_function.create_accumulator()
    except Exception:
        return  # it may need open()
    if one is other and isinstance(one, MutableSequence | MutableMapping | MutableSet):
        raise ProgramError(
            f"{type(aggregate_function).__name__}.create_accumulator() gives the same {type(one).__name__} "
            "each time.",
            operator=operator,
            detail="all keys and windows would add to it",
            hint="make a new one in create_accumulator()",
        )
