from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.errors import ConfigurationError
from firesteel.connectors.base import Boundedness, ReadRange
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.testing.connectors import check_source, chunks_of
from firesteel.testing.connectors._reading import BYTES, shipped

from ..support import context, discovered


def test_sequence_splits_as_flink(tmp_path: Path) -> None:
    assert check_source(SequenceSource(1, 10), tmp_path, 3) == [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]]
    assert check_source(SequenceSource(5, 6), tmp_path, 4) == [[5], [6]]
    assert check_source(SequenceSource(-2, 2), tmp_path, 1) == [[-2, -1, 0, 1, 2]]


def test_sequence_over_all_longs_can_start(tmp_path: Path) -> None:
    source = SequenceSource(-(2**63), 2**63 - 1)
    splits = discovered(source, tmp_path, 2)
    assert [split.payload for split in splits] == [(-(2**63), 0), (0, 2**63)]
    chunks = chunks_of(source, ReadRange(splits[1], 2**63 - 2, 10, BYTES))
    assert chunks[0].values == [2**63 - 2, 2**63 - 1]
    assert chunks[0].end


@pytest.mark.parametrize(("start", "end"), [(2, 1), (0, 2**63), (True, 3), (1.0, 2)])
def test_sequence_refuses(start: int, end: int) -> None:
    with pytest.raises(ConfigurationError):
        SequenceSource(start, end)


def test_sequence_chunks_are_limited(tmp_path: Path) -> None:
    source = SequenceSource(0, 9999)
    split = discovered(source, tmp_path)[0]
    sizes = [len(chunk.values) for chunk in chunks_of(source, ReadRange(split, None, 10_000, BYTES))]
    assert sizes == [4096, 4096, 1808]


def test_bounded_generator(tmp_path: Path) -> None:
    source = GeneratedSource(lambda i: f"r{i}", 5)
    assert source.boundedness is Boundedness.BOUNDED
    assert check_source(source, tmp_path, 2) == [["r0", "r1", "r2"], ["r3", "r4"]]
    assert discovered(GeneratedSource(str, 0), tmp_path, 2) == []


def test_unbounded_generator_interleaves(tmp_path: Path) -> None:
    source = GeneratedSource(lambda i: i * 10)
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    splits = discovered(source, tmp_path, 3)
    read = [chunks_of(source, ReadRange(split, None, 3, BYTES)) for split in splits]
    assert [chunks[0].values for chunks in read] == [[0, 30, 60], [10, 40, 70], [20, 50, 80]]
    assert not read[0][0].end
    assert chunks_of(source, ReadRange(splits[1], read[1][0].position, 2, BYTES))[0].values == [100, 130]


def test_source_can_be_pickled_plainly() -> None:
    import pickle

    factor = 3
    source = pickle.loads(pickle.dumps(GeneratedSource(lambda i: i * factor, 4)))
    assert [source.function(i) for i in range(3)] == [0, 3, 6]


@pytest.mark.parametrize("rate", [1, 2.5, 7, 1000, 33333])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_rate_is_never_exceeded(tmp_path: Path, rate: float, parallelism: int) -> None:
    enumerator = GeneratedSource(str, None, rate).create_enumerator(context(tmp_path, parallelism))
    start = now = 1_000_000
    splits = enumerator.discover(start)
    positions = dict.fromkeys((split.id for split in splits), 0)
    for step in range(60):
        planned = 0
        for split in splits:
            range_ = enumerator.plan(split, positions[split.id], 10**6, BYTES, now)
            if range_ is not None:
                planned += range_.max_records
                positions[split.id] += range_.max_records
        total = sum(positions.values())
        assert total == int(rate * (now - start) // 1000)
        following = enumerator.next_data_ms(now)
        assert following is not None
        assert following > now
        if step % 2:
            now += 137
        else:  # the instant it names is the first with another record
            before = (following - 1 - start) * rate // 1000
            assert before == total
            now = following
            assert (now - start) * rate // 1000 > total


def test_rate_does_not_make_up_for_down_time(tmp_path: Path) -> None:
    source = GeneratedSource(str, None, 10)
    first = source.create_enumerator(context(tmp_path))
    split = first.discover(0)[0]
    assert first.plan(split, None, 100, BYTES, 1000).max_records == 10  # type: ignore[union-attr]
    again = source.create_enumerator(context(tmp_path))
    again.restore(shipped(first.snapshot()))
    assert again.discover(100_000) == []
    assert again.plan(split, 10, 100, BYTES, 100_000) is None
    assert again.plan(split, 10, 100, BYTES, 100_500).max_records == 5  # type: ignore[union-attr]


@pytest.mark.parametrize("bad", [{"count": -1}, {"count": 2.5}, {"rate_per_second": 0}, {"function": 3}])
def test_generator_refuses(bad: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        GeneratedSource(**{"function": str, **bad})  # type: ignore[arg-type]
