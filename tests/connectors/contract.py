"""What every source and every sink must keep, as functions that a test calls with one of them."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cloudpickle

from firesteel.connectors.base import (
    Chunk,
    Committable,
    EnumeratorContext,
    ReadRange,
    Sink,
    SinkCommitter,
    SinkWriter,
    Source,
    Split,
    WriterContext,
)

MANY = 1_000_000
BYTES = 1 << 30


def shipped(obj: Any) -> Any:
    """As the object arrives in another process."""
    return pickle.loads(cloudpickle.dumps(obj, protocol=5))


def context(tmp_path: Path, parallelism: int = 1) -> EnumeratorContext:
    return EnumeratorContext(parallelism, str(tmp_path / "work"))


def discovered(source: Source, tmp_path: Path, parallelism: int = 1, now_ms: int = 0) -> list[Split]:
    enumerator = source.create_enumerator(context(tmp_path, parallelism))
    enumerator.open()
    try:
        return enumerator.discover(now_ms)
    finally:
        enumerator.close()


def chunks_of(source: Source, range_: ReadRange) -> list[Chunk]:
    reader = shipped(source.create_reader())
    reader.open()
    try:
        chunks = list(reader.read(shipped(range_)))
    finally:
        reader.close()
    assert all(len(chunk.values) <= 4096 for chunk in chunks)
    assert not any(chunk.end for chunk in chunks[:-1])
    assert sum(len(chunk.values) for chunk in chunks) <= range_.max_records
    return chunks


def read_split(
    source: Source,
    split: Split,
    position: Any = None,
    max_records: int = MANY,
    max_bytes: int = BYTES,
    stop: Any = None,
) -> tuple[list[Any], list[tuple[int, Any]]]:
    """All records from a position on, and where each chunk ended: (records so far, position)."""
    values: list[Any] = []
    positions: list[tuple[int, Any]] = []
    for _ in range(100_000):
        chunks = chunks_of(source, ReadRange(split, position, max_records, max_bytes, stop))
        assert chunks, "a range that is not at the end of its split must give something"
        for chunk in chunks:
            values += chunk.values
            positions.append((len(values), chunk.position))
            position = chunk.position
        if chunks[-1].end:
            return values, positions
    raise AssertionError("the split has no end")


def check_split(source: Source, split: Split, limits: Sequence[int] = (1, 7, MANY)) -> list[Any]:
    """Reading with any limit and from any position gives the same records."""
    expected, _ = read_split(source, split)
    for limit in limits:
        values, positions = read_split(source, split, max_records=limit)
        assert same(values, expected), f"with at most {limit} records at once"
        for count, position in positions[:: max(1, len(positions) // 20)]:
            rest, _ = read_split(source, split, position)
            assert same(rest, expected[count:]), f"from {position!r}"
    for limit in (1, 50):
        assert same(read_split(source, split, max_bytes=limit)[0], expected), f"{limit} bytes at once"
    return expected


def check_turns(source: Source, splits: Sequence[Split], expected: Sequence[list[Any]]) -> None:
    """One reader reads ranges of all splits, a chunk of each in turn; every third one is left unfinished."""
    reader = shipped(source.create_reader())
    reader.open()
    values: list[list[Any]] = [[] for _ in splits]
    position: list[Any] = [None] * len(splits)
    unread, turn = set(range(len(splits))), 0
    for _ in range(100_000):
        reading = {i: reader.read(ReadRange(splits[i], position[i], 10_000, BYTES)) for i in sorted(unread)}
        while reading:
            turn += 1
            for i, chunks in list(reading.items()):
                chunk = next(chunks, None)
                if chunk is not None:
                    values[i] += chunk.values
                    position[i] = chunk.position
                    unread -= {i} if chunk.end else set()
                if chunk is None or (turn + i) % 3 == 0:
                    del reading[i]
        if not unread:
            break
    reader.close()
    assert same(values, list(expected)), "splits that are read in turns"


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from 1.0 and knows NaN."""
    return repr(left) == repr(right)


def check_source(source: Source, tmp_path: Path, parallelism: int = 1) -> list[list[Any]]:
    """A bounded source keeps the contract; the records of its splits."""
    source = shipped(source)
    source.validate()
    enumerator = source.create_enumerator(context(tmp_path, parallelism))
    enumerator.open()
    splits = enumerator.discover(0)
    assert len({split.id for split in splits}) == len(splits)
    assert enumerator.discover(1) == []
    assert enumerator.finished
    for split in splits:
        range_ = enumerator.plan(split, None, 10, BYTES, 10**9)
        assert range_ is not None
        assert range_.max_records <= 10
    state = shipped(enumerator.snapshot())
    enumerator.close()

    restored = source.create_enumerator(context(tmp_path, parallelism))
    restored.restore(state)
    restored.open()
    assert restored.discover(2) == [], "splits are reported again after a restore"
    assert restored.finished
    restored.close()
    expected = [check_split(source, split) for split in splits]
    check_turns(source, splits, expected)
    return expected


Step = tuple[int, int, Sequence[Any]]  # epoch, subtask, records


class SinkRun:
    """Drives a sink as the engine does; ``visible`` is looked at after each step."""

    def __init__(self, sink: Sink, tmp_path: Path, parallelism: int = 1) -> None:
        self.sink = sink
        self.parallelism = parallelism
        self._epoch_dir = tmp_path / "epochs"
        self._tokens = itertools.count()
        self.committer: SinkCommitter = self._open()

    def _open(self) -> SinkCommitter:
        committer = self.sink.create_committer()
        assert committer is not None
        committer.open()
        return committer

    def writer(self, epoch: int, subtask: int = 0) -> SinkWriter:
        token = f"attempt-{os.getpid()}-{next(self._tokens)}"
        directory = self._epoch_dir / str(epoch)
        directory.mkdir(parents=True, exist_ok=True)
        sink: Sink = shipped(self.sink)
        return sink.create_writer(WriterContext(subtask, self.parallelism, token, str(directory), epoch))

    def stage(self, epoch: int, values: Sequence[Any], subtask: int = 0) -> list[Committable]:
        writer = self.writer(epoch, subtask)
        middle = len(values) // 2
        writer.write(values[:middle], None)
        writer.write(values[middle:], [5] * (len(values) - middle))
        payloads = shipped(writer.prepare_commit())
        return [Committable(subtask, epoch, payload) for payload in payloads]

    def commit(self, committables: list[Committable], now_ms: int = 0) -> None:
        self.committer.commit(shipped(committables), now_ms)

    def restart(self) -> None:
        """A new committer, as after a failure of the job."""
        self.committer.close()
        self.committer = self._open()

    def finish(self, now_ms: int = 0) -> None:
        self.committer.finish(now_ms)
        self.committer.close()


def check_sink(run: SinkRun, visible: Callable[[], list[Any]], records: Sequence[Any]) -> None:
    """Two attempts at once, an abort, a commit again: each record is visible once, none before its commit.

    ``visible`` gives what an outsider sees, in order; ``records`` are at least six.
    """
    first, second, third = records[:2], records[2:4], records[4:]
    wanted = run.stage(1, first)
    unwanted = run.stage(1, first)  # Spark ran the task twice
    assert unwanted is not None
    half = run.writer(1)
    half.write(first, None)
    half.abort()
    assert visible() == []
    run.commit(wanted)
    run.commit(wanted)
    assert set(visible()) <= set(first)

    dropped = run.stage(2, [*second, *second])  # the epoch failed
    assert dropped is not None
    assert set(visible()) <= set(first)
    run.commit(run.stage(2, second))
    both = run.stage(3, third)
    run.commit(both)
    run.commit(both)
    run.finish()
    assert visible() == list(records)
