"""Hints of a query: ``/*+ STATE_TTL('o' = '1d'), LOOKUP('table' = 'd', 'retry-predicate' = 'lookup_miss')
*/``.

A hint of SELECT says which input it is about by its alias. On a join it becomes one about LEFT or RIGHT, as
in Flink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from firesteel.sql.parser.errors import SqlValidationError

__all__ = ["Hints", "aggregate_hints", "join_hints", "query_hints", "table_options"]

Hint = tuple[str, tuple[Any, ...]]
Hints = tuple[Hint, ...]

#: hint -> whether its arguments are pairs
_KNOWN: Final[dict[str, bool]] = {
    "OPTIONS": True,
    "STATE_TTL": True,
    "LOOKUP": True,
    "BROADCAST": False,
    "SHUFFLE_HASH": False,
    "SHUFFLE_MERGE": False,
    "NEST_LOOP": False,
    "MULTI_JOIN": False,
}


def query_hints(raw: Sequence[Hint] | None) -> Hints:
    """The hints of a SELECT, checked. Unknown names are passed over, as Flink does."""
    found = []
    for name, arguments in raw or ():
        if name not in _KNOWN:
            continue
        pairs = all(isinstance(a, tuple) for a in arguments)
        if _KNOWN[name] and not (arguments and pairs):
            raise SqlValidationError(
                f"The hint {name} takes pairs, such as {name}('key' = 'value').", detail=f"got {arguments}"
            )
        if not _KNOWN[name] and (not arguments or any(isinstance(a, tuple) for a in arguments)):
            raise SqlValidationError(f"The hint {name} takes names of tables.", detail=f"got {arguments}")
        found.append((name, tuple(arguments)))
    return tuple(found)


def table_options(raw: Sequence[Hint] | None) -> dict[str, str]:
    """The options that OPTIONS hints behind a table add."""
    options: dict[str, str] = {}
    for name, arguments in raw or ():
        if name == "OPTIONS":
            if not all(isinstance(a, tuple) for a in arguments):
                raise SqlValidationError("The hint OPTIONS takes pairs, such as OPTIONS('key' = 'value').")
            options.update(arguments)
    return options


def join_hints(hints: Hints, left: Sequence[str], right: Sequence[str]) -> Hints:
    """What hints mean for a join of inputs with these names."""
    sides = {**dict.fromkeys(left, "LEFT"), **dict.fromkeys(right, "RIGHT")}
    found: list[Hint] = []
    for name, arguments in hints:
        if name == "LOOKUP":
            table = dict(arguments).get("table")
            if table in right:
                found.append((name, arguments))
        elif name == "STATE_TTL":
            pairs = tuple((sides[k], v) for k, v in arguments if k in sides)
            if pairs:
                found.append((name, pairs))
        elif name == "MULTI_JOIN":
            if any(a in sides for a in arguments):
                found.append((name, arguments))
        elif name != "OPTIONS":
            names = tuple(sides[a] for a in arguments if a in sides)
            if names:
                found.append((name, names))
    return tuple(found)


def aggregate_hints(hints: Hints, names: Sequence[str]) -> Hints:
    """STATE_TTL of an aggregate over inputs with these names."""
    found = [
        ("STATE_TTL", ((v,),))
        for name, arguments in hints
        if name == "STATE_TTL"
        for k, v in arguments
        if k in names
    ]
    return tuple((name, value[0]) for name, value in found[:1])
