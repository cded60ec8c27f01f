"""Arrow columns to lists of Python values as a stream has them: rows for structs, dicts for maps."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from typing import Any

from firesteel.common.types import _make_row

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
