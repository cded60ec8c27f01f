"""Readers that are polled: what they give, in which order, and when they wait."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.connectors.generated import datagen
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.program.sources import (
    Chunk,
    EnumeratorContext,
    PollingReader,
    ReadRange,
    Source,
    SourceReader,
    Split,
)
from firesteel.runtime.operators import planned_ranges
from firesteel.runtime.operators.planned_ranges import PlannedRanges, ReadSoFar
from firesteel.sql.connectors.datagen import DatagenSource, Rows
from firesteel.sql.connectors.generated_fields import whole
from firesteel.sql.types import IntType

from ..waiting import patience

MANY = 1 << 40


def splits_of(source: Source, directory: Path, parallelism: int = 3) -> list[Split]:
    return source.create_enumerator(EnumeratorContext(parallelism, str(directory))).discover(0)


def planned(source: Source, splits: Sequence[Split], position: Any = None) -> PlannedRanges:
    """One range of each split, which is all that it has."""
    reader = source.create_reader()
    reader.open()
    polling = PlannedRanges(reader)
    polling.add_ranges([ReadRange(split, position, MANY, MANY) for split in splits])
    return polling


def drained(polling: PollingReader, held: Collection[str] = (), times: int = 1_000) -> dict[str, list[Any]]:
    """What is polled, by split; a split that has ended gives no more."""
    found: dict[str, list[Any]] = {}
    ended: set[str] = set()
    for _ in range(times):
        for split, chunk in polling.poll(1_000, 0.0, held):
            assert split not in ended
            found.setdefault(split, []).extend(chunk.values)
            if chunk.end:
                ended.add(split)
    return found


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    for name in "abc":
        (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(5_000)))
    return tmp_path


def test_ranges_without_bounds_are_whole_splits(tmp_path: Path, lines: Path) -> None:
    for source, wanted in [
        (SequenceSource(1, 20_000), list(range(1, 20_001))),
        (CollectionSource(list("abcdef")), list("abcdef")),
        (GeneratedSource(lambda n: n * n, 5_000), [n * n for n in range(5_000)]),
        (TextFileSource((str(lines),)), sorted(f"{name}{i}" for name in "abc" for i in range(5_000))),
    ]:
        polling = planned(source, splits_of(source, tmp_path))
        found = [value for values in drained(polling).values() for value in values]
        assert sorted(found) == sorted(wanted)
        polling.close()


def test_parts_of_a_range_follow_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(planned_ranges, "_RECORDS", 7)
    source = SequenceSource(1, 1_000)
    polling = planned(source, splits_of(source, tmp_path, 1))
    assert list(drained(polling).values()) == [list(range(1, 1_001))]


def test_ranges_in_turn_are_read_one_split_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the next range of the first split was planned after those of the others."""
    reader = SequenceSource(0, 99).create_reader()
    first, second = (Split(str(i), (i * 50, i * 50 + 50)) for i in range(2))
    polling = PlannedRanges(reader)
    polling.add_ranges([ReadRange(s, None, 30, MANY, in_turn=True) for s in (first, second)])
    found = [value for _ in range(20) for _, chunk in polling.poll(10, 0.0, ()) for value in chunk.values]
    assert found == list(range(30)), "the second split waits for the end of the first"
    polling.add_ranges([ReadRange(first, 30, MANY, MANY, in_turn=True)])
    found += [value for _ in range(20) for _, chunk in polling.poll(10, 0.0, ()) for value in chunk.values]
    assert found == list(range(80))


def test_a_source_that_makes_watermarks_reads_side_by_side() -> None:
    polling = PlannedRanges(SequenceSource(0, 99).create_reader(), side_by_side=True)
    splits = [Split(str(i), (i * 50, i * 50 + 50)) for i in range(2)]
    polling.add_ranges([ReadRange(split, None, 10, MANY, in_turn=True) for split in splits])
    assert drained(polling) == {"0": list(range(10)), "1": list(range(50, 60))}


def test_it_is_said_how_far_reading_has_come(tmp_path: Path) -> None:
    source = SequenceSource(0, 99)
    (split,) = splits_of(source, tmp_path, 1)
    polling = planned(source, [])
    for number, (first, records) in enumerate([(0, 30), (30, 30), (60, 1_000)], start=1):
        polling.add_ranges([ReadRange(split, first, records, MANY)])
        drained(polling)
        after = min(first + records, 100)
        assert polling.read_so_far == {split.id: ReadSoFar(number, after, ended=after == 100)}
        assert polling.over == number


class _SaysSoAtItsEnd(SourceReader):
    """Gives a chunk without records where its range ends, as Kafka's reader does."""

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        numbers = list(range(range_.position, min(range_.position + range_.max_records, range_.stop)))
        yield Chunk(numbers, None, range_.position + len(numbers))


@pytest.mark.parametrize("max_records", [2, 64, 1_000])
def test_a_range_is_over_although_its_reader_gives_something_to_the_last(max_records: int) -> None:
    """Slow operators are given few records at a time."""
    polling = PlannedRanges(_SaysSoAtItsEnd())
    polling.add_ranges([ReadRange(Split("a"), 0, MANY, MANY, 5)])
    found = [v for _ in range(20) for _, chunk in polling.poll(max_records, 0.0, ()) for v in chunk.values]
    assert found == [0, 1, 2, 3, 4]
    assert polling.read_so_far == {"a": ReadSoFar(1, 5, ended=False)}


def test_a_range_has_no_more_records_than_were_planned_although_it_is_read_ever_more_slowly() -> None:
    """Else a source at a rate gives more than that while its operators begin."""
    polling = PlannedRanges(SequenceSource(0, 99).create_reader())
    polling.add_ranges([ReadRange(Split("a", (0, 100)), None, 2, MANY)])
    found = [v for most in range(50, 0, -1) for _, chunk in polling.poll(most, 0.0, ()) for v in chunk.values]
    assert found == [0, 1]
    assert polling.read_so_far == {"a": ReadSoFar(1, 2, ended=False)}


@pytest.mark.parametrize(
    "source",
    [
        GeneratedSource(lambda n: n, 40, 1_000_000),
        DatagenSource(Rows((whole(0, 9, IntType()),), seed=1), 40, 1_000_000),  # type: ignore[arg-type]
    ],
    ids=["of a stream", "of a table"],
)
def test_generated_records_come_at_their_instants_and_not_when_the_driver_has_asked(
    source: GeneratedSource, tmp_path: Path
) -> None:
    reader = source.create_reader()
    assert reader.polls
    polling = reader.polling()
    polling.add_splits([(split, None) for split in splits_of(source, tmp_path, 2)])
    read, ended, deadline = 0, 0, time.monotonic() + patience(10)
    while ended < 2 and time.monotonic() < deadline:
        for _, chunk in polling.poll(1_000, 1.0, ()):
            read, ended = read + len(chunk.values), ended + chunk.end
    assert (read, ended) == (40, 2)


def test_reading_goes_on_from_a_position(tmp_path: Path) -> None:
    source = SequenceSource(1, 100)
    (split,) = splits_of(source, tmp_path, 1)
    polling = planned(source, [split], 91)
    assert drained(polling) == {split.id: list(range(91, 101))}


def test_a_split_that_is_held_waits_and_the_others_go_on(tmp_path: Path) -> None:
    source = SequenceSource(1, 30_000)
    splits = splits_of(source, tmp_path)
    polling = planned(source, splits)
    held = splits[1].id
    assert drained(polling, held={held}).keys() == {splits[0].id, splits[2].id}
    assert list(drained(polling)) == [held]


def test_splits_are_read_in_turn(tmp_path: Path) -> None:
    source = SequenceSource(1, 300_000)
    splits = splits_of(source, tmp_path)
    polling = planned(source, splits)
    assert [split for _ in range(6) for split, _ in polling.poll(1_000, 0.0, ())] == ["1", "2", "3"] * 2


def test_a_rate_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now_s = 100.0
    slept: list[float] = []
    monkeypatch.setattr(datagen.time, "monotonic", lambda: now_s)
    monkeypatch.setattr(datagen.time, "sleep", slept.append)
    source = GeneratedSource(lambda n: n, 50, 10.0)
    splits = splits_of(source, tmp_path, 2)
    polling = source.create_reader().polling()
    polling.add_splits([(split, None) for split in splits])
    assert list(polling.poll(1_000, 50.0, ())) == []
    assert slept == [0.05], "the first record is due in 0.1 s"
    now_s = 101.0
    assert drained(polling) == {"1": list(range(5)), "2": list(range(25, 30))}
    now_s = 200.0
    assert drained(polling) == {"1": list(range(5, 25)), "2": list(range(30, 50))}
