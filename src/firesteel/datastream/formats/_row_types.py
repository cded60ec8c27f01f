"""Row types as the formats of columnar files take them, and the time zone of this machine."""

from __future__ import annotations

import os
import time
import zoneinfo
from typing import Any

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TypeInformation,
)
from firesteel.datastream._checks import WrongArgumentError
from firesteel.formats._csv_columns import element_type


def row_type_info(row_type: Any, what: str) -> RowTypeInfo:
    """The type of the rows, of ``DataTypes.ROW([...])`` or ``Types.ROW_NAMED(...)``.

    :param what: which format asks, for the error.
    """
    type_info = getattr(row_type, "type_info", row_type)
    if not isinstance(type_info, RowTypeInfo) or not type_info.get_field_names():
        raise WrongArgumentError(
            f"{what} needs the type of a row with at least one field.",
            detail=f"got {row_type!r}",
            hint="as in DataTypes.ROW([DataTypes.FIELD('id', DataTypes.INT())])",
        )
    _refuse_instants(type_info, what, "")
    return type_info


def _refuse_instants(type_info: TypeInformation, what: str, path: str) -> None:
    inner: list[tuple[str, TypeInformation]] = []
    match type_info:
        case RowTypeInfo():
            inner = list(zip(type_info.get_field_names(), type_info.get_field_types(), strict=True))
        case MapTypeInfo():
            inner = [("key", type_info._key_type_info), ("value", type_info._value_type_info)]
        case BasicTypeInfo() if type_info._basic_type is BasicType.INSTANT:
            raise ConfigurationError(
                f"{what} has no instants: field {path[1:]!r}", hint="declare DataTypes.TIMESTAMP()"
            )
        case _ if (element := element_type(type_info)) is not None:
            inner = [("element", element)]
    for name, field in inner:
        _refuse_instants(field, what, f"{path}.{name}")


def local_zone() -> str:
    """The name of the time zone of this process: the driver's, so that all workers read alike."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        link = os.path.realpath("/etc/localtime")
        name = link.partition("/zoneinfo/")[2]
    if not name and not (time.timezone or time.daylight):
        name = "UTC"
    try:
        return zoneinfo.ZoneInfo(name).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigurationError(
            "the local time zone has no name here",
            detail=f"TZ is {os.environ.get('TZ')!r}",
            hint="set TZ to a name such as Europe/Berlin, or read timestamps as UTC",
        ) from error
