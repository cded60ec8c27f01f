"""MAP_* and STR_TO_MAP: functions of maps."""

from __future__ import annotations

import re
from typing import Any, Final

from firesteel.sql import type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.collections import distinct_pairs
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import MAP, STRING, TEXT, any_nullable, either, of_first, takes
from firesteel.sql.java_regex import compile_java

Pairs = list[tuple[Any, Any]]


def _entries_type(kind: t.MapType) -> t.DataType:
    row = t.RowType(fields=(t.RowField("key", kind.key_type), t.RowField("value", kind.value_type)))
    return t.ArrayType(element_type=row)


scalar(
    "MAP_KEYS",
    takes(MAP, result=of_first(lambda m: t.ArrayType(element_type=m.key_type))),
    value=lambda site, m: [k for k, _ in m],
    doc="The keys as an array.",
    example="MAP_KEYS(MAP['a', 1])",
)
scalar(
    "MAP_VALUES",
    takes(MAP, result=of_first(lambda m: t.ArrayType(element_type=m.value_type))),
    value=lambda site, m: [v for _, v in m],
    doc="The values as an array.",
    example="MAP_VALUES(MAP['a', 1])",
)
scalar(
    "MAP_ENTRIES",
    takes(MAP, result=of_first(_entries_type)),
    value=lambda site, m: m,
    doc="The entries as an array of rows of key and value.",
    example="MAP_ENTRIES(MAP['a', 1])",
)


def _from_arrays_rule(call: CallTypes) -> Typing | None:
    if len(call.types) != 2 or not all(isinstance(d, t.ArrayType) for d in call.types):
        return None
    keys, values = call.types
    kind = t.MapType(
        key_type=keys.children[0], value_type=values.children[0], nullable=any_nullable(call.types)
    )
    return Typing(kind, tuple(call.types))


def _from_arrays(site: CallSite, keys: list[Any], values: list[Any]) -> Pairs:
    if len(keys) != len(values):
        raise ValueError(
            f"Invalid function MAP_FROM_ARRAYS call: the length of the keys array {len(keys)} is not "
            f"equal to the length of the values array {len(values)}"
        )
    return distinct_pairs(list(zip(keys, values, strict=True)), site.result)


scalar(
    "MAP_FROM_ARRAYS",
    _from_arrays_rule,
    value=_from_arrays,
    signatures=("MAP_FROM_ARRAYS(<ARRAY>, <ARRAY>)",),
    doc="A map of an array of keys and one of values.",
    example="MAP_FROM_ARRAYS(ARRAY['a', 'b'], ARRAY[1, 2])",
)


def _union_rule(call: CallTypes) -> Typing | None:
    types = call.types
    if not types or not all(isinstance(d, t.MapType) for d in types):
        return None
    found = r.common_type(types)
    if found is None:
        return None
    arguments = tuple(found.with_nullability(d.nullable) for d in types)
    return Typing(found.with_nullability(any_nullable(types)), arguments)


def _union(site: CallSite, *maps: Pairs) -> Pairs:
    return distinct_pairs([pair for m in maps for pair in m], site.result)


scalar(
    "MAP_UNION",
    _union_rule,
    value=_union,
    signatures=("MAP_UNION(<MAP>...)",),
    doc="The entries of all maps; of equal keys the last one's value counts.",
    example="MAP_UNION(MAP['a', 1], MAP['b', 2])",
)


def _pieces(text: str, separator: str, most: int = 0) -> list[str]:
    """Java's ``String.split``: the separator is a regular expression, empty texts at the end are left out."""
    if len(separator) == 1 and separator not in ".$|()[{^?*+\\":
        found = text.split(separator, most - 1 if most else -1)
    else:
        expression: re.Pattern[str] = compile_java(separator)
        found = expression.split(text, maxsplit=most - 1 if most else 0)
    while not most and len(found) > 1 and not found[-1]:
        found.pop()
    return found


def _str_to_map(site: CallSite, text: str, entries: str = ",", pair: str = "=") -> Pairs:
    if not text:
        return []
    found: Pairs = []
    for piece in _pieces(text, entries):
        key, *value = _pieces(piece, pair, 2)
        found.append((key, value[0] if value else None))
    return distinct_pairs(found, site.result)


_OF_TEXTS: Final = t.MapType(key_type=STRING, value_type=STRING)
scalar(
    "STR_TO_MAP",
    either(takes(TEXT, result=_OF_TEXTS), takes(TEXT, TEXT, TEXT, result=_OF_TEXTS)),
    value=_str_to_map,
    doc="The entries that a text lists.",
    example="STR_TO_MAP('k1=v1,k2=v2')",
)
