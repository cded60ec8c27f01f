"""Follows a partition for as long as a task lives."""

from __future__ import annotations

from typing import Final

from firesteel.connectors._followed import Feed, Message
from firesteel.connectors.pulsar.client import Admin, PulsarSettings
from firesteel.connectors.pulsar.cursors import Place
from firesteel.connectors.pulsar.reader import PartitionSplit, Scan
from firesteel.program.sources import Split

_WAIT_MS: Final = 200  # for a message, after which it is seen whether the thread is to end


def follow(
    settings: PulsarSettings, name: str | None, split: Split, position: Place | None, feed: Feed
) -> None:
    """A position is the place of the last message that was read."""
    payload: PartitionSplit = split.payload
    scan = Scan(settings, name, split)
    admin = Admin(settings)
    try:
        if position is None:
            scan.go_to(payload.start, payload.seek_ms)
        else:
            scan.go_to(position, None)
        while not feed.stopped.is_set():
            if scan.has_ended:
                feed.end(scan.position)
                return
            message = scan.follow(_WAIT_MS)
            if message is not None:
                feed.put([Message(message, len(message.data()), scan.position)])
            elif not scan.has_ended:
                _see_end(scan, payload, admin)
    finally:
        scan.close()


def _see_end(scan: Scan, split: PartitionSplit, admin: Admin) -> None:
    """Nothing came. Where a split ends there need not be a message that can be read, so that no message shows
    that the end has come."""
    stop = split.stop
    if stop is not None and not scan.has_more() and admin.last(split.partition) >= stop:
        scan.position = stop
