"""Source of generated records (Flink: ``DataGeneratorSource``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.connectors._splits import FixedSplits, contiguous_ranges
from firesteel.program.pickling import Shipped
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    PollingReader,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.records import record

_CHUNK: Final = 1024
_RECORD_BYTES: Final = 64  # bytes that a record counts for
_MICRO: Final = 1_000_000
_ALL_BYTES: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class GeneratedSource(Source):
    """Emits ``function(index)`` for the indexes 0, 1, 2 ... up to ``count``, or without end if it is None.

    The function must always return the same record for the same index. Bounded: each subtask has a contiguous
    range of indexes, as in Flink. Unbounded: subtask i of p has the indexes i, i + p, i + 2p ...
    ``rate_per_second`` limits all subtasks together.
    """

    function: Callable[[int], Any]
    count: int | None = None
    rate_per_second: float | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ConfigurationError(
                f"the generator of a data generator source is not callable: {self.function!r}"
            )
        if self.count is not None and (type(self.count) is not int or self.count < 0):
            raise ConfigurationError(
                f"the count of a data generator source is not a number >= 0: {self.count!r}"
            )
        if self.rate_per_second is not None and round(self.rate_per_second * _MICRO) <= 0:
            raise ConfigurationError(
                f"the rate of a data generator source is not above 0: {self.rate_per_second!r}",
                detail="the unit is records per second, one millionth at least",
            )
        if not isinstance(self.function, Shipped):
            object.__setattr__(self, "function", Shipped(self.function))

    @property
    def splits_kind(self) -> str:
        return "generated"

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.count is None else Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        parallelism = context.parallelism
        if self.count is None:
            indexes = [_Indexes(i, parallelism, None, i, parallelism) for i in range(parallelism)]
        else:
            ranges = contiguous_ranges(0, self.count, parallelism)
            indexes = [_Indexes(a, 1, b - a, i, len(ranges)) for i, (a, b) in enumerate(ranges)]
        splits = [Split(str(n), part) for n, part in enumerate(indexes, start=1)]
        rate = self.micro_rate
        return FixedSplits(splits) if rate is None else _RateLimited(splits, rate)

    def create_reader(self) -> SourceReader:
        return _GeneratorReader(self.function, self.micro_rate)

    @property
    def micro_rate(self) -> int | None:
        """Records in a million seconds."""
        return None if self.rate_per_second is None else round(self.rate_per_second * _MICRO)


@record("generated indexes")
@dataclass(frozen=True, slots=True)
class _Indexes:
    """The indexes ``first``, ``first + step`` ..., ``count`` of them. The split is ``part`` of ``parts``."""

    first: int
    step: int
    count: int | None
    part: int
    parts: int


class _GeneratorReader(SourceReader):
    """A position is the number of records read from the split."""

    def __init__(self, function: Callable[[int], Any], micro_rate: int | None) -> None:
        self._function = function
        self._micro_rate = micro_rate
        self.polls = micro_rate is not None

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        indexes: _Indexes = range_.split.payload
        function = self._function.function if isinstance(self._function, Shipped) else self._function
        position = range_.position or 0
        count = indexes.count
        stop = position + min(range_.max_records, max(1, range_.max_bytes // _RECORD_BYTES))
        if count is not None:
            stop = min(stop, count)
        first, step = indexes.first, indexes.step
        while position < stop:  # hot
            end = min(position + _CHUNK, stop)
            values = [function(i) for i in range(first + position * step, first + end * step, step)]
            position = end
            yield Chunk(values, None, position, position == count)
        if count is not None and (range_.position or 0) >= count:
            yield Chunk([], None, count, True)

    def polling(self) -> PollingReader:
        assert self._micro_rate is not None
        return RatedReader(self, self._micro_rate)


class RatedReader(PollingReader):
    """Reads at a rate, which counts from when the task begins: its downtime is not made up for."""

    def __init__(self, reader: SourceReader, micro_rate: int) -> None:
        self._reader = reader
        self._micro_rate = micro_rate
        self._started_s = time.monotonic()
        self._splits: dict[str, tuple[Split, int, int]] = {}  # with the first position and the next one

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        for split, position in splits:
            self._splits[split.id] = split, position or 0, position or 0

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        found = self._due(max_records, held)
        if not found:
            time.sleep(min(wait_ms / 1000, self._until_next_s()))
            found = self._due(max_records, held)
        return found

    def _due(self, max_records: int, held: Collection[str]) -> list[tuple[str, Chunk]]:
        all_due = int((time.monotonic() - self._started_s) * self._micro_rate / _MICRO)
        found = []
        for split, base, position in list(self._splits.values()):
            indexes: _Indexes = split.payload
            due = (all_due - indexes.part + indexes.parts - 1) // indexes.parts
            room = min(max_records, due - (position - base))
            ends = indexes.count is not None and position >= indexes.count
            if split.id in held or (room <= 0 and not ends):
                continue
            for chunk in self._reader.read(ReadRange(split, position, max(1, room), _ALL_BYTES)):
                found.append((split.id, chunk))
                self._splits[split.id] = split, base, chunk.position
                if chunk.end:
                    del self._splits[split.id]
        return found

    def _until_next_s(self) -> float:
        """Until the next record of any subtask: a little too often for this one."""
        passed_s = time.monotonic() - self._started_s
        next_record = int(passed_s * self._micro_rate / _MICRO) + 1
        return max(0.0, next_record * _MICRO / self._micro_rate - passed_s)


class _RateLimited(FixedSplits):
    """Releases ``rate * elapsed`` records for all splits together, counted from the first request to this
    enumerator. Record n comes from split ``n mod parts``. The count restarts after a restore, so downtime is
    not made up for."""

    def __init__(self, splits: list[Split], micro_rate: int) -> None:
        super().__init__(splits)
        self._micro_rate = micro_rate
        self._started_ms: int | None = None
        self._base: dict[str, int] = {}  # split -> its position at the first request

    def discover(self, now_ms: int) -> list[Split]:
        if self._started_ms is None:
            self._started_ms = now_ms
        return super().discover(now_ms)

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        indexes: _Indexes = split.payload
        position = position or 0
        base = self._base.setdefault(split.id, position)
        if indexes.count is not None and position >= indexes.count:
            return ReadRange(split, position, max_records, max_bytes)  # signals the end
        due = (self._due(now_ms) - indexes.part + indexes.parts - 1) // indexes.parts
        room = min(max_records, due - (position - base))
        return ReadRange(split, position, room, max_bytes) if room > 0 else None

    def next_data_ms(self, now_ms: int) -> int | None:
        if self._started_ms is None:
            return None
        next_record = self._due(now_ms) + 1
        return self._started_ms - (-next_record * 1000 * _MICRO // self._micro_rate)  # rounded up

    def _due(self, now_ms: int) -> int:
        if self._started_ms is None:
            self._started_ms = now_ms
        return (now_ms - self._started_ms) * self._micro_rate // (1000 * _MICRO)
