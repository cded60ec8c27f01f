"""Sources one after the other (Flink's ``HybridSource``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.common.job_status import JobStatus
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.base import Boundedness, EnumeratorContext
from firesteel.connectors.generated.sequence import SequenceSource as Numbers
from firesteel.connectors.hybrid import source as hybrid
from firesteel.connectors.socket.source import SocketTextSource
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.connectors.hybrid_source import HybridSource
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import submit
from tests.jobmanager.test_recovery import FIXED, FailsAt, every_epoch
from tests.runtime.support import environment, local_platform, notes
from tests.waiting import patience

UNMARKED = WatermarkStrategy.no_watermarks()


@pytest.fixture(autouse=True)
def _engine() -> Iterator[None]:
    with local_platform():
        yield


def numbers(*ranges: tuple[int, int]) -> HybridSource:
    first, *rest = [NumberSequenceSource(*range_) for range_ in ranges]
    builder = HybridSource.builder(first)
    for source in rest:
        builder.add_source(source)
    return builder.build()


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("epoch", [1, 7, 1000])
def test_each_source_is_read_to_its_end_before_the_next(parallelism: int, epoch: int) -> None:
    env = environment(parallelism, **{"firesteel.epoch.max-records": str(epoch)})
    sink = CollectingSink()
    stream = env.from_source(numbers((0, 19), (100, 100), (200, 219)), UNMARKED, "numbers")
    assert stream.get_type() == Types.LONG()
    stream.sink_to(sink)
    env.execute("hybrid")
    assert sorted(sink.values) == [*range(20), 100, *range(200, 220)]
    hundreds = [value // 100 for value in sink.values]
    if parallelism == 1:
        assert hundreds == sorted(hundreds)


def test_a_source_looks_for_its_splits_when_its_turn_comes(tmp_path: Path) -> None:
    """A file that appears while the first source is read is read."""
    late = tmp_path / "late"
    late.mkdir()

    def files(name: str) -> FileSource:
        path = str(tmp_path / name)
        return FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()

    (tmp_path / "early").write_text("a\nb\n")
    source = HybridSource.builder(files("early")).add_source(files("late")).build().wrapped_source
    enumerator = source.create_enumerator(EnumeratorContext(2, str(tmp_path / "work")))
    enumerator.open()
    (early,) = enumerator.discover(0)
    assert not enumerator.finished
    assert enumerator.discover(0) == []
    (late / "one").write_text("c\n")
    enumerator.split_ended(early)
    (found,) = enumerator.discover(0)
    assert enumerator.finished
    assert {early.id, found.id} == {"0:" + early.id[2:], "1:" + found.id[2:]}
    enumerator.close()


@pytest.mark.parametrize("place", [0, 19, 20, 33, 59])
def test_a_restart_goes_on_in_the_source_whose_turn_it_was(tmp_path: Path, place: int) -> None:
    env = every_epoch(tmp_path, **FIXED)
    sink = CollectingSink()
    fails = FailsAt(f"hybrid-{tmp_path.name}", place, 2)
    stream = env.from_source(numbers((0, 19), (20, 39), (40, 59)), UNMARKED, "numbers")
    stream.map(lambda n: (n, n)).map(fails).sink_to(sink)
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FINISHED, job.error
    assert len(notes[fails.topic]) == 2
    assert Counter(sink.values) == Counter(range(60))


def test_splits_read_before_a_restart_do_not_hold_up_the_next_source(tmp_path: Path) -> None:
    """Enumerators may report all of their splits again after a restore."""
    source = hybrid.SourcesInTurn((Numbers(0, 9), Numbers(10, 19)))
    context = EnumeratorContext(2, str(tmp_path))
    before = source.create_enumerator(context)
    before.open()
    first, second = before.discover(0)
    before.split_ended(first)
    after = source.create_enumerator(context)
    after.restore({**before.snapshot(), "current": None})
    after.open()
    assert after.discover(0) == [first, second]
    after.split_ended(second)
    assert [split.id for split in after.discover(0)] == ["1:1", "1:2"]
    assert after.finished


def test_a_source_that_never_ends_must_be_the_last() -> None:
    endless = SocketTextSource("localhost", 9)
    assert hybrid.SourcesInTurn((Numbers(0, 1), endless)).boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert hybrid.SourcesInTurn((Numbers(0, 1), endless)).max_parallelism == 1
    with pytest.raises(ConfigurationError, match="Source 2 of a hybrid source never ends"):
        hybrid.SourcesInTurn((Numbers(0, 1), endless, Numbers(2, 3)))


def test_sources_of_different_types_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\n")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    with pytest.raises(ProgramError, match="different types"):
        HybridSource.builder(NumberSequenceSource(0, 1)).add_source(lines).build()


def test_a_source_must_not_be_taken_away(tmp_path: Path) -> None:
    context = EnumeratorContext(1, str(tmp_path))
    before = hybrid.SourcesInTurn((Numbers(0, 1), Numbers(2, 3))).create_enumerator(context)
    before.open()
    before.split_ended(before.discover(0)[0])
    before.discover(0)
    with pytest.raises(ConfigurationError, match="has only 1 now"):
        hybrid.SourcesInTurn((Numbers(0, 1),)).create_enumerator(context).restore(before.snapshot())
