"""Readers that are polled: what they give, in which order, and when they wait."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from firesteel.connectors import _whole_splits
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.connectors.generated import datagen
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.program.sources import EnumeratorContext, PollingReader, Source, Split


def splits_of(source: Source, directory: Path, parallelism: int = 3) -> list[Split]:
    return source.create_enumerator(EnumeratorContext(parallelism, str(directory))).discover(0)


def opened(source: Source) -> PollingReader:
    reader = source.create_reader()
    reader.open()
    polling = reader.polling()
    assert polling is not None
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


def test_whole_splits_are_read_whole(tmp_path: Path, lines: Path) -> None:
    for source, wanted in [
        (SequenceSource(1, 20_000), list(range(1, 20_001))),
        (CollectionSource(list("abcdef")), list("abcdef")),
        (GeneratedSource(lambda n: n * n, 5_000), [n * n for n in range(5_000)]),
        (TextFileSource((str(lines),)), sorted(f"{name}{i}" for name in "abc" for i in range(5_000))),
    ]:
        polling = opened(source)
        polling.add_splits([(split, None) for split in splits_of(source, tmp_path)])
        found = [value for values in drained(polling).values() for value in values]
        assert sorted(found) == sorted(wanted)
        polling.close()


def test_ranges_follow_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_whole_splits, "_RECORDS", 7)
    source = SequenceSource(1, 1_000)
    polling = opened(source)
    polling.add_splits([(split, None) for split in splits_of(source, tmp_path, 1)])
    assert list(drained(polling).values()) == [list(range(1, 1_001))]


def test_reading_goes_on_from_a_position(tmp_path: Path) -> None:
    source = SequenceSource(1, 100)
    (split,) = splits_of(source, tmp_path, 1)
    polling = opened(source)
    polling.add_splits([(split, 91)])
    assert drained(polling) == {split.id: list(range(91, 101))}


def test_a_split_that_is_held_waits_and_the_others_go_on(tmp_path: Path) -> None:
    source = SequenceSource(1, 30_000)
    splits = splits_of(source, tmp_path)
    polling = opened(source)
    polling.add_splits([(split, None) for split in splits])
    held = splits[1].id
    assert drained(polling, held={held}).keys() == {splits[0].id, splits[2].id}
    assert list(drained(polling)) == [held]


def test_splits_are_read_in_turn(tmp_path: Path) -> None:
    source = SequenceSource(1, 300_000)
    splits = splits_of(source, tmp_path)
    polling = opened(source)
    polling.add_splits([(split, None) for split in splits])
    assert [split for _ in range(6) for split, _ in polling.poll(1_000, 0.0, ())] == ["1", "2", "3"] * 2


def test_a_rate_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now_s = 100.0
    slept: list[float] = []
    monkeypatch.setattr(datagen.time, "monotonic", lambda: now_s)
    monkeypatch.setattr(datagen.time, "sleep", slept.append)
    source = GeneratedSource(lambda n: n, 50, 10.0)
    splits = splits_of(source, tmp_path, 2)
    polling = opened(source)
    polling.add_splits([(split, None) for split in splits])
    assert list(polling.poll(1_000, 50.0, ())) == []
    assert slept == [0.05], "the first record is due in 0.1 s"
    now_s = 101.0
    assert drained(polling) == {"1": list(range(5)), "2": list(range(25, 30))}
    now_s = 200.0
    assert drained(polling) == {"1": list(range(5, 25)), "2": list(range(30, 50))}
