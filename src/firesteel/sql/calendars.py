"""Dates and times as NumPy integers: calendar fields, adding months, time zones.

Days and counts of a unit are 64-bit integers; what is null is any number, callers keep the nulls.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.errors import ConfigurationError
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.values import UNITS, unit_of

__all__ = [
    "DAY_MS",
    "add_months",
    "civil",
    "days_from",
    "integers",
    "temporal",
    "to_instant",
    "to_local",
    "zone_of",
]

DAY_MS: Final = 86_400_000
_OFFSET: Final = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
Numbers = Any  # a NumPy array of int64, or an integer


def integers(column: Any) -> Numbers:
    """The physical integers of a column or scalar; null is 0."""
    if isinstance(column, pa.Scalar):
        return integers(pa.repeat(column, 1))[0]
    width = pa.int64() if column.type.bit_width == 64 else pa.int32()
    found = column.view(width)
    if found.null_count:
        found = pc.fill_null(found, 0)
    return found.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def temporal(numbers: Numbers, data_type: t.DataType, *sources: Any, length: int | None = None) -> pa.Array:
    """A column of physical integers; null where one of the columns *sources* is."""
    kind = arrow_type(data_type)
    width = np.int64 if kind.bit_width == 64 else np.int32
    size = length if length is not None else next((len(s) for s in sources if isinstance(s, pa.Array)), 1)
    made = pa.array(np.broadcast_to(np.asarray(numbers), (size,)).astype(width)).view(kind)
    return with_nulls_of(made, *sources)


def with_nulls_of(made: pa.Array, *sources: Any) -> pa.Array:
    for source in sources:
        if isinstance(source, pa.Scalar):
            if not source.is_valid:
                return pa.nulls(len(made), made.type)
        elif source.null_count:
            made = pc.if_else(source.is_valid(), made, pa.scalar(None, made.type))
    return made


# ---- the calendar


def civil(days: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Year, month and day of days since 1970-01-01."""
    dates = np.asarray(days, np.int64).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    count = months.astype(np.int64)
    return count // 12 + 1970, count % 12 + 1, (dates - months.astype("datetime64[D]")).astype(np.int64) + 1


def days_from(year: Numbers, month: Numbers, day: Numbers) -> Numbers:
    count = (np.asarray(year, np.int64) - 1970) * 12 + (np.asarray(month, np.int64) - 1)
    return count.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1


def add_months(days: Numbers, months: Numbers) -> Numbers:
    """The same day of another month, or its last one where it has fewer."""
    dates = np.asarray(days, np.int64).astype("datetime64[D]")
    first = dates.astype("datetime64[M]")
    day = (dates - first.astype("datetime64[D]")).astype(np.int64)
    target = first + np.asarray(months, np.int64)
    start = target.astype("datetime64[D]").astype(np.int64)
    length = (target + 1).astype("datetime64[D]").astype(np.int64) - start
    return start + np.minimum(day, length - 1)


# ---- time zones


def zone_of(name: str) -> datetime.tzinfo:
    """The zone of an id as Java knows it: ``Europe/Berlin``, ``UTC``, ``GMT+08:00``, ``+08:00``."""
    found = _zone(name)
    if found is None:
        raise ConfigurationError(
            f"There is no time zone {name!r}.", hint="use an id such as 'Europe/Berlin', 'UTC' or 'GMT+08:00'"
        )
    return found


@lru_cache(maxsize=256)
def _zone(name: str) -> datetime.tzinfo | None:
    if name in ("Z", "UTC", "GMT", "UT"):
        return datetime.UTC
    match = _OFFSET.fullmatch(name)
    if match:
        sign = -1 if match[1] == "-" else 1
        seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
        return datetime.timezone(datetime.timedelta(seconds=sign * seconds))
    try:
        return zoneinfo.ZoneInfo(_OLD_NAMES.get(name, name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


#: ids of three letters that Java reads as these zones
_OLD_NAMES: Final = {
    "PST": "America/Los_Angeles",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "JST": "Asia/Tokyo",
    "IST": "Asia/Kolkata",
    "ECT": "Europe/Paris",
}


def find_zone(name: str) -> datetime.tzinfo | None:
    return _zone(name)


def is_zone_id(name: str) -> bool:
    """Whether ``java.time.ZoneId`` knows it, which has none of the old names of three letters."""
    return name not in _OLD_NAMES and _zone(name) is not None


def _fixed(zone: datetime.tzinfo) -> int | None:
    """Seconds east of UTC, if that never changes."""
    if isinstance(zone, datetime.timezone):
        return int(zone.utcoffset(None).total_seconds())
    return None


def to_local(instants: Numbers, unit: int, name: str) -> Numbers:
    """Instants (counts of *unit* per second since the epoch) as local times of a zone."""
    zone = zone_of(name)
    fixed = _fixed(zone)
    if fixed is not None:
        return instants + fixed * unit if fixed else instants
    points, offsets = _transitions(str(zone))
    seconds = np.floor_divide(instants, unit)
    return instants + offsets[np.searchsorted(points, seconds, side="right")] * unit


def to_instant(local: Numbers, unit: int, name: str) -> Numbers:
    """Local times of a zone as instants. As in Java: the earlier of two; in a gap, moved on by its length."""
    zone = zone_of(name)
    fixed = _fixed(zone)
    if fixed is not None:
        return local - fixed * unit if fixed else local
    points, offsets = _transitions(str(zone))
    seconds = np.floor_divide(local, unit)
    # a local time is after a transition when it has reached the later of its two local readings
    later = points + np.maximum(offsets[1:], offsets[:-1])
    before = offsets[np.searchsorted(later, seconds, side="right")]
    return local - before * unit


@lru_cache(maxsize=64)
def _transitions(name: str) -> tuple[Any, Any]:
    """Instants at which the offset changes, and the offsets before, between and after them, in seconds."""
    zone = zone_of(name)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

    def offset(second: int) -> int:
        at = (epoch + datetime.timedelta(seconds=second)).astimezone(zone)
        found = at.utcoffset()
        return 0 if found is None else int(found.total_seconds())

    points: list[int] = []
    offsets = [offset(_FIRST)]
    step = 7 * 86_400
    for start in range(_FIRST, _LAST, step):
        end = start + step
        if offset(end) != offsets[-1]:
            low, high = start, end
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
            points.append(high)
            offsets.append(offset(high))
    return np.array(points, np.int64), np.array(offsets, np.int64)


#: transitions are looked up from 1900 to 2100; later ones stay as in 2100
_FIRST: Final = -2_208_988_800
_LAST: Final = 4_102_444_800


# ---- timestamps and their parts


def converted(numbers: Numbers, source: int, target: int) -> Numbers:
    """Counts of one unit as counts of another one, cut off towards the past."""
    if source == target:
        return numbers
    if target > source:
        return numbers * (target // source)
    return numbers // (source // target)


def cut(numbers: Numbers, data_type: t.DataType) -> Numbers:
    """Keep only as many digits of the second as the type has."""
    step = unit_of(data_type) // 10 ** t.precision_of(data_type)
    return numbers if step <= 1 else numbers // step * step


def units() -> Sequence[int]:
    return tuple(UNITS.values())
