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
    *("IS_DISTINCT_FROM", "IS_NOT_DISTINCT_FROM", "CASE", "CAST", "TRY_CAST", "COALESCE", "NULLIF", "IFNULL"),
    *("GREATEST", "LEAST", "TYPEOF", "ARRAY", "MAP", "ROW", "UNHEX", "BTRIM", "PRINTF", "SPLIT"),
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
    "TO_TIMESTAMP_LTZ": lambda place: place == 0,
}


def refused_null(definition: FunctionDefinition, types: Sequence[DataType]) -> int | None:
    """The place of the first bare NULL that a function does not take; None: there is none. Functions of
    users take it."""
    if definition.name in _TAKE or FUNCTIONS.find(definition.name) is not definition:
        return None
    takes = _TAKE_IN.get(definition.name)
    bare = (i for i, d in enumerate(types) if isinstance(d, NullType))
    return next((i for i in bare if takes is None or not takes(i)), None)
