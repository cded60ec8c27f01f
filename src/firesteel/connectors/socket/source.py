"""Source of lines of text from a socket (Flink: ``socketTextStream``)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.connectors.socket.log import GrowingLog, LogPart, Receiver, SegmentLog
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    PollingReader,
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.filesystems import resolve

_CHUNK: Final = 4096
_PIECE_BYTES: Final = 256 << 10  # received at once by a task that polls, about
_ALL: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class SocketTextSource(Source):
    """Reads texts separated by ``delimiter`` from a server. A CR before LF is removed, as in Flink.

    Received data is written to a log of the job before it is read, so that it can be read again. Data that is
    not in the log yet is lost if the driver, in real time the task, fails. When the server closes the
    connection, it is reopened at most ``max_retries`` times in total (-1: no limit), after
    ``retry_interval_ms`` each. Then the source ends, with the text after the last delimiter as its last
    record.
    """

    host: str
    port: int
    delimiter: str = "\n"
    max_retries: int = 0
    retry_interval_ms: int = 500

    def __post_init__(self) -> None:
        if not self.host:
            raise ConfigurationError("a socket source needs a host")
        if not 0 < self.port < 65536:
            raise ConfigurationError(f"not a port: {self.port!r}")
        if not self.delimiter:
            raise ConfigurationError("the delimiter of a socket source is empty")
        if self.max_retries < -1:
            raise ConfigurationError(f"max_retries of a socket source is below -1: {self.max_retries}")

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def max_parallelism(self) -> int | None:
        return 1

    def promise(self, checkpointing: bool) -> SourcePromise:
        """What is sent while no driver listens is lost."""
        return SourcePromise.AT_MOST_ONCE

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _SocketEnumerator(self, context)

    def create_reader(self) -> SourceReader:
        return _SocketReader(self)

    def receiver(self) -> Receiver:
        """Return what receives the data, not connected yet."""
        delimiter = self.delimiter.encode()
        return Receiver(self.host, self.port, delimiter, self.max_retries, self.retry_interval_ms)

    def connect(self, receiver: Receiver) -> None:
        """
        :raises FiresteelError: the server cannot be reached.
        """
        try:
            receiver.start()
        except OSError as error:
            raise self.lost(error) from error

    def lost(self, error: OSError) -> FiresteelError:
        """Return what is raised when there is no connection, for good."""
        return FiresteelError(
            f"no connection to {self.host}:{self.port}",
            detail=str(error),
            hint="start the server first, or raise max_retries",
        )

    def texts(self, data: bytes) -> list[str]:
        """Return the records in data of the log."""
        texts = data.decode("utf-8", "replace").split(self.delimiter)
        texts.pop()  # behind the last delimiter: nothing, or what a writer that was killed has left
        if self.delimiter == "\n":
            texts = [text.removesuffix("\r") for text in texts]
        return texts


class _SocketEnumerator(SplitEnumerator):
    """Receives the data, unless a task does so that polls: then it says where the task is to log them."""

    def __init__(self, source: SocketTextSource, context: EnumeratorContext) -> None:
        self._receiver = source.receiver()
        self._source = source
        self._work_dir = context.work_dir
        self._is_polled = context.polled
        self._log = SegmentLog(context.work_dir)
        self._earlier: list[LogPart] = []  # written before a restore
        self._reported = False
        self._is_handed_out = False

    def open(self) -> None:
        if not self._is_polled:
            self._source.connect(self._receiver)

    def discover(self, now_ms: int) -> list[Split]:
        if self._reported:
            return []
        self._reported = True
        return [Split("socket")]

    @property
    def finished(self) -> bool:
        return self._reported

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        data, ended = self._receiver.take()
        if data:
            self._log.append(data)
        if ended and self._receiver.error is not None:
            raise self._source.lost(self._receiver.error) from self._receiver.error
        stop = _Stop(tuple(self._parts()), ended)
        if not ended and _at_end(position or _START, stop):
            return None
        return ReadRange(split, position, max_records, max_bytes, stop)

    def hand_out(self, split: Split, position: Any) -> Split:
        if self._is_handed_out:  # the task before has written to the part
            self._earlier.append(self._log.part.with_all_segments())
            self._log = SegmentLog(self._work_dir)
        self._is_handed_out = True
        return Split(split.id, tuple(self._parts()))

    def _parts(self) -> list[LogPart]:
        return [*self._earlier, self._log.part]

    def snapshot(self) -> Any:
        return {"reported": self._reported, "parts": self._parts()}

    def restore(self, state: Any) -> None:
        self._reported = state["reported"]
        self._earlier = [part.with_all_segments() for part in state["parts"]]

    def close(self) -> None:
        self._receiver.close()


@dataclass(frozen=True, slots=True)
class _Stop:
    """The end of the log when the range was planned; ``final``: nothing follows."""

    parts: tuple[LogPart, ...]
    final: bool


# (part of the log, segment, offset of a record in it); segments consist of whole records.
_Position = tuple[int, int, int]
_START: Final[_Position] = (0, 0, 0)


def _at_end(position: _Position, stop: _Stop) -> bool:
    part, segment, _ = position
    # The files of a part that was read may be gone, with the job that wrote them.
    left = max(0, stop.parts[part].segments - segment) + sum(p.segments for p in stop.parts[part + 1 :])
    return left <= 0


class _SocketReader(SourceReader):
    polls = True

    def __init__(self, source: SocketTextSource) -> None:
        self._source = source
        self._delimiter = source.delimiter

    def polling(self) -> PollingReader:
        return _SocketPolling(self._source, self)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        stop: _Stop = range_.stop
        part, segment, offset = range_.position or _START
        records, room = range_.max_records, range_.max_bytes
        while records > 0 and room > 0:
            if segment >= stop.parts[part].segments:
                if part + 1 == len(stop.parts):
                    break
                part, segment, offset = part + 1, 0, 0
                continue
            path = stop.parts[part].path_of(segment)
            storage, inner = resolve(path)
            with storage.open_input(inner) as file:
                data = file.read()
            room -= len(data) - offset
            texts = self._source.texts(data[offset:])
            done, count = 0, min(len(texts), records)
            while done < count:
                take = min(_CHUNK, count - done)
                values = texts[done : done + take]
                done += take
                if done == len(texts):
                    segment, offset = segment + 1, 0
                else:
                    offset = self._skip(data, offset, take)
                yield Chunk(values, None, (part, segment, offset), False)
            records -= count
            if not texts:
                segment, offset = segment + 1, 0
        ends = stop.final and _at_end((part, segment, offset), stop)
        if ends or records == range_.max_records:
            yield Chunk([], None, (part, segment, offset), ends)

    def _skip(self, data: bytes, offset: int, count: int) -> int:
        """Return the offset ``count`` records later."""
        return len(data) - len(data[offset:].split(self._delimiter.encode(), count)[-1])


class _SocketPolling(PollingReader):
    """Receives the data in the task. It logs them before it reads them, as the driver does otherwise, so a
    position is a place in the log, and after a failure reading goes on there."""

    def __init__(self, source: SocketTextSource, reader: SourceReader) -> None:
        self._source = source
        self._reader = reader
        self._delimiter = source.delimiter.encode()
        self._receiver = source.receiver()
        self._splits: list[Split] = []  # none before it is known, and when it has ended
        self._logged: Iterator[Chunk] = iter(())  # by earlier tasks, and not read yet
        self._part = 0  # of the log, which this task writes
        self._log: GrowingLog | None = None
        self._place = 0, 0  # in the part, of the records that follow
        self._records: deque[bytes] = deque()  # that are logged, and not read yet

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        for split, position in splits:
            parts: tuple[LogPart, ...] = split.payload
            self._splits.append(split)
            self._part = len(parts) - 1
            self._log = GrowingLog(parts[-1])
            logged = ReadRange(split, position, _ALL, _ALL, _Stop(parts, final=False))
            self._logged = self._reader.read(logged)
            self._source.connect(self._receiver)

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        if not self._splits or self._splits[0].id in held:
            time.sleep(wait_ms / 1000)
            return ()
        chunk = next(self._logged, None) or self._received(max_records, wait_ms)
        if chunk is None:
            return ()
        return [((self._splits.pop() if chunk.end else self._splits[0]).id, chunk)]

    def _received(self, max_records: int, wait_ms: float) -> Chunk | None:
        if not self._records:
            data, ended = self._receiver.take(_PIECE_BYTES, wait_ms / 1000)
            if not data:
                return self._at_end() if ended else None
            assert self._log is not None
            self._place = self._log.append(data)
            self._records.extend(data.split(self._delimiter)[:-1])
        count = min(max_records, _CHUNK, len(self._records))
        taken = [self._records.popleft() for _ in range(count)]
        data = self._delimiter.join((*taken, b""))
        segment, offset = self._place
        self._place = segment, offset + len(data)
        return Chunk(self._source.texts(data), None, (self._part, *self._place))

    def end_epoch(self) -> Mapping[str, Any]:
        """What follows goes to another file of the log, so that nobody who goes on from here needs this one:
        it goes with the job."""
        segment, offset = self._place
        if not self._splits or self._records or not offset or self._log is None:
            return {}
        self._log.close()
        self._place = segment + 1, 0
        return {self._splits[0].id: (self._part, *self._place)}

    def _at_end(self) -> Chunk:
        if self._receiver.error is not None:
            raise self._source.lost(self._receiver.error) from self._receiver.error
        return Chunk([], None, (self._part, *self._place), end=True)

    def close(self) -> None:
        self._receiver.close()
        if self._log is not None:
            self._log.close()
