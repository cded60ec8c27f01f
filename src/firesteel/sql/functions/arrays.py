"""ARRAY_*: functions of arrays. Elements are compared as ``=`` does, but NULL equals NULL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any

from firesteel.sql import type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.comparison import comparable_value
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, TypeRule, Typing
from firesteel.sql.functions.rules import (
    ARRAY,
    AS_INT,
    BOOLEAN,
    INT,
    STRING,
    TEXT,
    TRUTH,
    Argument,
    any_nullable,
    first,
    optional,
    strict,
    takes,
)


def _with_element(result: Callable[[t.ArrayType, t.DataType], t.DataType]) -> TypeRule:
    """The rule of a function of an array and one element, which is cast to the element's type."""

    def rule(call: CallTypes) -> Typing | None:
        if len(call.types) != 2 or not isinstance(call.types[0], t.ArrayType):
            return None
        array, given = call.types[0], call.types[1]
        assert isinstance(array, t.ArrayType)
        element = array.element_type
        if r.is_null_type(given):
            wanted = element.with_nullability(True)
        else:
            wanted = element.with_nullability(given.nullable)
            if not r.implicitly_castable(given, wanted):
                return None
        return Typing(result(array, wanted), (array, wanted))

    return rule


def _grown(array: t.ArrayType, element: t.DataType) -> t.DataType:
    kind = array.element_type.with_nullability(array.element_type.nullable or element.nullable)
    return t.ArrayType(element_type=kind, nullable=array.nullable or element.nullable)


def _on_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """NULL only if the array is; the other argument may be."""
    return lambda site, array, *rest: None if array is None else function(site, array, *rest)


scalar(
    "ARRAY_APPEND",
    _with_element(_grown),
    takes_null=True,
    value=_on_array(lambda site, a, x: [*a, x]),
    signatures=("ARRAY_APPEND(<ARRAY>, <ARRAY ELEMENT>)",),
    doc="The array with one more element at its end.",
    example="ARRAY_APPEND(ARRAY[1, 2], 3)",
)
scalar(
    "ARRAY_PREPEND",
    _with_element(_grown),
    takes_null=True,
    value=_on_array(lambda site, a, x: [x, *a]),
    signatures=("ARRAY_PREPEND(<ARRAY>, <ARRAY ELEMENT>)",),
    doc="The array with one more element at its start.",
    example="ARRAY_PREPEND(ARRAY[1, 2], 0)",
)


def _keys(site: CallSite, values: Iterable[Any], place: int = 0) -> list[Any]:
    kind = site.types[place]
    assert isinstance(kind, t.ArrayType)
    return [comparable_value(v, kind.element_type) for v in values]


def _contains(site: CallSite, array: list[Any], element: Any) -> bool:
    return comparable_value(element, site.types[1]) in _keys(site, array)


def _position(site: CallSite, array: list[Any], element: Any) -> int:
    keys, wanted = _keys(site, array), comparable_value(element, site.types[1])
    return keys.index(wanted) + 1 if wanted in keys else 0


def _remove(site: CallSite, array: list[Any], element: Any) -> list[Any]:
    wanted = comparable_value(element, site.types[1])
    return [v for v, key in zip(array, _keys(site, array), strict=True) if key != wanted]


scalar(
    "ARRAY_CONTAINS",
    _with_element(lambda a, x: BOOLEAN.with_nullability(a.nullable)),
    takes_null=True,
    value=_on_array(_contains),
    signatures=("ARRAY_CONTAINS(<ARRAY>, <ARRAY ELEMENT>)",),
    doc="Whether a value is among the elements.",
    example="ARRAY_CONTAINS(ARRAY[1, 2], 2)",
)
scalar(
    "ARRAY_POSITION",
    _with_element(lambda a, x: INT.with_nullability(a.nullable or x.nullable)),
    value=_position,
    signatures=("ARRAY_POSITION(<ARRAY>, <ARRAY ELEMENT>)",),
    doc="Where a value occurs first, from 1; 0: nowhere.",
    example="ARRAY_POSITION(ARRAY[1, 2], 2)",
)
scalar(
    "ARRAY_REMOVE",
    _with_element(lambda a, x: a),
    takes_null=True,
    value=_on_array(_remove),
    signatures=("ARRAY_REMOVE(<ARRAY>, <ARRAY ELEMENT>)",),
    doc="The array without all elements that equal a value.",
    example="ARRAY_REMOVE(ARRAY[1, 2, 1], 1)",
)


# ---- of one array


def _distinct(site: CallSite, array: list[Any]) -> list[Any]:
    seen: dict[Any, Any] = {}
    for value, key in zip(array, _keys(site, array), strict=True):
        seen.setdefault(key, value)
    return list(seen.values())


def _slice(_: CallSite, array: list[Any], start: int, end: int | None = None) -> list[Any]:
    size = len(array)
    low = _index(start, size)
    high = size if end is None else _index(end, size)
    return array[max(low, 1) - 1 : max(min(high, size), 0)] if low <= high else []


def _index(index: int, size: int) -> int:
    return index if index > 0 else 1 if index == 0 else size + index + 1


def compare(a: Any, b: Any) -> int:
    """As Java compares: NaN is the greatest number."""
    if isinstance(a, float) and isinstance(b, float) and (math.isnan(a) or math.isnan(b)):
        return int(math.isnan(a)) - int(math.isnan(b))
    return int(a > b) - int(a < b)


def _sort(
    _: CallSite, array: list[Any], ascending: bool = True, nulls_first: bool | None = None
) -> list[Any]:
    values = sorted((v for v in array if v is not None), key=cmp_to_key(compare), reverse=not ascending)
    nulls = [None] * (len(array) - len(values))
    return [*nulls, *values] if (ascending if nulls_first is None else nulls_first) else [*values, *nulls]


def _orderable() -> Argument:
    def accept(given: t.DataType) -> t.DataType | None:
        if not isinstance(given, t.ArrayType):
            return None
        element = given.element_type
        if isinstance(element, (t.BooleanType, *r.INTERVAL)):
            return None
        return given if r.comparable(element, element, equality=False) else None

    return Argument("<ARRAY<COMPARABLE>>", accept)


_SORTABLE = _orderable()
scalar(
    "ARRAY_DISTINCT",
    takes(ARRAY, result=first),
    value=_distinct,
    doc="The array without what it has already.",
    example="ARRAY_DISTINCT(ARRAY[1, 2, 1])",
)
scalar(
    "ARRAY_REVERSE",
    takes(ARRAY, result=first),
    value=lambda site, a: a[::-1],
    doc="The elements from the last to the first.",
    example="ARRAY_REVERSE(ARRAY[1, 2, 3])",
)
scalar(
    "ARRAY_SLICE",
    takes(ARRAY, AS_INT, optional(AS_INT), result=first),
    value=_slice,
    doc="The elements from one place to another one, both included; negative: from the end.",
    example="ARRAY_SLICE(ARRAY[1, 2, 3, 4], 2, 3)",
)
scalar(
    "ARRAY_SORT",
    takes(_SORTABLE, optional(TRUTH), optional(TRUTH), result=first),
    value=_sort,
    doc="The elements in order, ascending or not; NULLs first or last.",
    example="ARRAY_SORT(ARRAY[3, 1, 2], FALSE)",
)


def _element(types: Any) -> t.DataType:
    found: t.DataType = types[0].element_type.with_nullability(True)
    return found


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    def value(_: CallSite, array: list[Any]) -> Any:
        known = [v for v in array if v is not None]
        return pick(known, key=cmp_to_key(compare)) if known else None

    return value


scalar(
    "ARRAY_MAX",
    takes(_SORTABLE, result=_element),
    value=_extreme(max),
    doc="The greatest element; NULL: there is none.",
    example="ARRAY_MAX(ARRAY[1, 3, 2])",
)
scalar(
    "ARRAY_MIN",
    takes(_SORTABLE, result=_element),
    value=_extreme(min),
    doc="The least element; NULL: there is none.",
    example="ARRAY_MIN(ARRAY[1, 3, 2])",
)


def _texts() -> Argument:
    def accept(given: t.DataType) -> t.DataType | None:
        return (
            given if isinstance(given, t.ArrayType) and isinstance(given.element_type, r.CHARACTER) else None
        )

    return Argument("<ARRAY<CHARACTER_STRING>>", accept)


def _join(_: CallSite, array: list[Any], separator: str, null: str | None = None) -> str:
    if null is None:
        return separator.join(v for v in array if v is not None)
    return separator.join(null if v is None else v for v in array)


scalar(
    "ARRAY_JOIN",
    takes(_texts(), TEXT, optional(TEXT), result=strict(STRING)),
    value=_join,
    doc="The elements as one text with a separator; NULLs are left out, or written as a text.",
    example="ARRAY_JOIN(ARRAY['a', 'b'], '+')",
)


# ---- of several arrays


def _arrays(least: int) -> TypeRule:
    def rule(call: CallTypes) -> Typing | None:
        types = call.types
        if len(types) < least or not all(isinstance(d, t.ArrayType) for d in types):
            return None
        found = r.common_type(types)
        if found is None:
            return None
        return Typing(
            found.with_nullability(any_nullable(types)),
            tuple(found.with_nullability(d.nullable) for d in types),
        )

    return rule


def _except_rule(call: CallTypes) -> Typing | None:
    """The result has the type of both, nullable elements included."""
    return _arrays(2)(call) if len(call.types) == 2 else None


def _union(site: CallSite, *arrays: list[Any]) -> list[Any]:
    return _distinct(site, [v for array in arrays for v in array])


def _except(site: CallSite, array: list[Any], other: list[Any]) -> list[Any]:
    without = set(_keys(site, other, 1))
    return [v for v in _distinct(site, array) if _keys(site, [v])[0] not in without]


def _intersect(site: CallSite, array: list[Any], other: list[Any]) -> list[Any]:
    wanted = set(_keys(site, other, 1))
    return [v for v in _distinct(site, array) if _keys(site, [v])[0] in wanted]


scalar(
    "ARRAY_CONCAT",
    _arrays(1),
    value=lambda site, *arrays: [v for a in arrays for v in a],
    signatures=("ARRAY_CONCAT(<ARRAY>...)",),
    doc="The elements of all arrays one after the other.",
    example="ARRAY_CONCAT(ARRAY[1, 2], ARRAY[3])",
)
scalar(
    "ARRAY_UNION",
    _except_rule,
    value=_union,
    signatures=("ARRAY_UNION(<ARRAY>, <ARRAY>)",),
    doc="The elements of both arrays, each once.",
    example="ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3])",
)
scalar(
    "ARRAY_EXCEPT",
    _except_rule,
    value=_except,
    signatures=("ARRAY_EXCEPT(<ARRAY>, <ARRAY>)",),
    doc="The elements of the first array that are not in the second, each once.",
    example="ARRAY_EXCEPT(ARRAY[1, 2, 3], ARRAY[2])",
)
scalar(
    "ARRAY_INTERSECT",
    _except_rule,
    value=_intersect,
    signatures=("ARRAY_INTERSECT(<ARRAY>, <ARRAY>)",),
    doc="The elements that are in both arrays, each once.",
    example="ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2, 3])",
)
