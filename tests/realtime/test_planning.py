"""What the driver plans in real time of sources that tasks do not poll by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.jobmanager.sources import SourceCoordinator
from firesteel.program.sources import (
    Boundedness,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.runtime.operators.planned_ranges import ReadSoFar


class Numbers(SplitEnumerator):
    """Two splits with numbers up to ``there``."""

    def __init__(self) -> None:
        self.there = {"a": 0, "b": 0}
        self.asked: list[str] = []
        self.hint_ms: int | None = None

    def discover(self, now_ms: int) -> list[Split]:
        return [Split("a"), Split("b")]

    @property
    def finished(self) -> bool:
        return True

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        self.asked.append(split.id)
        start, stop = position or 0, self.there[split.id]
        return ReadRange(split, start, max_records, max_bytes, stop) if stop > start else None

    def next_data_ms(self, now_ms: int) -> int | None:
        return self.hint_ms


class NumbersSource(Source):
    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def __init__(self, enumerator: Numbers) -> None:
        self.enumerator = enumerator

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return self.enumerator

    def create_reader(self) -> SourceReader:
        return Reader()


class Reader(SourceReader):
    def read(self, range_: ReadRange) -> Any:
        raise NotImplementedError


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def coordinator(numbers: Numbers, tmp_path: Path) -> SourceCoordinator:
    made = SourceCoordinator("v", "u", NumbersSource(numbers), None, EnumeratorContext(2, str(tmp_path)))
    made.open()
    made.hand_out(0, everything=True)
    return made


def planned(coordinator: SourceCoordinator, now_ms: int, **read: ReadSoFar) -> list[tuple[str, Any, Any]]:
    """(split, from, to) of all ranges."""
    found = coordinator.plan_ahead(now_ms, read)
    return sorted((r.split.id, r.position, r.stop) for ranges in found.values() for r in ranges)


def test_a_range_follows_when_the_one_before_is_over(
    coordinator: SourceCoordinator, numbers: Numbers
) -> None:
    numbers.there = {"a": 5, "b": 3}
    assert planned(coordinator, 0) == [("a", 0, 5), ("b", 0, 3)]
    numbers.there = {"a": 9, "b": 9}
    assert planned(coordinator, 500) == []
    assert planned(coordinator, 510, a=ReadSoFar(1, 5, ended=False)) == [("a", 5, 9)]
    assert planned(coordinator, 520, a=ReadSoFar(1, 5, ended=False)) == [], "it is on the way"
    over = {"a": ReadSoFar(2, 9, ended=True), "b": ReadSoFar(1, 3, ended=False)}
    assert planned(coordinator, 530, **over) == [("b", 3, 9)]


def test_a_silent_split_is_asked_now_and_then(coordinator: SourceCoordinator, numbers: Numbers) -> None:
    numbers.there["b"] = 3
    assert planned(coordinator, 1_000) == [("b", 0, 3)]
    numbers.asked.clear()
    for now_ms in range(1_010, 1_100, 10):
        assert planned(coordinator, now_ms) == []
    assert numbers.asked == []
    numbers.there["b"] = 5
    assert planned(coordinator, 1_095, b=ReadSoFar(1, 3, ended=False)) == [("b", 3, 5)], "it was not silent"
    numbers.there["a"] = 1
    assert planned(coordinator, 1_100, b=ReadSoFar(1, 3, ended=False)) == [("a", 0, 1)]


def test_a_source_says_when_it_is_to_be_asked(coordinator: SourceCoordinator, numbers: Numbers) -> None:
    numbers.hint_ms = 3_000
    assert planned(coordinator, 1_000) == []
    numbers.there["a"] = 1
    assert planned(coordinator, 2_990) == []
    assert planned(coordinator, 3_000) == [("a", 0, 1)]


def test_tasks_that_begin_get_all_again(coordinator: SourceCoordinator, numbers: Numbers) -> None:
    numbers.there = {"a": 5, "b": 0}
    assert planned(coordinator, 0) == [("a", 0, 5)]
    coordinator.hand_out(10, everything=True)
    assert planned(coordinator, 10) == [("a", 0, 5)], "what was read of it does not count"


def test_nothing_is_planned_of_a_source_that_comes_to_its_end(
    coordinator: SourceCoordinator, numbers: Numbers
) -> None:
    numbers.there = {"a": 5, "b": 5}
    coordinator.drain()
    assert planned(coordinator, 0) == []


def test_all_is_read_when_the_tasks_have_read_each_split_to_its_end(
    coordinator: SourceCoordinator, numbers: Numbers
) -> None:
    numbers.there = {"a": 5, "b": 3}
    planned(coordinator, 0)
    over = ReadSoFar(1, 5, ended=True)
    assert not coordinator.are_read({})
    assert not coordinator.are_read({"a": over})
    assert not coordinator.are_read({"a": over, "b": ReadSoFar(1, 3, ended=False)})
    assert coordinator.are_read({"a": over, "b": ReadSoFar(1, 3, ended=True)})
