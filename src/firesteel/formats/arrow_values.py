"""Converts Arrow columns to lists of Python values for a stream, and back.

Whole columns are converted at once: ``to_pylist`` creates a scalar object for each timestamp, decimal and
list element, which is ten times slower.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import pairwise, repeat
from types import MappingProxyType
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    DecimalTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import _make_row
from firesteel.formats.csv_columns import element_type

_Convert = Callable[[Any], Any]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

#: Creates a record from the values of its fields and the field names, which all records share.
MakeRecord = Callable[[list[Any], Sequence[str]], Any]
make_row: MakeRecord = _make_row


def make_dict(values: list[Any], names: Sequence[str]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def records(  # hot
    table: Any,
    names: Sequence[str],
    zone: str | None,
    make: MakeRecord,
    typed: Mapping[int, _Convert] = MappingProxyType({}),
) -> list[Any]:
    """Return the rows of an Arrow table or record batch with the columns ``names``.

    :param typed: the result of ``from_arrow_converter`` for some of the columns, by column index.
    """
    columns = [
        [_apply(typed[number], value) for value in column_values(column, None, make)]
        if number in typed
        else column_values(column, zone, make)
        for number, column in enumerate(table.columns)
    ]
    return list(map(make, map(list, zip(*columns, strict=True)), repeat(names)))


def column_values(column: Any, zone: str | None, make: MakeRecord = make_row) -> list[Any]:  # hot
    """Return the values of an Arrow array or chunked array. ``make`` creates records from structs; maps
    become dicts. A timestamp with a time zone becomes the local time in ``zone``, or a datetime in UTC if
    that is None."""
    chunks = getattr(column, "chunks", None)
    if chunks is None:
        return _values(column, zone, make)
    if len(chunks) == 1:
        return _values(chunks[0], zone, make)
    return [value for chunk in chunks for value in _values(chunk, zone, make)]


def _values(array: Any, zone: str | None, make: MakeRecord) -> list[Any]:  # hot
    import pyarrow as pa

    types, type_ = pa.types, array.type
    if types.is_dictionary(type_):
        return _values(array.dictionary_decode(), zone, make)
    if types.is_integer(type_) or types.is_floating(type_):
        numbers: list[Any] = array.to_pylist() if array.null_count else array.to_numpy().tolist()
        return numbers
    if types.is_timestamp(type_):
        moments = _moments(_local(array, zone or "UTC").cast(pa.timestamp("us"), safe=False))
        return moments if zone or not type_.tz else [v and v.replace(tzinfo=datetime.UTC) for v in moments]
    if types.is_date(type_):
        return _moments(array.cast(pa.date32()))
    if types.is_struct(type_):
        return _structs(array, zone, make)
    if types.is_map(type_):
        return _maps(array, zone, make)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return _lists(array, zone, make)
    if types.is_null(type_):
        return [None] * len(array)
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def _local(array: Any, zone: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.type.tz is None:
        return array
    return pc.local_timestamp(array.cast(pa.timestamp(array.type.unit, zone)))


def _moments(array: Any) -> list[Any]:
    """Return dates, or timestamps in microseconds. NumPy returns Python objects for them, but plain integers
    for years outside Python's range."""
    import pyarrow.compute as pc

    pc.min_max(array).as_py()  # raises for such a year
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def _structs(array: Any, zone: str | None, make: MakeRecord) -> list[Any]:
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    columns = [_values(child, zone, make) for child in array.flatten()]
    found = map(make, map(list, zip(*columns, strict=True)), repeat(names))
    if not array.null_count:
        return list(found)
    return [
        record if valid else None for record, valid in zip(found, array.is_valid().to_pylist(), strict=True)
    ]


def _lists(array: Any, zone: str | None, make: MakeRecord) -> list[Any]:
    import pyarrow.compute as pc

    elements, start = _values(array.flatten(), zone, make), 0
    lists: list[Any] = []
    for length in pc.list_value_length(array).to_pylist():
        if length is None:
            lists.append(None)
        else:
            lists.append(elements[start : start + length])
            start += length
    return lists


def _maps(array: Any, zone: str | None, make: MakeRecord) -> list[Any]:
    ends = array.offsets.to_pylist()
    first, length = ends[0], ends[-1] - ends[0]
    keys = _values(array.keys.slice(first, length), zone, make)
    items = _values(array.items.slice(first, length), zone, make)
    maps: list[Any] = [
        dict(zip(keys[start - first : end - first], items[start - first : end - first], strict=True))
        for start, end in pairwise(ends)
    ]
    if not array.null_count:
        return maps
    return [found if valid else None for found, valid in zip(maps, array.is_valid().to_pylist(), strict=True)]


def _apply(convert: _Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def to_arrow_converter(type_info: TypeInformation, zone: datetime.tzinfo | None = None) -> _Convert | None:
    """Return the function that prepares a value for Arrow, or None if no conversion is needed. Timestamps are
    local times in ``zone``, if given."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        types_ = type_info.get_field_types()
        names = (
            type_info.get_field_names()
            if isinstance(type_info, RowTypeInfo)
            else [f"f{i}" for i in range(len(types_))]
        )
        converters = [to_arrow_converter(type_, zone) for type_ in types_]
        return lambda record: {
            name: _apply(convert, value)
            for name, convert, value in zip(names, converters, record, strict=True)
        }
    if isinstance(type_info, MapTypeInfo):
        key = to_arrow_converter(type_info._key_type_info, zone)
        item = to_arrow_converter(type_info._value_type_info, zone)
        return lambda mapping: [(_apply(key, k), _apply(item, v)) for k, v in mapping.items()]
    if isinstance(type_info, InstantTypeInfo):
        return lambda instant: instant.seconds * 1_000_000 + instant.nanos // 1000
    if isinstance(type_info, DecimalTypeInfo):
        return _to_scale(type_info)
    if zone is not None and isinstance(type_info, TimestampTypeInfo):
        return lambda moment: moment.replace(tzinfo=zone)
    inner = element_type(type_info)
    if inner is None:
        return None
    element = to_arrow_converter(inner, zone)
    if element is None:
        return None if _is_bytes(type_info) else _listed
    return lambda items: [_apply(element, value) for value in _listed(items)]


def _is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info._element_type == Types.BYTE()


def _listed(items: Any) -> Any:
    if isinstance(items, str):  # Arrow would take its letters
        raise TypeError(f"expected a list, got the text {items!r:.200}")
    return items


def from_arrow_converter(type_info: TypeInformation, zone: datetime.tzinfo) -> _Convert | None:
    """Return the function that converts a value from Arrow in which timestamps are datetimes in UTC. None: it
    contains no ``Instant``, so no conversion is needed. A timestamp without a time zone becomes the local
    time in ``zone``."""
    if not _holds_instants(type_info):
        return None
    return _from_arrow(type_info, zone)


def _holds_instants(type_info: TypeInformation) -> bool:
    if isinstance(type_info, InstantTypeInfo):
        return True
    return any(map(_holds_instants, _inner_types(type_info)))


def _inner_types(type_info: TypeInformation) -> Sequence[TypeInformation]:
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return type_info.get_field_types()
    if isinstance(type_info, MapTypeInfo):
        return [type_info._key_type_info, type_info._value_type_info]
    inner = element_type(type_info)
    return [] if inner is None else [inner]


def _from_arrow(type_info: TypeInformation, zone: datetime.tzinfo) -> _Convert | None:
    converters = [_from_arrow(inner, zone) for inner in _inner_types(type_info)]
    match type_info:
        case InstantTypeInfo():
            return _instant
        case TimestampTypeInfo():
            return lambda moment: moment.astimezone(zone).replace(tzinfo=None)
        case RowTypeInfo() | TupleTypeInfo():
            names = list(type_info.get_field_names()) if isinstance(type_info, RowTypeInfo) else []
            return lambda row: make_row([_apply(c, v) for c, v in zip(converters, row, strict=True)], names)
        case MapTypeInfo():
            key, item = converters
            return lambda mapping: {_apply(key, k): _apply(item, v) for k, v in mapping.items()}
    if not converters or converters[0] is None:
        return None
    return lambda items: [_apply(converters[0], value) for value in items]


def _instant(moment: datetime.datetime) -> Instant:
    micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    seconds, rest = divmod(micros, 1_000_000)
    return Instant(seconds, rest * 1000)


def _to_scale(type_info: DecimalTypeInfo) -> _Convert:
    """Round digits beyond the column's scale half up, as Flink does; too many digits before the point are an
    error."""
    quantum = Decimal(1).scaleb(-type_info.scale)
    context = Context(prec=100, rounding=ROUND_HALF_UP)
    return lambda value: value.quantize(quantum, context=context)
