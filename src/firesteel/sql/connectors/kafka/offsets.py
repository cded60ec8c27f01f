"""``scan.startup.*`` and ``scan.bounded.*``: where a topic is read from and to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from firesteel.connectors.kafka.offsets import EARLIEST, Kind, OffsetsInitializer, Partition, Reset
from firesteel.sql.connectors.options import Option, TableOptions, integer, text, word

__all__ = ["BOUNDED_OPTIONS", "STARTUP_OPTIONS", "starting", "stopping"]

_STARTUP: Final = "scan.startup."
_BOUNDED: Final = "scan.bounded."


def _options(prefix: str, modes: tuple[str, ...], default: str) -> tuple[Option, ...]:
    return (
        word(f"{prefix}mode", modes, default),
        text(f"{prefix}specific-offsets"),
        integer(f"{prefix}timestamp-millis"),
    )


STARTUP_OPTIONS: Final = _options(
    _STARTUP,
    ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
    "group-offsets",
)
BOUNDED_OPTIONS: Final = _options(
    _BOUNDED, ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"), "unbounded"
)
_RESETS: Final = {
    "earliest": Reset.EARLIEST,
    "latest": Reset.LATEST,
    "none": Reset.NONE,
}
_OFFSET: Final = re.compile(r"\s*partition\s*:\s*(\d+)\s*,\s*offset\s*:\s*(\d+)\s*")
_LATEST: Final = OffsetsInitializer(Kind.LATEST, Reset.LATEST)


def starting(
    options: TableOptions, properties: Mapping[str, str], topics: tuple[str, ...]
) -> OffsetsInitializer:
    """Return where reading starts.

    :raises TableException: an option is missing, or does not go with the mode.
    """
    mode = options[f"{_STARTUP}mode"]
    if mode == "earliest-offset":
        return EARLIEST
    if mode == "group-offsets":
        reset = properties.get("auto.offset.reset", "none").lower()
        if reset not in _RESETS:
            raise options.error("properties.auto.offset.reset", f"{reset!r} is none of {', '.join(_RESETS)}")
        return OffsetsInitializer(Kind.COMMITTED, _RESETS[reset])
    return _elsewhere(options, _STARTUP, mode, topics)


def stopping(options: TableOptions, topics: tuple[str, ...]) -> OffsetsInitializer | None:
    """Return where reading ends, None if it does not."""
    mode = options[f"{_BOUNDED}mode"]
    if mode == "unbounded":
        return None
    if mode == "group-offsets":
        return OffsetsInitializer(Kind.COMMITTED, Reset.NONE)
    return _elsewhere(options, _BOUNDED, mode, topics)


def _elsewhere(options: TableOptions, prefix: str, mode: str, topics: tuple[str, ...]) -> OffsetsInitializer:
    if mode == "latest-offset":
        return _LATEST
    key = f"{prefix}timestamp-millis" if mode == "timestamp" else f"{prefix}specific-offsets"
    if options[key] is None:
        raise options.error(
            f"{prefix}mode", f"'{key}' is required in '{mode}' mode but missing", f"set '{key}'"
        )
    if mode == "timestamp":
        return OffsetsInitializer(Kind.TIMESTAMP, Reset.LATEST, timestamp=options[key])
    return OffsetsInitializer(Kind.OFFSETS, Reset.EARLIEST, offsets=_specific(options, key, topics))


def _specific(options: TableOptions, key: str, topics: tuple[str, ...]) -> dict[Partition, int]:
    if len(topics) != 1:
        raise options.error(
            key, "specific offsets are only supported for a single topic", "name one topic in 'topic'"
        )
    found: dict[Partition, int] = {}
    for part in options[key].strip().strip(";").split(";"):
        match = _OFFSET.fullmatch(part)
        if match is None:
            raise options.error(
                key,
                f"{part!r} is not an offset of a partition",
                "write partition:0,offset:42;partition:1,offset:300",
            )
        found[Partition(topics[0], int(match[1]))] = int(match[2])
    return found
