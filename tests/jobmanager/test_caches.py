"""Cached streams: the first job keeps the records, later jobs of the environment read them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, ProgramError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.base import (
    CommitRequest,
    Committable,
    CommitterContext,
    ReadRange,
    WriterContext,
)
from firesteel.connectors.kept.records import KeepSink, KeptRecords
from firesteel.datastream import ProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.output_tag import OutputTag
from tests.runtime.engines import FaultyEngine
from tests.runtime.support import Probe, collect, environment, local_platform, note, notes

ODD = OutputTag("odd")


def batch(parallelism: int = 1, **options: str) -> StreamExecutionEnvironment:
    env = environment(parallelism, **options)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env


def noted(value: Any) -> Any:
    return note("made", value)


def kept(root: Path) -> list[str]:
    return sorted(str(path) for path in root.rglob("*.records"))


def test_the_first_job_makes_the_records_and_later_jobs_read_them(tmp_path: Path) -> None:
    env = batch(**{"firesteel.state.dir": str(tmp_path)})
    cached = env.from_collection(range(2500)).map(noted).cache()
    assert collect(cached.map(lambda v: v * 10)) == [v * 10 for v in range(2500)]
    assert notes["made"] == list(range(2500))
    assert collect(cached.filter(lambda v: v % 2)) == list(range(1, 2500, 2))
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)  # may read what is there
    assert collect(cached) == list(range(2500))
    assert len(notes["made"]) == 2500, "nothing before cache() ran again"
    cached.invalidate()
    assert kept(tmp_path) == []
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert collect(cached) == list(range(2500))
    assert len(notes["made"]) == 5000
    assert kept(tmp_path) != []
    env.close()
    assert kept(tmp_path) == []


@pytest.mark.parametrize("parallelism", [1, 3])
def test_order_subtask_and_timestamps_are_those_of_the_first_job(parallelism: int) -> None:
    """Also when epochs are run twice and discarded."""

    class Subtask(ProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.subtask = runtime_context.get_index_of_this_subtask()

        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield self.subtask, value, ctx.timestamp()

    def stamp(value: Any, timestamp: int) -> int:
        return int(value) + 7

    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(stamp)
    with local_platform(lambda: FaultyEngine(5)):
        env = batch(parallelism)
        numbers = env.from_sequence(0, 2999).assign_timestamps_and_watermarks(strategy)
        where = numbers.process(Subtask()).cache()
        first = collect(where)
        again = collect(where.process(Subtask()))
    assert len(first) == 3000
    assert {subtask for subtask, _, _ in first} == set(range(parallelism))
    assert sorted(value for _, value, _ in again) == sorted(first)
    assert all(subtask == value[0] and stamp == value[1] + 7 for subtask, value, stamp in again)
    for subtask in range(parallelism):
        assert [r[1] for r in again if r[0] == subtask] == [r for r in first if r[0] == subtask]


def test_records_without_a_timestamp_have_none_again() -> None:
    env = batch()
    cached = env.from_collection(["a", "b"]).cache()
    first = collect(cached.process(Probe()))
    assert collect(cached.process(Probe())) == first


def test_a_side_output_can_be_cached() -> None:
    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield (ODD, note("made", value)) if value % 2 else value

    env = batch()
    odd = env.from_collection(range(10)).process(Split()).get_side_output(ODD).cache()
    assert collect(odd) == collect(odd) == [1, 3, 5, 7, 9]
    assert len(notes["made"]) == 5


def test_a_job_that_fails_or_does_not_read_the_stream_keeps_nothing(tmp_path: Path) -> None:
    env = batch(**{"firesteel.state.dir": str(tmp_path)})
    cached = env.from_collection(range(5)).map(noted).cache()
    with pytest.raises(JobExecutionError):
        collect(cached.map(lambda v: 1 // (v - 4)))
    assert kept(tmp_path) == []
    assert collect(env.from_collection([1])) == [1]
    assert kept(tmp_path) == []
    assert collect(cached) == collect(cached) == list(range(5))
    assert notes["made"].count(0) == 2


def test_what_is_lost_is_made_again(tmp_path: Path) -> None:
    env = batch(**{"firesteel.state.dir": str(tmp_path)})
    cached = env.from_collection(range(5)).map(noted).cache()
    assert collect(cached) == list(range(5))
    Path(kept(tmp_path)[0]).unlink()
    assert collect(cached) == list(range(5))
    assert len(notes["made"]) == 10


def test_one_cached_stream_may_be_made_of_another() -> None:
    env = batch()
    one = env.from_collection(range(3)).map(noted).cache()
    two = one.map(lambda v: note("second", v) + 1).cache()
    assert collect(two) == [1, 2, 3]
    assert collect(one.union(two)) is not None
    assert (len(notes["made"]), len(notes["second"])) == (3, 3)


def test_a_stream_without_records_is_kept_too() -> None:
    env = batch(2)
    cached = env.from_collection(range(3)).map(noted).filter(lambda v: v > 5).cache()
    assert collect(cached) == collect(cached) == []
    assert len(notes["made"]) == 3


def test_a_streaming_job_keeps_nothing_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """As in Flink, where such a job makes the records anew."""
    env = environment(1)
    cached = env.from_collection(range(3)).map(noted).cache()
    with caplog.at_level(logging.WARNING):
        assert collect(cached) == collect(cached) == [0, 1, 2]
    assert len(notes["made"]) == 6
    assert "BATCH mode only: Cache of Map" in caplog.text


def test_only_an_operator_can_be_cached() -> None:
    env = batch()
    one = env.from_collection([1])
    for stream in (one.rebalance(), one.key_by(lambda v: v), one.union(one), one.cache()):
        with pytest.raises(ProgramError, match="can be cached"):
            stream.cache()


@pytest.mark.parametrize("limit", [1, 999, 1000, 1001, 10_000])
def test_a_range_ends_where_it_shall(limit: int, tmp_path: Path) -> None:
    env = batch(**{"firesteel.state.dir": str(tmp_path)})
    cached = env.from_sequence(0, 2499).cache()
    collect(cached)
    source = KeptRecords.in_directory(str(Path(kept(tmp_path)[0]).parent))
    reader, position, found, ended = source.create_reader(), None, [], False
    (split,) = source.create_enumerator(None).discover(0)  # type: ignore[arg-type]
    while not ended:
        chunks = list(reader.read(ReadRange(split, position, limit, 1 << 40)))
        assert sum(len(chunk.values) for chunk in chunks) <= limit
        found += [value for chunk in chunks for value in chunk.values]
        position, ended = chunks[-1].position, chunks[-1].end
    assert found == list(range(2500))


def test_the_epochs_of_a_subtask_are_read_in_their_order(tmp_path: Path) -> None:
    sink = KeepSink(str(tmp_path))
    committer = sink.create_committer(CommitterContext("job", "sink", lambda: 0))
    for epoch in range(9, 12):
        for subtask in (0, 2):
            writer = sink.create_writer(WriterContext(subtask, 3, "token", str(tmp_path), epoch))
            writer.write_batch([(epoch, subtask)], None)
            (name,) = writer.prepare_commit()
            if epoch < 11:  # the last epoch is lost
                committer.commit([CommitRequest(Committable(subtask, epoch, name))])
    source = KeptRecords.in_directory(str(tmp_path))
    splits = source.create_enumerator(None).discover(0)  # type: ignore[arg-type]
    assert [
        [v for chunk in source.create_reader().read(ReadRange(split, None, 9, 999)) for v in chunk.values]
        for split in splits
    ] == [[(9, 0), (10, 0)], [], [(9, 2), (10, 2)]]
