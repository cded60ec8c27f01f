"""AND, OR, NOT, IS ..., CASE, IF, COALESCE and IFNULL.

CASE, AND, OR and COALESCE are evaluated by the evaluator itself, for the rows that need a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from firesteel.sql import type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.comparison import a_null
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import ANY, BOOLEAN, TRUTH, many, not_null, strict, takes


def _lazily(site: CallSite, *_: Any) -> Any:
    raise AssertionError("the evaluator computes this itself")


def least_restrictive(types: Sequence[t.DataType]) -> t.DataType | None:
    """The common type as SQL's own syntax derives it: of FLOAT and DOUBLE it is the first one."""
    known = [d for d in types if not r.is_null_type(d)]
    if known and all(isinstance(d, r.APPROXIMATE) for d in known):
        return known[0].with_nullability(any(d.nullable or r.is_null_type(d) for d in types))
    return r.common_type(types)


def _case_rule(call: CallTypes) -> Typing | None:
    """Condition, result, condition, result, ..., result of ELSE (NULL where there is none)."""
    types = call.types
    if len(types) < 3 or len(types) % 2 == 0:
        return None
    conditions = [TRUTH.accept(d) for d in types[:-1:2]]
    results = [*types[1:-1:2], types[-1]]
    found = least_restrictive(results) or t.NullType()
    if None in conditions or (r.is_null_type(found) and not all(map(r.is_null_type, results))):
        return None
    arguments: list[t.DataType] = []
    for condition, result in zip(conditions, results, strict=False):
        assert condition is not None
        arguments += [condition, found.with_nullability(result.nullable)]
    arguments.append(found.with_nullability(types[-1].nullable))
    return Typing(found, tuple(arguments))


def _if_rule(call: CallTypes) -> Typing | None:
    return _case_rule(call) if len(call.types) == 3 else None


def _coalesce_rule(call: CallTypes) -> Typing | None:
    if not call.types:
        return None
    found = r.common_type(call.types)
    if found is None:
        if not all(map(r.is_null_type, call.types)):
            return None
        found = t.NullType()
    nullable = all(d.nullable or r.is_null_type(d) for d in call.types)
    arguments = tuple(found.with_nullability(d.nullable) for d in call.types)
    return Typing(found.with_nullability(nullable), arguments)


scalar(
    "AND",
    takes(TRUTH, TRUTH, many(TRUTH), result=strict(BOOLEAN)),
    sql=(),
    columns=_lazily,
    total=True,
    signatures=("<BOOLEAN> AND <BOOLEAN>",),
    doc="Whether both are true; what is right of a FALSE is not evaluated.",
    example="TRUE AND FALSE",
)
scalar(
    "OR",
    takes(TRUTH, TRUTH, many(TRUTH), result=strict(BOOLEAN)),
    sql=(),
    columns=_lazily,
    total=True,
    signatures=("<BOOLEAN> OR <BOOLEAN>",),
    doc="Whether one is true; what is right of a TRUE is not evaluated.",
    example="TRUE OR FALSE",
)
scalar(
    "NOT",
    takes(TRUTH, result=strict(BOOLEAN)),
    sql=(),
    columns=lambda site, a: pc.invert(a),
    total=True,
    signatures=("NOT<BOOLEAN>",),
    doc="The opposite; NULL stays NULL.",
    example="NOT TRUE",
)
scalar(
    "IS_NULL",
    takes(ANY, result=not_null(BOOLEAN)),
    sql=(),
    columns=lambda site, a: a_null(a),
    total=True,
    signatures=("<ANY> IS NULL",),
    doc="Whether the value is NULL.",
    example="NULLIF(1, 1) IS NULL",
)
scalar(
    "IS_NOT_NULL",
    takes(ANY, result=not_null(BOOLEAN)),
    sql=(),
    total=True,
    columns=lambda site, a: pc.invert(a_null(a)),
    signatures=("<ANY> IS NOT NULL",),
    doc="Whether the value is not NULL.",
    example="1 IS NOT NULL",
)


def _is(wanted: bool, negated: bool) -> Any:
    def compute(site: CallSite, a: Any) -> Any:
        found = pc.fill_null(a if wanted else pc.invert(a), False)
        return pc.invert(found) if negated else found

    return compute


for _name, _words, _wanted, _negated in (
    ("IS_TRUE", "IS TRUE", True, False),
    ("IS_NOT_TRUE", "IS NOT TRUE", True, True),
    ("IS_FALSE", "IS FALSE", False, False),
    ("IS_NOT_FALSE", "IS NOT FALSE", False, True),
):
    scalar(
        _name,
        takes(TRUTH, result=not_null(BOOLEAN)),
        sql=(),
        columns=_is(_wanted, _negated),
        total=True,
        signatures=(f"<BOOLEAN> {_words}",),
        doc=f"Whether the value {_words.lower()}; NULL is neither.",
        example=f"TRUE {_words}",
    )
scalar(
    "CASE",
    _case_rule,
    sql=(),
    columns=_lazily,
    total=True,
    signatures=("CASE WHEN <BOOLEAN> THEN <COMMON> ... ELSE <COMMON> END",),
    doc="The result of the first condition that is true; only that one is evaluated.",
    example="CASE WHEN 1 = 2 THEN 'a' ELSE 'b' END",
)


def _if(*operands: Any) -> Any:
    from firesteel.sql.functions.calls import call_named

    return call_named("CASE", *operands) if len(operands) == 3 else _refused("IF", operands)


def _ifnull(*operands: Any) -> Any:
    from firesteel.sql.functions.calls import call_named

    if len(operands) != 2:
        _refused("IFNULL", operands)
    found = call_named("COALESCE", *operands)
    # a text that cannot be NULL stays what it is: only another root needs a cast
    kept = not operands[0].type.nullable and all(isinstance(o.type, r.CHARACTER) for o in operands)
    return operands[0] if kept else found


def _refused(name: str, operands: Any) -> Any:
    from firesteel.sql.functions.calls import invalid
    from firesteel.sql.functions.registry import FUNCTIONS

    raise invalid(FUNCTIONS.named(name), operands)


scalar(
    "IF",
    _if_rule,
    expand=_if,
    signatures=("IF(<BOOLEAN>, <COMMON>, <COMMON>)",),
    doc="The second argument if the first is true, else the third.",
    example="IF(1 < 2, 'yes', 'no')",
)
scalar(
    "COALESCE",
    _coalesce_rule,
    columns=_lazily,
    total=True,
    signatures=("COALESCE(<COMMON>, <COMMON>...)",),
    doc="The first argument that is not NULL.",
    example="COALESCE(NULLIF(1, 1), 7)",
)
scalar(
    "IFNULL",
    _coalesce_rule,
    expand=_ifnull,
    signatures=("IFNULL(<COMMON>, <COMMON>)",),
    doc="The first argument, or the second one where that is NULL.",
    example="IFNULL(NULLIF(1, 1), 7)",
)
