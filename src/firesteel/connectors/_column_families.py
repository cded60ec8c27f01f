"""Classifies the column types that declared types need, independently of the database."""

from __future__ import annotations

import datetime
from types import MappingProxyType
from typing import Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)

_OF_BASIC: Final = MappingProxyType(
    {
        BasicType.BYTE: "integer",
        BasicType.SHORT: "integer",
        BasicType.INT: "integer",
        BasicType.LONG: "integer",
        BasicType.BIG_INT: "integer",
        BasicType.FLOAT: "number",
        BasicType.DOUBLE: "number",
        BasicType.BIG_DEC: "decimal",
        BasicType.BOOLEAN: "boolean",
        BasicType.STRING: "text",
        BasicType.CHAR: "text",
        BasicType.INSTANT: "instant",
    }
)
_OF_CLASS: Final[tuple[tuple[type, str], ...]] = (
    (DateTypeInfo, "date"),
    (TimeTypeInfo, "time"),
    (TimestampTypeInfo, "timestamp"),
    (PickledBytesTypeInfo, "bytes"),
    (PrimitiveArrayTypeInfo, "array"),
    (BasicArrayTypeInfo, "array"),
    (ObjectArrayTypeInfo, "array"),
    (ListTypeInfo, "array"),
)

_BYTES: Final = PrimitiveArrayTypeInfo(BasicTypeInfo.BYTE_TYPE_INFO())


def family(type_info: TypeInformation) -> str:
    """Return the kind of column that a declared type needs.

    :raises UnsupportedFeatureError: no column can hold it.
    """
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info._type_info
    if isinstance(type_info, BasicTypeInfo):
        return _OF_BASIC[type_info._basic_type]
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info == _BYTES:
        return "bytes"
    for kind, name in _OF_CLASS:
        if isinstance(type_info, kind):
            return name
    raise UnsupportedFeatureError(
        f"A column of a database cannot hold {type_info}.",
        hint="write its fields into columns of their own, or make a text of it: json.dumps",
    )


def instant_to_datetime(value: Instant) -> datetime.datetime:
    whole = datetime.datetime.fromtimestamp(value.seconds, datetime.UTC)
    return whole.replace(microsecond=value.nanos // 1000)


def datetime_to_instant(value: datetime.datetime) -> Instant:
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return Instant(int(value.timestamp() // 1), value.microsecond * 1000)
