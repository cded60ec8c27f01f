"""Source of lines of text from a socket (Flink: ``socketTextStream``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.connectors.socket.log import LogPart, Receiver, SegmentLog
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.filesystems import resolve

_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class SocketTextSource(Source):
    """Reads texts separated by ``delimiter`` from a server. A CR before LF is removed, as in Flink.

    Received data is written to a log of the job before it is read, so that an epoch can be read again. Data
    that is not in the log yet is lost if the driver fails. When the server closes the connection, it is
    reopened at most ``max_retries`` times in total (-1: no limit), after ``retry_interval_ms`` each. Then the
    source ends, with the text after the last delimiter as its last record.
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
        return _SocketEnumerator(self, context.work_dir)

    def create_reader(self) -> SourceReader:
        return _SocketReader(self.delimiter)


class _SocketEnumerator(SplitEnumerator):
    def __init__(self, source: SocketTextSource, work_dir: str) -> None:
        self._source = source
        self._receiver = Receiver(
            source.host,
            source.port,
            source.delimiter.encode(),
            source.max_retries,
            source.retry_interval_ms,
        )
        self._log = SegmentLog(work_dir)
        self._earlier: list[LogPart] = []  # written before a restore
        self._reported = False

    def open(self) -> None:
        try:
            self._receiver.start()
        except OSError as error:
            raise self._lost(error) from error

    def _lost(self, error: OSError) -> FiresteelError:
        return FiresteelError(
            f"no connection to {self._source.host}:{self._source.port}",
            detail=str(error),
            hint="start the server first, or raise max_retries",
        )

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
            raise self._lost(self._receiver.error) from self._receiver.error
        stop = _Stop(tuple(self._parts()), ended)
        if not ended and _at_end(position or _START, stop):
            return None
        return ReadRange(split, position, max_records, max_bytes, stop)

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
    left = stop.parts[part].segments - segment + sum(p.segments for p in stop.parts[part + 1 :])
    return left <= 0


class _SocketReader(SourceReader):
    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

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
            texts = self._texts(data[offset:])
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
        if stop.final and _at_end((part, segment, offset), stop):
            yield Chunk([], None, (part, segment, offset), True)

    def _skip(self, data: bytes, offset: int, count: int) -> int:
        """Return the offset ``count`` records later."""
        return len(data) - len(data[offset:].split(self._delimiter.encode(), count)[-1])

    def _texts(self, data: bytes) -> list[str]:
        texts = data.decode("utf-8", "replace").split(self._delimiter)
        if not texts[-1]:
            texts.pop()
        if self._delimiter == "\n":
            texts = [text.removesuffix("\r") for text in texts]
        return texts
