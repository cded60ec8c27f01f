"""Which functions take a bare ``NULL`` in SQL.

Flink's validator finds a type for it where the function says one; its older functions say none, and refuse it
(``Illegal use of 'NULL'``). The Table API has no bare NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from firesteel.sql.functions.registry import FUNCTIONS, FunctionDefinition
from firesteel.sql.types import DataType, NullType

__all__ = ["refused_null"]

#: Functions that take a bare NULL in any place.
_TAKE: Final = {
    *("EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL"),
    *("BETWEEN", "NOT_BETWEEN", "SYMMETRIC_BETWEEN", "NOT_SYMMETRIC_BETWEEN", "IN", "IS_NULL", "IS_NOT_NULL"),
    *("IS_DISTINCT_FROM", "IS_NOT_DISTINCT_FROM", "CAST", "TRY_CAST", "UNHEX", "BTRIM", "PRINTF", "SPLIT"),
    *("JSON_OBJECT", "JSON_ARRAY", "JSON_STRING", "JSON_QUOTE", "JSON_UNQUOTE", "STARTSWITH", "ENDSWITH"),
    *("REGEXP_COUNT", "REGEXP_INSTR", "REGEXP_SUBSTR", "REGEXP_EXTRACT_ALL", "INET_ATON", "INET_NTOA"),
    *("URL_DECODE", "URL_DECODE_RECURSIVE", "URL_ENCODE"),
}
_BEHIND_AN_ARRAY: Final = (
    *("ARRAY_APPEND", "ARRAY_CONTAINS", "ARRAY_JOIN", "ARRAY_POSITION", "ARRAY_PREPEND", "ARRAY_REMOVE"),
    *("ARRAY_SLICE", "ARRAY_SORT"),
)
#: Those that take it in some places: whether in this one.
_TAKE_IN: Final[dict[str, Callable[[int], bool]]] = {
    **dict.fromkeys((*_BEHIND_AN_ARRAY, "ELT"), lambda place: place > 0),
    **dict.fromkeys(("TO_TIMESTAMP_LTZ", "TYPEOF"), lambda place: place == 0),
}


_ILLEGAL: Final = "Illegal use of 'NULL'"
_NO_TYPE: Final = "Parameters must be of the same type"
_NO_RESULT: Final = "ELSE clause or at least one THEN clause must be non-NULL"

Given = Sequence[DataType]


def _all(types: Given) -> Given:
    return types


#: Those that take it only beside arguments that say a type: these arguments, and what an error says.
_NEED_A_TYPE: Final[dict[str, tuple[tuple[Callable[[Given], Given], ...], str]]] = {
    **dict.fromkeys(("COALESCE", "IFNULL"), ((_all,), _ILLEGAL)),
    **dict.fromkeys(("GREATEST", "LEAST"), ((_all,), "Could not infer an output type")),
    "ARRAY": ((_all,), _NO_TYPE),
    "MAP": ((lambda types: types[::2], lambda types: types[1::2]), _NO_TYPE),
    "CASE": ((lambda types: [*types[1:-1:2], types[-1]],), _NO_RESULT),
    "NULLIF": ((lambda types: types[:1],), _NO_RESULT),
}


def refused_null(definition: FunctionDefinition, types: Given) -> str | None:
    """What is wrong with a bare NULL among the arguments; None: nothing, or there is none. Functions of users
    take it."""
    bare = [i for i, d in enumerate(types) if isinstance(d, NullType)]
    if not bare or FUNCTIONS.find(definition.name) is not definition:
        return None
    if definition.name in _NEED_A_TYPE:
        groups, message = _NEED_A_TYPE[definition.name]
        return message if any(all(isinstance(d, NullType) for d in g(types)) for g in groups) else None
    if definition.name in _TAKE:
        return None
    takes = _TAKE_IN.get(definition.name)
    return next((_ILLEGAL for i in bare if takes is None or not takes(i)), None)
