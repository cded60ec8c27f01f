"""Reads ranges of message ids in a task, directly from the brokers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from firesteel.common.errors import ConnectorError
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors._followed import FollowedSplits
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.pulsar.client import PulsarSettings, client, load_client
from firesteel.connectors.pulsar.cursors import Cursor, Place, place_of
from firesteel.program.bad_records import bad_record, message_decoder
from firesteel.program.sources import Chunk, Chunks, PollingReader, ReadRange, SourceReader, Split
from firesteel.storage.records import record

_CHUNK: Final = 1000
_POLL_MS: Final = 100
_PATIENCE_S: Final = 30.0


@record("pulsar split")
@dataclass(frozen=True, slots=True)
class PartitionSplit:
    """A partition, read after ``start`` or from the publish time ``seek_ms`` on. It ends at ``stop`` if that
    is known beforehand, else as ``until`` says."""

    partition: str
    start: Place
    seek_ms: int | None
    stop: Place | None
    until: Cursor


class TopicReader(SourceReader):
    """Keeps one of the client's readers for each partition that is being read."""

    def __init__(
        self, settings: PulsarSettings, schema: DeserializationSchema, name: str | None = None
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._name = name

    def open(self) -> None:
        self._schema.open()
        self._decode = message_decoder(self._schema)
        self._scans = OpenFiles(partial(Scan, self._settings, self._name))

    def close(self) -> None:
        self._scans.close()

    polls = True

    def polling(self) -> PollingReader:
        from firesteel.connectors.pulsar.polling import follow

        return FollowedSplits("pulsar", partial(follow, self._settings, self._name), self._chunk)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._scans.read(range_, self._read)

    def _read(self, scan: Scan, range_: ReadRange) -> Chunks:
        split: PartitionSplit = range_.split.payload
        position = split.start if range_.position is None else range_.position
        scan.go_to(position, split.seek_ms if range_.position is None else None)
        records, room = range_.max_records, range_.max_bytes
        while records > 0 and room > 0:
            messages = scan.take(range_.stop, min(_CHUNK, records), room)
            records -= len(messages)
            room -= sum(len(message.data()) for message in messages)
            ended = scan.is_stopped or (split.stop is not None and scan.position >= split.stop)
            yield self._chunk(range_.split, messages, scan.position, ended)
            if ended or scan.position >= range_.stop:
                return

    def _chunk(self, split: Split, messages: list[Any], position: Place, ended: bool) -> Chunk:
        """Return the records of messages that end at a position."""
        decoded = self._decode([message.data() for message in messages])
        stamps = [message.event_timestamp() for message in messages]
        if decoded.origins is not None:
            stamps = [stamps[i] for i in decoded.origins]
        bad = [
            bad_record(
                {"partition": split.payload.partition, "message": str(messages[i].message_id())},
                messages[i].data(),
                error,
            )
            for i, error in decoded.bad
        ]
        return Chunk(decoded.values, stamps, position, ended, (), bad, decoded.ignored)


class Scan:
    """A reader of a partition. Continuing at ``position`` is free; any other position needs a new reader."""

    def __init__(self, settings: PulsarSettings, name: str | None, split: Split) -> None:
        self._settings = settings
        self._name = name
        self._split: PartitionSplit = split.payload
        self._reader: Any = None
        self._next: Any = None
        self.position = self._split.start
        self.is_stopped = False

    def go_to(self, position: Place, seek_ms: int | None) -> None:
        self.is_stopped = False
        if self._reader is not None and position == self.position and seek_ms is None:
            return
        self.close()
        pulsar = load_client()
        first = pulsar.MessageId(-1, *position)
        try:
            self._reader = client(self._settings).create_reader(
                self._split.partition,
                first,
                reader_name=self._name,
                start_message_id_inclusive=position.batch < 0,
            )
            if seek_ms is not None:
                self._reader.seek(seek_ms)
        except pulsar.PulsarException as error:
            raise self._failed(error) from error
        self.position = position

    def take(self, stop: Place, count: int, room: int) -> list[Any]:
        """Return at most ``count`` messages and about ``room`` bytes, none after ``stop``."""
        found: list[Any] = []
        while len(found) < count and room > 0 and self.position < stop:  # hot
            message = self._peek()
            if message is None:  # ``stop`` does not name a readable message
                self.position = stop
                break
            place = place_of(message.message_id())
            if place > self.position:
                if place > stop:
                    self.position = stop
                    break
                if self._split.until.stops(message):
                    self.is_stopped = True
                    break
                found.append(message)
                room -= len(message.data())
                self.position = place
            self._next = None
        return found

    def follow(self, wait_ms: int) -> Any:
        """Return the next message; None: there is none yet, or the split has ended before it."""
        pulsar, stop = load_client(), self._split.stop
        try:
            message = self._reader.read_next(wait_ms)
        except pulsar.Timeout:
            return None
        except pulsar.PulsarException as error:
            raise self._failed(error) from error
        place = place_of(message.message_id())
        if place <= self.position:
            return None
        if stop is not None and place > stop:
            self.position = stop
            return None
        if self._split.until.stops(message):
            self.is_stopped = True
            return None
        self.position = place
        return message

    def has_more(self) -> bool:
        """Return whether there is a message to read."""
        try:
            return bool(self._reader.has_message_available())
        except load_client().PulsarException as error:
            raise self._failed(error) from error

    @property
    def has_ended(self) -> bool:
        """Whether nothing of the split follows."""
        return self.is_stopped or (self._split.stop is not None and self.position >= self._split.stop)

    def _peek(self) -> Any:
        """Return the next message without consuming it; None if there is none."""
        pulsar = load_client()
        deadline = time.monotonic() + _PATIENCE_S
        while self._next is None:
            try:
                self._next = self._reader.read_next(_POLL_MS)
            except pulsar.Timeout as error:
                if not self._reader.has_message_available():
                    return None
                if time.monotonic() > deadline:
                    raise self._failed(error) from error
            except pulsar.PulsarException as error:
                raise self._failed(error) from error
        return self._next

    def _failed(self, error: Exception) -> ConnectorError:
        return ConnectorError(
            f"{self._split.partition} of Pulsar cannot be read.",
            detail=f"{type(error).__name__}: {error}; behind {tuple(self.position)}",
        )

    def close(self) -> None:
        reader, self._reader, self._next = self._reader, None, None
        if reader is not None:
            with contextlib.suppress(load_client().PulsarException):
                reader.close()
