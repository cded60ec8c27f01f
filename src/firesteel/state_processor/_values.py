"""Values of table columns as what is put into a state: the inverse of ``_columns``."""

from __future__ import annotations

import pickle
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from firesteel.common._composite_types import ExternalTypeInfo, ListTypeInfo, MapTypeInfo
from firesteel.common.errors import ProgramError, StateCorruptionError
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row
from firesteel.formats.arrow_values import make_row, records
from firesteel.state_processor._columns import TEXT

Convert = Callable[[Any], Any]


def rows_of_batch(batch: pa.RecordBatch, zone: str) -> list[Row]:
    """The rows as records have them: with field names, structs as rows, maps as dicts."""
    return records(batch, list(batch.schema.names), zone, make_row)


def field_of(
    name: str, columns: list[str], type_info: TypeInformation | None, zone: str
) -> Callable[[Row], Any]:
    """Takes a column out of a row, as a value of the type.

    :param columns: the columns of the table; an object that was pickled has its text beside it.
    :raises ProgramError: the table has no such column.
    """
    if name not in columns:
        raise ProgramError(
            f"The table has no column {name!r}.",
            detail=f"it has {', '.join(columns)}",
            hint="state is written from the columns that it is read with: key and value, for timers domain "
            "and timestamp",
        )
    at = columns.index(name)
    if name + TEXT in columns and (type_info is None or isinstance(type_info, PickledBytesTypeInfo)):
        return lambda row: None if row[at] is None else _unpickled(row[at], name)
    convert = _converter(type_info, zoneinfo.ZoneInfo(zone)) if type_info is not None else None
    if convert is None:
        return lambda row: row[at]
    return lambda row: None if row[at] is None else convert(row[at])


def _unpickled(data: Any, name: str) -> Any:
    try:
        return pickle.loads(data)
    except Exception as error:
        raise StateCorruptionError(
            f"A value of the column {name!r} is not a pickled object: {error}",
            hint="keep the binary column as it was read, or pickle what is to be stored",
        ) from error


def _converter(type_info: TypeInformation, zone: zoneinfo.ZoneInfo) -> Convert | None:
    """What is left to do after a value has come out of a column; None: nothing."""
    match type_info:
        case ExternalTypeInfo():
            return _converter(type_info._type_info, zone)
        case BasicTypeInfo(_basic_type=BasicType.BIG_INT):
            return int
        case BasicTypeInfo(_basic_type=BasicType.INSTANT):
            return lambda local: Instant.of_epoch_milli(round(local.replace(tzinfo=zone).timestamp() * 1000))
        case TupleTypeInfo():
            convert_fields = _fields(type_info.get_field_types(), zone)
            return lambda struct: tuple(convert_fields(struct))
        case RowTypeInfo():
            convert_fields, names = _fields(type_info.get_field_types(), zone), type_info.get_field_names()
            return lambda struct: make_row(list(convert_fields(struct)), names)
        case MapTypeInfo():
            key = _converter(type_info._key_type_info, zone) or _same
            value = _or_none(_converter(type_info._value_type_info, zone))
            return lambda found: {key(k): value(v) for k, v in found.items()}
        case ListTypeInfo():
            return _elements(_converter(type_info.elem_type, zone))
        case BasicArrayTypeInfo() | ObjectArrayTypeInfo():
            return _elements(_converter(type_info._element_type, zone))
    return None


def _same(value: Any) -> Any:
    return value


def _or_none(convert: Convert | None) -> Convert:
    if convert is None:
        return _same
    return lambda value: None if value is None else convert(value)


def _elements(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    of_one = _or_none(convert)
    return lambda values: [of_one(value) for value in values]


def _fields(types: list[TypeInformation], zone: zoneinfo.ZoneInfo) -> Callable[[Any], Iterator[Any]]:
    converters = [_or_none(_converter(type_, zone)) for type_ in types]
    return lambda struct: (convert(value) for convert, value in zip(converters, struct, strict=True))
