"""What flows through a stream, as tests write it and read it: records, watermarks, idleness."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from firesteel.program.checks import WrongArgumentError, require_int
from firesteel.runtime.batch import (
    ACTIVE,
    END,
    IDLE,
    MAX_WATERMARK,
    MIN_WATERMARK,
    NO_TIMESTAMP,
    Batch,
    Mark,
)

__all__ = ["END_OF_TIME", "Event", "StreamRecord", "Watermark", "WatermarkStatus"]


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A record and its event time in epoch milliseconds; None: it has none (Flink: ``StreamRecord``)."""

    value: Any
    timestamp: int | None = None

    def __post_init__(self) -> None:
        if self.timestamp is not None:
            require_int(self.timestamp, "timestamp of a record", MIN_WATERMARK, MAX_WATERMARK)


@dataclass(frozen=True, slots=True)
class Watermark:
    """Event time has come to ``timestamp`` (Flink: ``Watermark``)."""

    timestamp: int

    def __post_init__(self) -> None:
        require_int(self.timestamp, "watermark", MIN_WATERMARK, MAX_WATERMARK)


#: The watermark at the end of the input (Flink: ``Watermark.MAX_WATERMARK``).
END_OF_TIME: Final = Watermark(MAX_WATERMARK)


class WatermarkStatus(enum.Enum):
    """Whether a stream takes part in the watermark (Flink: ``WatermarkStatus``)."""

    IDLE = IDLE
    ACTIVE = ACTIVE


Event: TypeAlias = StreamRecord | Watermark | WatermarkStatus


def to_batch(events: Iterable[Event]) -> Batch:
    """The records and, in place between them, the marks of ``events``."""
    values: list[Any] = []
    stamps: list[int] = []
    marks: list[tuple[int, Mark]] = []
    for event in events:
        match event:
            case StreamRecord(value, timestamp):
                values.append(value)
                stamps.append(NO_TIMESTAMP if timestamp is None else timestamp)
            case Watermark(timestamp):
                marks.append((len(values), timestamp))
            case WatermarkStatus():
                marks.append((len(values), event.value))
            case _:
                raise not_an_event(event)
    return Batch(values, stamps if any(t != NO_TIMESTAMP for t in stamps) else None, marks)


def from_batch(batch: Batch) -> Iterator[Event]:
    """The events of a batch; the end of the input is ``END_OF_TIME``."""
    stamps = batch.timestamps
    for start, stop, mark in batch.segments():
        for i in range(start, stop):
            stamp = NO_TIMESTAMP if stamps is None else stamps[i]
            yield StreamRecord(batch.values[i], None if stamp == NO_TIMESTAMP else stamp)
        match mark:
            case None:
                continue
            case int():
                yield Watermark(mark)
            case str() if mark == END:
                yield END_OF_TIME
            case _:
                yield WatermarkStatus(mark)


def not_an_event(event: Any) -> WrongArgumentError:
    return WrongArgumentError(
        "A script is made of records, watermarks and their status.",
        detail=f"got {event!r}",
        hint="StreamRecord(value, timestamp), Watermark(timestamp), WatermarkStatus.IDLE or .ACTIVE, "
        "and in a ScriptedSource WaitUntil(processing_time)",
    )
