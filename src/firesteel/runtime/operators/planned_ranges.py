"""Ranges that the driver has planned, read by a task that goes on from epoch to epoch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from firesteel.program.sources import Chunk, PollingReader, ReadRange, SourceReader, Split

_CHUNK: Final = 1000  # records, about, that a reader gives at once
_RECORDS: Final = 100_000  # of a part of a range, after which another one is begun
_BYTES: Final = 64 << 20
_AT_ONCE: Final = 16  # each may hold a file open


class ReadSoFar(NamedTuple):
    """Of a split.

    :param ranges: how many of its ranges are over.
    :param position: behind the last one of them.
    :param ended: nothing follows.
    """

    ranges: int
    position: Any
    ended: bool


@dataclass(slots=True, eq=False)
class _Reading:
    """A range, how far it was read, and the part of it that is being read."""

    range: ReadRange
    position: Any
    left: int
    chunks: Iterator[Chunk] | None = None
    part_records: int = 0
    part_began_at: Any = None


class PlannedRanges(PollingReader):
    """Reads some ranges at a time with *reader*, a chunk of each in turn. A split has one of them at most.

    :param side_by_side: ranges that are ``in_turn``, too.
    """

    def __init__(self, reader: SourceReader, side_by_side: bool = False) -> None:
        self._reader = reader
        self._side_by_side = side_by_side
        self._begun: str | None = None  # the split that is to be read to its end before another is begun
        self._later: deque[_Reading] = deque()
        self._now: deque[_Reading] = deque()
        #: By split, of those that have a range that is over.
        self.read_so_far: dict[str, ReadSoFar] = {}
        #: How many ranges of all splits are over.
        self.over = 0

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        """What is read of them comes by ``add_ranges``."""

    def add_ranges(self, ranges: Sequence[ReadRange]) -> None:
        self._later += (_Reading(r, r.position, r.max_records) for r in ranges)

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        while len(self._now) < _AT_ONCE + len(held) and (following := self._following()) is not None:
            self._now.append(following)
        for _ in range(2 * len(self._now)):  # the first time round a part may be over
            if not self._now:
                break
            reading = self._now[0]
            self._now.rotate(-1)
            if reading.range.split.id in held:
                continue
            chunk = self._next_chunk(reading, max_records)
            if chunk is not None:
                return [(reading.range.split.id, chunk)]
        time.sleep(wait_ms / 1000)
        return ()

    def _following(self) -> _Reading | None:
        """The range that is to be begun now, if there is one."""
        if self._begun is not None:
            # Its next range may have been planned after those of others.
            following = next((r for r in self._later if r.range.split.id == self._begun), None)
            if following is not None:
                self._later.remove(following)
            return following
        if not self._later:
            return None
        following = self._later.popleft()
        if following.range.in_turn and not self._side_by_side:
            self._begun = following.range.split.id
        return following

    def _next_chunk(self, reading: _Reading, max_records: int) -> Chunk | None:
        """None: a part is over, or the range."""
        records = max_records if max_records < _CHUNK else _RECORDS
        slow_now = reading.part_records > records and reading.left > 0  # downstream: a part of a few
        if reading.chunks is None or slow_now:
            reading.chunks = self._part(reading, records)
        chunk = next(reading.chunks, None)
        if chunk is not None:
            reading.position = chunk.position
            reading.left -= len(chunk.values) + len(chunk.bad) + chunk.ignored
            if chunk.end:
                self._over(reading, ended=True)
            return chunk
        reading.chunks = None
        if reading.left <= 0 or reading.position == reading.part_began_at:
            self._over(reading, ended=False)
        return None

    def _part(self, reading: _Reading, records: int) -> Iterator[Chunk]:
        reading.part_records = records
        reading.part_began_at = reading.position
        room = min(_BYTES, reading.range.max_bytes)
        part = replace(
            reading.range,
            position=reading.position,
            max_records=max(1, min(records, reading.left)),
            max_bytes=room,
        )
        return iter(self._reader.read(part))

    def _over(self, reading: _Reading, ended: bool) -> None:
        self._now.remove(reading)
        split = reading.range.split.id
        if ended and split == self._begun:
            self._begun = None
        before = self.read_so_far.get(split)
        ranges = 1 if before is None else before.ranges + 1
        self.read_so_far[split] = ReadSoFar(ranges, reading.position, ended)
        self.over += 1

    def close(self) -> None:
        self._later.clear()
        self._now.clear()
