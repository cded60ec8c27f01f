"""Row types for the formats of columnar files, and the local time zone."""

from __future__ import annotations

import os
import time
import zoneinfo
from typing import Any

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.formats.types_to_arrow import Path
from firesteel.program.checks import WrongArgumentError


def row_type_info(row_type: Any, what: str) -> RowTypeInfo:
    """Return the type of the rows for ``DataTypes.ROW([...])`` or ``Types.ROW_NAMED(...)``.

    :param what: name of the format, for error messages.
    """
    type_info = getattr(row_type, "type_info", row_type)
    if not isinstance(type_info, RowTypeInfo) or not type_info.get_field_names():
        raise WrongArgumentError(
            f"{what} needs the type of a row with at least one field.",
            detail=f"got {row_type!r}",
            hint="as in DataTypes.ROW([DataTypes.FIELD('id', DataTypes.INT())])",
        )
    return type_info


def required_fields(row_type: Any, path: Path = ()) -> frozenset[Path]:
    """Return the paths of the fields of ``DataTypes.ROW([...])`` that are NOT NULL, from the row down."""
    found: set[Path] = set()
    for field in getattr(row_type, "fields", ()):
        here = (*path, field.name)
        found |= required_fields(field.data_type, here)
        if not field.data_type.is_nullable:
            found.add(here)
    return frozenset(found)


def local_zone() -> str:
    """Return the name of this process's time zone. It is taken on the driver, so that all workers read
    alike."""
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
