"""Where to start and stop reading a partition (Flink: ``StartCursor``, ``StopCursor``)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from firesteel.storage.records import record


@record("pulsar place")
class Place(NamedTuple):
    """The position of a message in its partition; places are ordered. ``batch`` is the index of the message
    in its entry; a place with -1 precedes all of them."""

    ledger: int
    entry: int
    batch: int

    @property
    def before(self) -> Place:
        return self._replace(batch=self.batch - 1)


EARLIEST: Final = Place(-1, -1, -1)


def place_of(message_id: Any) -> Place:
    """Return the place of a message id of the client."""
    entry = message_id.entry_id()
    return Place(message_id.ledger_id(), entry, -1 if entry < 0 else max(0, message_id.batch_index()))


@record("pulsar cursor kind")
class At(enum.Enum):
    """What a cursor is based on."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NEVER = "never"
    MESSAGE = "message"
    EVENT_TIME = "event time"
    PUBLISH_TIME = "publish time"


@record("pulsar cursor")
@dataclass(frozen=True, slots=True)
class Cursor:
    """:param place: of ``MESSAGE``: the last one before the start, or the last one that is read before the
        stop.
    :param time_ms: of a time: messages from then on are read, or no longer read.
    """

    at: At
    place: Place = EARLIEST
    time_ms: int = 0

    def stops(self, message: Any) -> bool:
        """Return true if reading stops before this message."""
        if self.at is At.EVENT_TIME:
            return bool(message.event_timestamp() >= self.time_ms)
        return self.at is At.PUBLISH_TIME and bool(message.publish_timestamp() >= self.time_ms)


FROM_EARLIEST: Final = Cursor(At.EARLIEST)
NEVER: Final = Cursor(At.NEVER)
