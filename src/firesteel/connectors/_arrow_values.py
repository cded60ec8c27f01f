"""Arrow columns to lists of Python values as a stream has them: rows for structs, dicts for maps."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from typing import Any

from firesteel.common.typeinfo import (
    InstantTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.types import _make_row
from firesteel.formats._csv_columns import element_type

_Convert = Callable[[Any], Any]


def column_values(column: Any, zone: zoneinfo.ZoneInfo) -> list[Any]:  # hot
    """The values of an Arrow array or chunked array."""
    import pyarrow as pa

    type_ = column.type
    if column.null_count == 0 and (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
        try:
            values: list[Any] = column.to_numpy().tolist()
        except ImportError:  # numpy is not a must
            values = column.to_pylist()
        return values
    values = column.to_pylist()
    convert = _converter(type_, zone)
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _converter(type_: Any, zone: zoneinfo.ZoneInfo) -> _Convert | None:
    """What is left to do after ``to_pylist``; None: nothing."""
    import pyarrow as pa

    types = pa.types
    if types.is_timestamp(type_):
        return None if type_.tz is None else lambda value: _local(value, zone)
    if types.is_map(type_):
        return _map_converter(type_, zone)
    if types.is_list(type_) or types.is_large_list(type_):
        element = _converter(type_.value_type, zone)
        return None if element is None else lambda items: [_apply(element, item) for item in items]
    if types.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        names = [field.name for field in fields]
        converters = [_converter(field.type, zone) for field in fields]
        return lambda struct: _make_row(
            [_apply(convert, struct[name]) for name, convert in zip(names, converters, strict=True)], names
        )
    return None


def _map_converter(type_: Any, zone: zoneinfo.ZoneInfo) -> _Convert:
    key, item = _converter(type_.key_type, zone), _converter(type_.item_type, zone)
    return lambda pairs: {_apply(key, k): _apply(item, v) for k, v in pairs}


def _apply(convert: _Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _local(value: datetime.datetime, zone: zoneinfo.ZoneInfo) -> datetime.datetime:
    return value.astimezone(zone).replace(tzinfo=None)


def to_arrow_converter(type_info: TypeInformation) -> _Convert | None:
    """What has to be done to a value before Arrow takes it; None: nothing."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        types_ = type_info.get_field_types()
        names = (
            type_info.get_field_names()
            if isinstance(type_info, RowTypeInfo)
            else [f"f{i}" for i in range(len(types_))]
        )
        converters = [to_arrow_converter(type_) for type_ in types_]
        return lambda record: {
            name: _apply(convert, value)
            for name, convert, value in zip(names, converters, record, strict=True)
        }
    if isinstance(type_info, MapTypeInfo):
        key = to_arrow_converter(type_info._key_type_info)
        item = to_arrow_converter(type_info._value_type_info)
        return lambda mapping: [(_apply(key, k), _apply(item, v)) for k, v in mapping.items()]
    if isinstance(type_info, InstantTypeInfo):
        return lambda instant: instant.seconds * 1_000_000 + instant.nanos // 1000
    inner = element_type(type_info)
    if inner is None:
        return None
    element = to_arrow_converter(inner)
    return None if element is None else lambda items: [_apply(element, value) for value in items]
