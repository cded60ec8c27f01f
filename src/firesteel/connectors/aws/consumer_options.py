"""Flink's properties of a Kinesis consumer (Flink: ``ConsumerConfigConstants``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Final

from firesteel.common.errors import ConfigurationError, UnsupportedFeatureError
from firesteel.common.logs import logger
from firesteel.connectors.aws.client import FLINKS_BACKOFF, Backoff, check_properties
from firesteel.connectors.aws.shards import Start, StartKind

log = logger(__name__)

INITIAL_POSITION: Final = "flink.stream.initpos"
INITIAL_TIMESTAMP: Final = "flink.stream.initpos.timestamp"
TIMESTAMP_FORMAT: Final = "flink.stream.initpos.timestamp.format"
FOR_NEW_STREAMS: Final = "flink.stream.initpos-for-new-streams"
PUBLISHER: Final = "flink.stream.recordpublisher"
RESET_STREAMS: Final = "flink.stream.initpos-streams"
MAX_COUNT: Final = "flink.shard.getrecords.maxrecordcount"
INTERVAL: Final = "flink.shard.getrecords.intervalmillis"
DISCOVERY: Final = "flink.shard.discovery.intervalmillis"
IDLE: Final = "flink.shard.idle.interval"
LOOKAHEAD: Final = "flink.watermark.lookahead.millis"
SYNC: Final = "flink.watermark.sync.interval"
_BACKOFF: Final = "flink.shard.getrecords.backoff."

_ISO: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
_MAX_INTERVAL: Final = 300_000  # how long an iterator is valid

_OURS: Final = frozenset(
    {
        *(INITIAL_POSITION, INITIAL_TIMESTAMP, TIMESTAMP_FORMAT, FOR_NEW_STREAMS, PUBLISHER, RESET_STREAMS),
        *(MAX_COUNT, INTERVAL, DISCOVERY, IDLE, LOOKAHEAD, SYNC),
        *(_BACKOFF + "base", _BACKOFF + "max", _BACKOFF + "expconst"),
    }
)
# How often and how long Flink retries and backs off. Here a retriable request is retried for up to a minute,
# and epochs have budgets.
_WITHOUT_EFFECT: Final = frozenset(
    {
        *(f"flink.list.shards.{name}" for name in ("maxretries", "backoff.base", "backoff.max")),
        *(f"flink.stream.describe.{name}" for name in ("maxretries", "backoff.base", "backoff.max")),
        *(f"flink.shard.getiterator.{name}" for name in ("maxretries", "backoff.base", "backoff.max")),
        "flink.list.shards.backoff.expconst",
        "flink.stream.describe.backoff.expconst",
        "flink.shard.getiterator.backoff.expconst",
        "flink.shard.getrecords.maxretries",
        "flink.shard.adaptivereads",
        "flink.watermark.sync.queue.capacity",
    }
)


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """Parsed properties of a consumer; times in milliseconds.

    :param interval_ms: pause between requests of the driver to a shard that has been read to its end. Driver
        and tasks share the five requests per second that a shard allows.
    :param polled_interval_ms: the same where tasks follow the shards and nobody looks ahead: Flink's default.
    :param idle_ms: time without records after which a shard does not hold back the watermark; None: it always
        does.
    """

    start: Start
    max_count: int = 10_000
    interval_ms: int = 400
    polled_interval_ms: int = 200
    discovery_ms: int = 10_000
    idle_ms: int | None = None
    lookahead_ms: int = 0
    sync_ms: int = 30_000
    starts_new_streams: bool = False
    backoff: Backoff = FLINKS_BACKOFF


def parse_options(properties: Mapping[str, str]) -> ConsumerOptions:
    """:raises ConfigurationError: a property is unknown, or its value is invalid."""
    check_properties(properties, *_OURS, *_WITHOUT_EFFECT)
    for name in properties.keys() & _WITHOUT_EFFECT:
        _say_once(name)
    publisher = properties.get(PUBLISHER, "POLLING")
    if publisher != "POLLING" or properties.get(RESET_STREAMS):
        raise UnsupportedFeatureError(
            "Shards are polled, and a job goes on where its state says.",
            detail=f"{PUBLISHER}={publisher}, {RESET_STREAMS}={properties.get(RESET_STREAMS, '')}",
            hint=f"leave {PUBLISHER} at POLLING, and begin without state to read a stream again",
        )
    idle = _number(properties, IDLE, -1, -1)
    return ConsumerOptions(
        start=_start(properties),
        max_count=_number(properties, MAX_COUNT, 10_000, 1, 10_000),
        interval_ms=_number(properties, INTERVAL, 400, 0, _MAX_INTERVAL),
        polled_interval_ms=_number(properties, INTERVAL, 200, 0, _MAX_INTERVAL),
        discovery_ms=_number(properties, DISCOVERY, 10_000, 0),
        idle_ms=idle if idle > 0 else None,
        lookahead_ms=_number(properties, LOOKAHEAD, 0, 0),
        sync_ms=_number(properties, SYNC, 30_000, 1),
        starts_new_streams=properties.get(FOR_NEW_STREAMS, "false").lower() == "true",
        backoff=Backoff(
            _number(properties, _BACKOFF + "base", 300, 1),
            _number(properties, _BACKOFF + "max", 1000, 1),
            _factor(properties, _BACKOFF + "expconst"),
        ),
    )


def _start(properties: Mapping[str, str]) -> Start:
    text = properties.get(INITIAL_POSITION, "LATEST")
    if text not in StartKind.__members__:
        raise ConfigurationError(
            f"{INITIAL_POSITION} is LATEST, TRIM_HORIZON or AT_TIMESTAMP.", detail=f"got {text!r}"
        )
    kind = StartKind[text]
    if kind is not StartKind.AT_TIMESTAMP:
        return Start(kind)
    if INITIAL_TIMESTAMP not in properties:
        raise ConfigurationError(
            f"{INITIAL_POSITION}=AT_TIMESTAMP needs a timestamp.", hint=f"set {INITIAL_TIMESTAMP}"
        )
    return Start(kind, _instant_ms(properties[INITIAL_TIMESTAMP], properties.get(TIMESTAMP_FORMAT, _ISO)))


def _instant_ms(text: str, pattern: str) -> int:
    """Parse a time in the pattern, or in seconds since the epoch with an optional fraction."""
    try:
        found = datetime.strptime(text, _strptime_format(pattern))
        return round((found if found.tzinfo else found.astimezone(UTC)).timestamp() * 1000)
    except ValueError:
        pass
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e12:
        raise ConfigurationError(
            f"{INITIAL_TIMESTAMP} is neither a time nor a number of seconds since 1970.",
            detail=f"{text!r} does not fit {pattern!r}",
            hint="as in 2026-04-04T19:58:46.480-00:00 or 1459799926.480",
        )
    return round(seconds * 1000)


_LETTERS: Final = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "DDD": "%j",
    "HH": "%H",
    "hh": "%I",
    "a": "%p",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%f",
    "XXX": "%z",
    "XX": "%z",
    "X": "%z",
    "Z": "%z",
    "z": "%Z",
}


def _strptime_format(pattern: str) -> str:
    """Convert a pattern of Java's ``SimpleDateFormat`` to Python's syntax."""
    parts = []
    for quoted, letters, other in _tokens(pattern):
        if letters and letters not in _LETTERS:
            raise ConfigurationError(
                f"{TIMESTAMP_FORMAT} has letters that are not known here.",
                detail=f"{letters!r} in {pattern!r}",
                hint=f"known are {', '.join(_LETTERS)}",
            )
        parts.append(_LETTERS[letters] if letters else (quoted or other).replace("%", "%%"))
    return "".join(parts)


def _tokens(pattern: str) -> list[tuple[str, str, str]]:
    """Return a list of (quoted, letters, other), exactly one of which is not empty."""
    return [
        (m["quoted"] or "", m["letters"] or "", m["other"] or "")
        for m in re.finditer(r"'(?P<quoted>[^']*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>.)", pattern)
    ]


def _number(
    properties: Mapping[str, str], name: str, default: int, least: int, most: int | None = None
) -> int:
    text = properties.get(name, str(default))
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ConfigurationError(f"{name} is a whole number, {bounds}.", detail=f"got {text!r}")
    return value


def _factor(properties: Mapping[str, str], name: str) -> float:
    text = properties.get(name, "1.5")
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{name} is a number.", detail=f"got {text!r}") from None


@cache
def _say_once(name: str) -> None:
    log.warning("property has no effect on a Kinesis source name=%s", name)
