"""Source of the numbers in an interval (Flink: ``NumberSequenceSource``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.connectors._splits import FixedSplits, contiguous_ranges
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)

_CHUNK: Final = 4096
_BYTES: Final = 8  # bytes that a number counts for
_LONG_MIN: Final = -(2**63)
_LONG_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SequenceSource(Source):
    """Emits the integers from ``start`` to ``end``, both inclusive, in as many ranges as there are subtasks.

    Each range is read in order. Bounded. Both ends must fit a Java long.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        for name, value in (("start", self.start), ("end", self.end)):
            if type(value) is not int or not _LONG_MIN <= value <= _LONG_MAX:
                raise ConfigurationError(f"{name} of a number sequence is not a 64-bit integer: {value!r}")
        if self.start > self.end:
            raise ConfigurationError(
                f"a number sequence must not end before it starts: {self.start} to {self.end}"
            )

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        ranges = contiguous_ranges(self.start, self.end + 1, context.parallelism)
        return FixedSplits([Split(str(n), range_) for n, range_ in enumerate(ranges, start=1)])

    def create_reader(self) -> SourceReader:
        return _SequenceReader()


class _SequenceReader(SourceReader):
    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        start, end = range_.split.payload
        position: Any = range_.position
        if position is None:
            position = start
        stop = min(end, position + min(range_.max_records, max(1, range_.max_bytes // _BYTES)))
        for first in range(position, stop, _CHUNK):  # hot
            last = min(first + _CHUNK, stop)
            yield Chunk(list(range(first, last)), None, last, last == end)
        if position >= end:
            yield Chunk([], None, end, True)
