"""Drives a source as the engine does, and checks each thing it says on the way."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import cloudpickle

from firesteel.connectors.base import (
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)

MANY: Final = 1_000_000
BYTES: Final = 1 << 30
PATIENCE_S: Final = 60.0  # how long a source may take to see what is there, on a slow machine too
_LARGEST_CHUNK: Final = 4096
_STEP_MS: Final = 1_000  # of the job's clock, from epoch to epoch
_ENDLESS: Final = 100_000  # ranges; no source under test has as many


def require(condition: object, sentence: str) -> None:
    """An assertion that says in a sentence what a connector must do; not one that ``-O`` takes away."""
    if not condition:
        raise AssertionError(sentence)


def content_of(tmp_path: Path) -> Path:
    """The directory that the hooks of a contract are given, empty at first; beside it is what the job has."""
    directory = tmp_path / "content"
    directory.mkdir()
    return directory


def shipped(obj: Any) -> Any:
    """As the object arrives in another process."""
    return pickle.loads(cloudpickle.dumps(obj, protocol=5))


def plain(obj: Any, what: str) -> Any:
    """As data arrives in another process: it is pickled without its code."""
    try:
        return pickle.loads(pickle.dumps(obj, 5))
    except Exception as e:
        raise AssertionError(f"{what} must be plain data that pickle takes: {obj!r:.200}: {e}") from e


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from 1.0 and knows NaN."""
    return repr(left) == repr(right)


@dataclass(frozen=True, slots=True)
class Reading:
    """A range that an epoch read, and what came."""

    range: ReadRange
    chunks: list[Chunk]

    @property
    def values(self) -> list[Any]:
        return [value for chunk in self.chunks for value in chunk.values]


def check_chunks(range_: ReadRange, chunks: Sequence[Chunk]) -> None:
    """What a reader gave for a range has the form that the engine relies on."""
    where = f"split {range_.split.id!r} from position {range_.position!r}"
    for chunk in chunks:
        require(
            len(chunk.values) <= _LARGEST_CHUNK, f"{where}: a chunk has more than {_LARGEST_CHUNK} records"
        )
        stamps = chunk.timestamps
        require(
            stamps is None or (len(stamps) == len(chunk.values) and all(type(t) is int for t in stamps)),
            f"{where}: timestamps are one int for each record, or None for the chunk",
        )
        places = [place for place, _ in chunk.marks]
        require(
            all(a <= b for a, b in pairwise([0, *places, len(chunk.values)])),
            f"{where}: marks stand in order, at places from 0 to the number of records, got {places}",
        )
        marks = [mark for _, mark in chunk.marks if type(mark) is int]
        require(all(a <= b for a, b in pairwise(marks)), f"{where}: watermarks go back: {marks}")
    require(not any(c.end for c in chunks[:-1]), f"{where}: only the last chunk may say that the split ends")
    count = sum(len(chunk.values) for chunk in chunks)
    require(
        count <= range_.max_records,
        f"{where}: the range allows {range_.max_records} records, the reader gave {count}",
    )


def read_range(reader: SourceReader, range_: ReadRange) -> list[Chunk]:
    chunks = list(reader.read(plain(range_, "a range")))
    check_chunks(range_, chunks)
    positions = plain([chunk.position for chunk in chunks], "a position")
    return [chunk._replace(position=position) for chunk, position in zip(chunks, positions, strict=True)]


def chunks_of(source: Source, range_: ReadRange) -> list[Chunk]:
    """What a new reader of the source gives for a range."""
    reader = shipped(source.create_reader())
    reader.open()
    try:
        return read_range(reader, range_)
    finally:
        reader.close()


def read_split(
    source: Source,
    split: Split,
    position: Any = None,
    max_records: int = MANY,
    max_bytes: int = BYTES,
    stop: Any = None,
) -> tuple[list[Any], list[tuple[int, Any]]]:
    """All records of a split that ends, from a position on, and where each chunk ended: (records so far,
    position). The limits are those of each range that it is read in."""
    values: list[Any] = []
    positions: list[tuple[int, Any]] = []
    for _ in range(_ENDLESS):
        chunks = chunks_of(source, ReadRange(split, position, max_records, max_bytes, stop))
        require(
            chunks, f"split {split.id!r}: a range that is not at the end of its split must give something"
        )
        for chunk in chunks:
            values += chunk.values
            positions.append((len(values), chunk.position))
            position = chunk.position
        if chunks[-1].end:
            return values, positions
    raise AssertionError(f"split {split.id!r} has no end")


@dataclass(slots=True)
class SplitProgress:
    """How far a run came with a split. ``position`` None: its start."""

    split: Split
    position: Any = None
    ended: bool = False
    values: list[Any] = field(default_factory=list)


class SourceRun:
    """A source with an enumerator and a reader of its own, read epoch by epoch on a clock that jumps; each
    epoch counts, and is followed by a checkpoint.

    :param directory: the work directory of the job is made in it.
    """

    def __init__(self, source: Source, directory: Path, parallelism: int = 1) -> None:
        self.source: Source = shipped(source)
        self.splits: dict[str, SplitProgress] = {}
        self.readings: list[Reading] = []
        self.now_ms = 1_000_000
        self._directory = directory
        self._context = EnumeratorContext(parallelism, str(directory / "work"), checkpointing=True)
        self._enumerator: SplitEnumerator
        self._begin(None)

    def _begin(self, state: Any) -> None:
        self._enumerator = self.source.create_enumerator(self._context)
        if state is not None:
            self._enumerator.restore(state)
        self._enumerator.open()
        self._reader = shipped(self.source.create_reader())
        self._reader.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._reader.close()
        self._enumerator.close()

    def restart(self, parallelism: int) -> None:
        """As a driver does that goes on from a checkpoint of now, perhaps with more or fewer tasks."""
        state = plain(self._enumerator.snapshot(), "the state of an enumerator")
        self.close()
        self._context = replace(self._context, parallelism=parallelism)
        self._begin(state)

    @property
    def values(self) -> list[Any]:
        """What was read so far, split by split."""
        return [value for progress in self.splits.values() for value in progress.values]

    @property
    def has_ended(self) -> bool:
        return self._enumerator.finished and all(p.ended for p in self.splits.values())

    def epoch(self, max_records: int = MANY, max_bytes: int = BYTES) -> int:
        """Read one epoch with this budget for each split; how many ranges were planned."""
        self.now_ms += _STEP_MS
        self._discover()
        planned = 0
        for progress in [p for p in self.splits.values() if not p.ended]:
            range_ = self._enumerator.plan(
                progress.split, progress.position, max_records, max_bytes, self.now_ms
            )
            if range_ is not None:
                planned += 1
                self._read(progress, range_, max_records)
            if progress.ended:
                self._enumerator.split_ended(progress.split)
        positions = {name: p.position for name, p in self.splits.items() if p.position is not None}
        self._enumerator.checkpoint_completed(positions)
        return planned

    def _discover(self) -> None:
        was_finished = self._enumerator.finished
        found = self._enumerator.discover(self.now_ms)
        ids = [split.id for split in found]
        require(len(set(ids)) == len(ids), f"splits with the same id are reported at once: {ids}")
        for split in plain(found, "a split"):
            known = self.splits.get(split.id)
            if known is not None:  # a restored enumerator may say again where a split lies
                known.split = split
                continue
            require(not was_finished, f"split {split.id!r} is reported by an enumerator that was finished")
            self.splits[split.id] = SplitProgress(split)

    def _read(self, progress: SplitProgress, range_: ReadRange, max_records: int) -> None:
        require(
            range_.split.id == progress.split.id,
            f"plan() was asked for split {progress.split.id!r} and answered for {range_.split.id!r}",
        )
        require(
            range_.max_records <= max_records,
            f"an epoch may read {max_records} records of a split, plan() allows {range_.max_records}",
        )
        chunks = read_range(self._reader, range_)
        self.readings.append(Reading(range_, chunks))
        for chunk in chunks:
            progress.values += chunk.values
            progress.position = chunk.position
            progress.ended = chunk.end

    def read(
        self,
        count: int | None = None,
        max_records: int = MANY,
        max_bytes: int = BYTES,
        epochs: int = _ENDLESS,
    ) -> None:
        """Epoch after epoch until so many records are there in all; None: until the source ends. Gives up
        when nothing comes for a while."""
        patient_until = time.monotonic() + PATIENCE_S
        for _ in range(epochs):
            if self._has_read(count):
                return
            before = len(self.values)
            planned = self.epoch(max_records, max_bytes)
            if len(self.values) > before:
                patient_until = time.monotonic() + PATIENCE_S
            elif not self._has_read(count):
                require(
                    time.monotonic() < patient_until,
                    f"nothing more came for {PATIENCE_S:.0f} s; read so far: {self.values!r:.500}",
                )
                if not planned:
                    time.sleep(0.01)

    def _has_read(self, count: int | None) -> bool:
        return self.has_ended if count is None else len(self.values) >= count

    # ---- reading again

    def check_replay(self) -> None:
        """Every range that was read gives the same again: from its beginning and from the end of each of its
        chunks, whole and piece by piece, by one reader in any order."""
        reader = shipped(self.source.create_reader())
        reader.open()
        try:
            for reading in reversed(self.readings):
                again = read_range(reader, reading.range)
                require(
                    same(again, reading.chunks),
                    f"a range of split {reading.range.split.id!r} gives other records or positions when it "
                    f"is read again: {reading.range!r:.300}",
                )
                self._check_rests(reader, reading)
                for limits in ((1, BYTES), (7, BYTES), (MANY, 1), (MANY, 50)):
                    self._check_pieces(reader, reading, *limits)
            self._check_turns(reader)
        finally:
            reader.close()

    def _check_rests(self, reader: SourceReader, reading: Reading) -> None:
        values = reading.values
        count = 0
        places = [(count := count + len(chunk.values), chunk.position) for chunk in reading.chunks[:-1]]
        for count, position in places[:: max(1, len(places) // 10)]:
            rest = replace(reading.range, position=position, max_records=reading.range.max_records - count)
            found = [v for chunk in read_range(reader, rest) for v in chunk.values]
            require(  # one that could not be read may be within the limit or not
                same(found[: len(values) - count], values[count:]),
                f"split {reading.range.split.id!r} gives other records when it is read from {position!r} on",
            )

    def _check_pieces(self, reader: SourceReader, reading: Reading, max_records: int, max_bytes: int) -> None:
        wanted = reading.values[:200]
        found: list[Any] = []
        position = reading.range.position
        while len(found) < len(wanted):
            piece = replace(reading.range, position=position, max_records=max_records, max_bytes=max_bytes)
            chunks = read_range(reader, piece)
            values = [value for chunk in chunks for value in chunk.values]
            require(
                values or (chunks and not same(chunks[-1].position, position)),
                f"split {piece.split.id!r}: reading does not get on from position {position!r} with at most "
                f"{max_records} records and about {max_bytes} bytes",
            )
            found += values
            position = chunks[-1].position
        require(
            same(found[: len(wanted)], wanted),
            f"split {reading.range.split.id!r} gives other records when at most {max_records} records and "
            f"about {max_bytes} bytes are read at once",
        )

    def _check_turns(self, reader: SourceReader) -> None:
        """A chunk of each range in turn, of which some are left unfinished."""
        readings = self.readings[-50:]
        reading: list[tuple[int, Iterator[Chunk]]] = [
            (number, reader.read(r.range)) for number, r in enumerate(readings)
        ]
        found: list[list[Chunk]] = [[] for _ in readings]
        while reading:
            number, chunks = reading.pop(0)
            chunk = next(chunks, None)
            if chunk is not None:
                found[number].append(chunk)
                if number % 3 != 2 or len(found[number]) < 2:
                    reading.append((number, chunks))
        for reading_, again in zip(readings, found, strict=True):
            require(
                same(again, reading_.chunks[: len(again)]),
                f"split {reading_.range.split.id!r} gives other records when ranges are read in turns",
            )


def check_source(source: Source, directory: Path, parallelism: int = 1) -> list[list[Any]]:
    """A bounded source keeps the contract; the records of its splits, in the order of their discovery."""
    shipped(source).validate()
    with SourceRun(source, directory, parallelism) as run:
        run.read()
        run.check_replay()
    small = len(run.values) <= 200
    for records, size in [(7, BYTES), (1, BYTES), (MANY, 1)] if small else [(700, BYTES)]:
        with SourceRun(source, directory, parallelism) as slow:
            slow.read(None, records, size)
        require(
            same(slow.values, run.values),
            f"with {records} records and {size} bytes in an epoch other records are read",
        )
    with SourceRun(source, directory, parallelism) as restarted:
        restarted.epoch(max_records=3)
        restarted.restart(parallelism)
        restarted.read()
    require(same(restarted.values, run.values), "after a restore other records are read")
    return [progress.values for progress in run.splits.values()]
