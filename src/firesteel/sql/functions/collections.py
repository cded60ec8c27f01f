"""ARRAY, MAP and ROW: making them and reading from them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import calendars as c, type_rules as r, types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.context import CallSite
from firesteel.sql.functions.comparison import comparable_value
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.lifting import list_elements, rows_of
from firesteel.sql.functions.logic import least_restrictive
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import ANY, INT, many, takes


def _array_rule(call: CallTypes) -> Typing | None:
    if not call.types:
        return None
    found = least_restrictive(call.types)
    if found is None:
        if not all(map(r.is_null_type, call.types)):
            return None
        found = t.NullType()
    arguments = tuple(found.with_nullability(d.nullable) for d in call.types)
    return Typing(t.ArrayType(element_type=found, nullable=False), arguments)


def _columns(site: CallSite, columns: Any) -> list[pa.Array]:
    return [a if isinstance(a, pa.Array) else pa.repeat(a, site.length) for a in columns]


def _array(site: CallSite, *columns: Any) -> pa.Array:
    """Interleave: element i of row j is at ``j * n + i``."""
    import numpy as np

    arrays = _columns(site, columns)
    count, length = len(arrays), site.length
    order = (np.arange(length)[:, None] + np.arange(count)[None, :] * length).reshape(-1)
    flat = pa.concat_arrays(arrays).take(pa.array(order))
    offsets = pa.array(np.arange(0, (length + 1) * count, count, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, flat, arrow_type(site.result))


scalar(
    "ARRAY",
    _array_rule,
    sql=(),
    columns=_array,
    total=True,
    signatures=("ARRAY[<COMMON>...]",),
    doc="An array of values.",
    example="ARRAY[1, 2, 3]",
)


def _map_rule(call: CallTypes) -> Typing | None:
    types = call.types
    if not types or len(types) % 2:
        return None
    keys, values = least_restrictive(types[::2]), least_restrictive(types[1::2])
    if keys is None or values is None:
        keys = keys or (t.NullType() if all(map(r.is_null_type, types[::2])) else None)
        values = values or (t.NullType() if all(map(r.is_null_type, types[1::2])) else None)
        if keys is None or values is None:
            return None
    arguments = tuple((values if i % 2 else keys).with_nullability(d.nullable) for i, d in enumerate(types))
    return Typing(t.MapType(key_type=keys, value_type=values, nullable=False), arguments)


def _map(site: CallSite, *values: Any) -> list[tuple[Any, Any]]:
    return distinct_pairs(list(zip(values[::2], values[1::2], strict=True)), site.result)


def distinct_pairs(pairs: list[tuple[Any, Any]], data_type: t.DataType) -> list[tuple[Any, Any]]:
    """Of equal keys the last one's value counts."""
    assert isinstance(data_type, t.MapType)
    found: dict[Any, tuple[Any, Any]] = {}
    for key, value in pairs:
        found[comparable_value(key, data_type.key_type)] = (key, value)
    return list(found.values())


scalar(
    "MAP",
    _map_rule,
    sql=(),
    value=_map,
    takes_null=True,
    signatures=("MAP[<COMMON>, <COMMON>...]",),
    doc="A map of keys and values in turn.",
    example="MAP['a', 1, 'b', 2]",
)


def _row_result(types: Any) -> t.DataType:
    fields = tuple(t.RowField(f"EXPR${i}", d) for i, d in enumerate(types))
    return t.RowType(fields=fields, nullable=False)


def _row(site: CallSite, *columns: Any) -> pa.Array:
    kind = arrow_type(site.result)
    return pa.StructArray.from_arrays(_columns(site, columns), fields=list(kind))


scalar(
    "ROW",
    takes(ANY, many(ANY), result=_row_result),
    sql=(),
    columns=_row,
    total=True,
    signatures=("ROW(<ANY>...)",),
    doc="A row of values.",
    example="ROW(1, 'a')",
)


# ---- reading


def _at_rule(call: CallTypes) -> Typing | None:
    if len(call.types) != 2:
        return None
    source, index = call.types
    if isinstance(source, t.ArrayType) and isinstance(index, (*r.INTEGER, t.NullType)):
        place = t.IntType(nullable=index.nullable)
        return Typing(source.element_type.with_nullability(True), (source, place))
    if isinstance(source, t.MapType):
        key = index if r.is_null_type(index) else r.common_type((source.key_type, index))
        if key is None:
            return None
        wanted = source.key_type.with_nullability(True) if not isinstance(key, r.CHARACTER) else index
        return Typing(source.value_type.with_nullability(True), (source, wanted))
    if isinstance(source, t.RowType):
        return _get_rule(call)
    if isinstance(source, t.VariantType) and isinstance(index, (*r.INTEGER, *r.CHARACTER)):
        return Typing(t.VariantType(), (source, index))
    return None


def _at(site: CallSite, source: Any, index: Any) -> Any:
    kind = site.types[0]
    if isinstance(kind, t.ArrayType):
        if index < 1:
            raise ValueError(f"Array element access needs an index starting at 1 but was {index}.")
        return source[index - 1] if index <= len(source) else None
    if isinstance(kind, t.MapType):
        wanted = comparable_value(index, kind.key_type)
        return next((v for k, v in source if comparable_value(k, kind.key_type) == wanted), None)
    from firesteel.sql.variants import element

    return element(source, index)


def _at_columns(site: CallSite, source: Any, index: Any) -> Any:
    if isinstance(site.types[0], t.RowType):
        return _get(site, source, index)
    constant = isinstance(index, pa.Scalar) and index.is_valid and isinstance(source, pa.Array)
    if constant and isinstance(site.types[0], t.ArrayType) and len(source):
        place = index.as_py()
        if place < 1:
            raise ValueError(f"Array element access needs an index starting at 1 but was {place}.")
        return list_elements(source, place)
    return rows_of(_at, site, (source, index))


scalar(
    "AT",
    _at_rule,
    sql=(),
    columns=_at_columns,
    signatures=(
        "<ARRAY>[<INTEGER>]",
        "<MAP>[<ANY>]",
        "<ROW>[<CHARACTER>|<INTEGER>]",
        "<VARIANT>[<CHARACTER>|<INTEGER>]",
    ),
    doc="An element of an array (counted from 1), the value of a key, a field of a row, or a part of a "
    "VARIANT: by its key, if that is an object, or counted from 1, if it is an array.",
    example="ARRAY[10, 20][2]",
)


def _get_rule(call: CallTypes) -> Typing | None:
    if len(call.types) != 2 or not isinstance(call.types[0], t.RowType):
        return None
    row, field = call.types[0], call.literal(1)
    if isinstance(field, str):
        field = row.names.index(field) if field in row.names else None
    if field is None or not 0 <= field < len(row.fields):
        return None
    found = row.types[field]
    return Typing(found.with_nullability(found.nullable or row.nullable), tuple(call.types))


def _get(site: CallSite, row: Any, field: Any) -> Any:
    kind = site.types[0]
    assert isinstance(kind, t.RowType)
    index = (field[0] if isinstance(field, pa.Array) else field).as_py()
    place = kind.names.index(index) if isinstance(index, str) else int(index)
    array = row if isinstance(row, pa.Array) else pa.repeat(row, site.length)
    found = array.field(place)
    return c.with_nulls_of(found, array) if array.null_count else found


scalar(
    "GET",
    _get_rule,
    sql=(),
    columns=_get,
    total=True,
    signatures=("<ROW>.<FIELD>",),
    doc="A field of a row.",
    example="ROW(1, 'a').EXPR$1",
)


def _sized(call: CallTypes) -> Typing | None:
    kinds = (t.ArrayType, t.MapType, t.MultisetType)
    if len(call.types) != 1 or not isinstance(call.types[0], kinds):
        return None
    return Typing(INT.with_nullability(call.types[0].nullable), tuple(call.types))


def _cardinality(site: CallSite, source: Any) -> Any:
    import numpy as np

    array = source if isinstance(source, pa.Array) else pa.repeat(source, site.length)
    if pa.types.is_list(array.type):
        return pc.list_value_length(array)
    sizes = pa.array(np.diff(array.offsets.to_numpy()).astype(np.int32))
    return c.with_nulls_of(sizes, array)


scalar(
    "CARDINALITY",
    _sized,
    columns=_cardinality,
    total=True,
    signatures=("CARDINALITY(<ARRAY>)", "CARDINALITY(<MAP>)", "CARDINALITY(<MULTISET>)"),
    doc="How many elements or entries there are.",
    example="CARDINALITY(ARRAY[1, 2])",
)


def _element_rule(call: CallTypes) -> Typing | None:
    if len(call.types) != 1 or not isinstance(call.types[0], t.ArrayType):
        return None
    kind = call.types[0]
    nullable = kind.nullable or kind.element_type.nullable
    return Typing(kind.element_type.with_nullability(nullable), (kind,))


def _element(_: CallSite, values: list[Any]) -> Any:
    if len(values) > 1:
        raise ValueError("Array has more than one element.")
    return values[0] if values else None


scalar(
    "ELEMENT",
    _element_rule,
    value=_element,
    signatures=("ELEMENT(<ARRAY>)",),
    doc="The only element of an array; NULL: it is empty.",
    example="ELEMENT(ARRAY[7])",
)
