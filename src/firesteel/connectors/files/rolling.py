"""Decides when a file sink starts a new file, and which directory a record is written to."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from firesteel.common.errors import ConfigurationError

_NO_TIMESTAMP: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Rolling:
    """A part file ends when it has ``part_size`` bytes, is ``rollover_interval_ms`` old, or has not been
    written to for ``inactivity_interval_ms`` (Flink: DefaultRollingPolicy, with the same defaults). Its size
    is checked after each batch of records, its age at each commit. With ``on_every_commit`` it also ends at
    each commit (Flink: OnCheckpointRollingPolicy)."""

    part_size: int = 128 << 20
    rollover_interval_ms: int = 60_000
    inactivity_interval_ms: int = 60_000
    on_every_commit: bool = False

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval_ms", "inactivity_interval_ms"):
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"{name} of a rolling policy is not above 0: {getattr(self, name)}")

    @property
    def size_limit(self) -> float:
        """The size in bytes at which a part file ends between two commits."""
        return float("inf") if self.on_every_commit else self.part_size

    def is_full(self, length: int, created_ms: int, written_ms: int, now_ms: int) -> bool:
        return (
            self.on_every_commit
            or length >= self.part_size
            or now_ms - created_ms >= self.rollover_interval_ms
            or now_ms - written_ms >= self.inactivity_interval_ms
        )


class BucketContext:
    """What the bucket of a record may depend on besides the record (Flink: ``BucketAssigner.Context``). One
    object serves all records of an epoch, so do not keep a reference."""

    __slots__ = ("_now_ms", "_timestamp")

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._timestamp: int | None = None

    def timestamp(self) -> int | None:
        """Return the event time of the record in epoch milliseconds, or None."""
        return None if self._timestamp == _NO_TIMESTAMP else self._timestamp

    def current_processing_time(self) -> int:
        """Return the processing time of the epoch, in epoch milliseconds."""
        return self._now_ms


class Buckets(Protocol):
    """Chooses the directory of each record, relative to the base path; "" is the base path itself."""

    def bucket_of(self, value: Any, context: BucketContext) -> str: ...


@dataclass(frozen=True, slots=True)
class BasePathBuckets:
    """Puts all records into the base path."""

    def bucket_of(self, value: Any, context: BucketContext) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class CustomBuckets:
    """Calls ``function(value, context)`` for the directory."""

    function: Callable[[Any, BucketContext], str]

    def bucket_of(self, value: Any, context: BucketContext) -> str:
        return self.function(value, context)


def check_bucket(bucket: Any) -> str:
    if not isinstance(bucket, str) or bucket.startswith("/") or ".." in bucket.split("/"):
        raise ConfigurationError(
            f"not a bucket of a file sink: {bucket!r}",
            hint="a bucket is a relative path below the base path",
        )
    return bucket


_PATTERN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_FIELDS: Final[dict[str, str]] = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MM": "%m",
    "MMM": "%b",
    "dd": "%d",
    "DDD": "%j",
    "HH": "%H",
    "hh": "%I",
    "mm": "%M",
    "ss": "%S",
    "SSSSSS": "%f",
    "a": "%p",
    "EEE": "%a",
    "Z": "%z",
}


@dataclass(frozen=True, slots=True)
class DateTimeBuckets:
    """Uses a directory per hour, or per unit of the pattern, of the processing time of an epoch.

    ``pattern`` is a pattern of Java's DateTimeFormatter; if ``zone`` is None the driver's time zone is used.
    """

    pattern: str = "yyyy-MM-dd--HH"
    zone: str | None = None

    def __post_init__(self) -> None:
        strftime_pattern(self.pattern)
        _zone(self.zone)

    def bucket_of(self, value: Any, context: BucketContext) -> str:
        return self.bucket_at(context.current_processing_time())

    def bucket_at(self, now_ms: int) -> str:
        moment = datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC).astimezone(_zone(self.zone))
        return moment.strftime(strftime_pattern(self.pattern))


def _zone(name: str | None) -> datetime.tzinfo | None:
    if name is None:
        return None
    match = re.fullmatch(r"(?:GMT|UTC)?([+-])(\d{1,2}):?(\d{2})?", name)
    if match:
        delta = datetime.timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return datetime.timezone(delta if match[1] == "+" else -delta)
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigurationError(f"unknown time zone: {name!r}") from error


def strftime_pattern(pattern: str) -> str:
    """Convert a pattern of Java's DateTimeFormatter to one for ``strftime`` and ``strptime``."""
    parts, at = [], 0
    while at < len(pattern):
        match = _PATTERN.match(pattern, at)
        if match is None:
            raise ConfigurationError(f"not a date pattern: {pattern!r}", detail="a quote is not closed")
        text = match[0]
        if match[1] is not None:
            parts.append((match[1].replace("''", "'") or "'").replace("%", "%%"))
        elif match[2] is None:
            parts.append(text.replace("%", "%%"))
        elif text in _FIELDS:
            parts.append(_FIELDS[text])
        else:
            raise ConfigurationError(
                f"the date pattern {pattern!r} has a field that is not supported: {text}",
                hint=f"supported are {', '.join(_FIELDS)}",
            )
        at = match.end()
    return "".join(parts)
