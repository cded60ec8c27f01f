"""Functions for one value on whole columns: nulls, constants, and each distinct value once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import values as v
from firesteel.sql.context import CallSite
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.types import SymbolType

__all__ = ["lifted", "list_elements", "rows_of", "rows_of_all"]

_SAMPLE: Final = 1024
#: from how many rows on it is worth looking whether values repeat
_LOOK: Final = 2048


def lifted(definition: FunctionDefinition, site: CallSite, arguments: Sequence[Any]) -> pa.Array:
    """Call ``definition.value`` for each row."""
    function = definition.value
    assert function is not None
    varying = [i for i, a in enumerate(arguments) if isinstance(a, pa.Array)]
    if definition.deterministic and len(varying) == 1 and _repeats(arguments[varying[0]]):
        return _on_distinct(definition, site, list(arguments), varying[0])
    return v.array_of(_results(function, site, arguments, definition.takes_null), site.result)


def rows_of(function: Callable[..., Any], site: CallSite, arguments: Sequence[Any]) -> pa.Array:
    """Call a function for the rows in which no argument is null; ``site.types`` are those of the
    arguments."""
    return v.array_of(_results(function, site, arguments, takes_null=False), site.result)


def rows_of_all(function: Callable[..., Any]) -> Callable[..., pa.Array]:
    """A function on columns that calls one for each row, also where arguments are null."""

    def compute(site: CallSite, *arguments: Any) -> pa.Array:
        return v.array_of(_results(function, site, arguments, takes_null=True), site.result)

    return compute


def _repeats(array: pa.Array) -> bool:
    if len(array) < _LOOK or not (pa.types.is_string(array.type) or pa.types.is_primitive(array.type)):
        return False
    return bool(pc.count_distinct(array.slice(0, _SAMPLE)).as_py() < _SAMPLE // 2)


def _on_distinct(
    definition: FunctionDefinition, site: CallSite, arguments: list[Any], place: int
) -> pa.Array:
    encoded = arguments[place].dictionary_encode(null_encoding="encode")
    arguments[place] = encoded.dictionary
    length, site.length = site.length, len(encoded.dictionary)
    try:
        assert definition.value is not None
        found = _results(definition.value, site, arguments, definition.takes_null)
    finally:
        site.length = length
    return v.array_of(found, site.result).take(encoded.indices)


def _results(
    function: Callable[..., Any], site: CallSite, arguments: Sequence[Any], takes_null: bool
) -> list[Any]:
    columns: list[Any] = []
    single: list[Any] | None = None
    for argument, data_type in zip(arguments, site.types, strict=True):
        if isinstance(argument, pa.Array):
            single = v.values_of(argument, data_type)
            columns.append(single)
            continue
        value = argument.as_py() if isinstance(data_type, SymbolType) else v.scalar_value(argument, data_type)
        if value is None and not takes_null and not isinstance(data_type, SymbolType):
            return [None] * site.length
        columns.append(repeat(value, site.length))
    if not columns:
        return [function(site) for _ in range(site.length)]
    if takes_null:
        return [function(site, *row) for row in zip(*columns, strict=True)]
    if len(columns) == 1:
        return [None if x is None else function(site, x) for x in columns[0]]
    if not any(isinstance(a, pa.Array) and a.null_count for a in arguments):
        return [function(site, *row) for row in zip(*columns, strict=True)]
    places = [i for i, a in enumerate(arguments) if isinstance(a, pa.Array)]
    return [
        None if any(row[i] is None for i in places) else function(site, *row)
        for row in zip(*columns, strict=True)
    ]


def list_elements(source: pa.Array, place: int) -> pa.Array:
    """Element *place*, from 1, of each list; null where there are fewer."""
    offsets = source.offsets.to_numpy()
    starts, ends = offsets[:-1], offsets[1:]
    inside = (starts + place <= ends) & source.is_valid().to_numpy(zero_copy_only=False)
    return source.values.take(pa.array(np.where(inside, starts + place - 1, 0), mask=~inside))
