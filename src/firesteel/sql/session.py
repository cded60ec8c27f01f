"""What a session has beside its catalogs: the time zone."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import table as options
from firesteel.connectors.files.row_types import local_zone

__all__ = ["session_zone"]


def session_zone(configuration: Configuration) -> str:
    """The name of the time zone of a session.

    :raises ConfigurationError: nobody knows it.
    """
    name = configuration.get(options.LOCAL_TIME_ZONE) or "default"
    if name == "default":
        return _machine_zone()
    offset = _offset(name)
    if offset is not None:
        return offset
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigurationError(
            f"The supplied time zone name {name!r} is invalid.",
            hint="use a name such as Europe/Berlin or UTC, or an offset such as GMT+01:00",
        ) from error
    return name


def _offset(name: str) -> str | None:
    """``GMT+08:00`` as Arrow and Python take it."""
    text = name.removeprefix("GMT").removeprefix("UTC")
    if text == name and name[:1] not in "+-":
        return None
    if not text:
        return "UTC"
    try:
        parsed = datetime.datetime.strptime(text if ":" in text else f"{text}:00", "%z")
    except ValueError:
        return None
    return f"{text[0]}{str(parsed.tzinfo)[4:9]}" if parsed.tzinfo is not None else None


def _machine_zone() -> str:
    try:
        return local_zone()
    except ConfigurationError:
        return "UTC"
