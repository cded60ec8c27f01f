"""Splits that are complete when they are announced, read in real-time mode as in epochs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.program.sources import Chunk, PollingReader, ReadRange, SourceReader, Split

_CHUNK: Final = 1000  # records, about, that a reader gives at once
_RECORDS: Final = 100_000  # of a range, after which another one is begun
_BYTES: Final = 64 << 20
_AT_ONCE: Final = 16  # each may hold a file open


@dataclass(slots=True)
class _Reading:
    """A split, how far it was read, and the range that is being read."""

    split: Split
    position: Any
    chunks: Iterator[Chunk] | None = None


class WholeSplits(PollingReader):
    """Reads some splits at a time with *reader*, a chunk of each in turn."""

    def __init__(self, reader: SourceReader) -> None:
        self._reader = reader
        self._later: deque[_Reading] = deque()
        self._now: deque[_Reading] = deque()

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        self._later += (_Reading(split, position) for split, position in splits)

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        while self._later and len(self._now) < _AT_ONCE + len(held):
            self._now.append(self._later.popleft())
        for _ in range(2 * len(self._now)):  # the first time round a range may be over
            reading = self._now[0]
            self._now.rotate(-1)
            if reading.split.id in held:
                continue
            chunk = self._next_chunk(reading, max_records)
            if chunk is not None:
                if chunk.end:
                    self._now.remove(reading)
                return [(reading.split.id, chunk)]
        time.sleep(wait_ms / 1000)
        return ()

    def _next_chunk(self, reading: _Reading, max_records: int) -> Chunk | None:
        """None: the range is over; the next call begins another."""
        if max_records < _CHUNK:  # who follows is slow: a range of its own for a few records
            reading.chunks = None
        if reading.chunks is None:
            records = max_records if max_records < _CHUNK else _RECORDS
            range_ = ReadRange(reading.split, reading.position, records, _BYTES)
            reading.chunks = iter(self._reader.read(range_))
        chunk = next(reading.chunks, None)
        if chunk is None:
            reading.chunks = None
        else:
            reading.position = chunk.position
        return chunk

    def close(self) -> None:
        self._later.clear()
        self._now.clear()
