"""How the modules of this package add their functions to the table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from firesteel.sql.functions.registry import FUNCTIONS, FunctionDefinition, FunctionKind, TypeRule
from firesteel.sql.functions.rules import signatures_of

__all__ = ["BY_MODULE", "aggregate", "scalar"]

#: which functions a module of this package has registered, in its order
BY_MODULE: Final[dict[str, list[FunctionDefinition]]] = {}


def _registered(definition: FunctionDefinition) -> FunctionDefinition:
    module = sys._getframe(2).f_globals["__name__"].rpartition(".")[2]
    BY_MODULE.setdefault(module, []).append(definition)
    return FUNCTIONS.register(definition)


def scalar(
    name: str,
    rule: TypeRule,
    *,
    sql: Sequence[str] | None = None,
    columns: Callable[..., Any] | None = None,
    value: Callable[..., Any] | None = None,
    signatures: Sequence[str] = (),
    **facts: Any,
) -> FunctionDefinition:
    """Register a scalar function. :param sql: its names in SQL; by default *name*."""
    names = (name,) if sql is None else tuple(sql)
    shown = tuple(signatures) or signatures_of(names[0] if names else name, rule)
    return _registered(
        FunctionDefinition(
            name=name, sql_names=names, rule=rule, columns=columns, value=value, signatures=shown, **facts
        )
    )


def aggregate(
    name: str, rule: TypeRule, *, sql: Sequence[str] | None = None, kernel: str | None = None, **facts: Any
) -> FunctionDefinition:
    """Register an aggregate. :param kernel: its kernel's name in ``sql/operators/kernels``; by default
    *name*."""
    names = (name,) if sql is None else tuple(sql)
    return _registered(
        FunctionDefinition(
            name=name,
            kind=FunctionKind.AGGREGATE,
            sql_names=names,
            rule=rule,
            aggregate=kernel or name,
            signatures=tuple(facts.pop("signatures", ())) or signatures_of(names[0] if names else name, rule),
            **facts,
        )
    )
