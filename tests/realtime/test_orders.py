"""How a source task follows the orders of the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import EngineError
from firesteel.runtime import stretch
from firesteel.runtime.checkpoint_news import CheckpointNews
from firesteel.runtime.messages import Answer, Cut, Messages, Order
from firesteel.runtime.stretch import Lifetime, SourceTask, StretchOver


class Loop:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.epoch = 1
        self.told: list[Any] = []
        self.ranges_over = 0
        self.has = 0  # records for the next poll
        self.rest = 0.0
        self.free_ms = 0.0  # how long nothing is due
        self.waited: list[float] = []  # how long at most, by step

    def cut(self, drain: bool, news: CheckpointNews) -> None:
        self.told.append(("cut", self.epoch, drain))
        self.epoch += 1

    def poll(self, wait_ms: float, max_records: int) -> tuple[int, float]:
        found = min(self.has, max_records)
        self.has = 0
        return found, 0.0

    def on_time(self) -> None: ...

    def rest_ms(self) -> float:
        return self.rest

    def wait_ms(self, at_most: float) -> float:
        self.waited.append(at_most)
        return self.free_ms

    def __getattr__(self, name: str) -> Any:
        return lambda value: self.told.append((name, value))


@pytest.fixture
def messages(tmp_path: Path) -> Messages:
    made = Messages(str(tmp_path / "stretch"))
    made.begin()
    return made


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def task(loop: Loop, messages: Messages) -> SourceTask:
    return SourceTask(loop, 0, messages, look_ms=0.0)  # type: ignore[arg-type]


def test_an_epoch_ends_at_its_instant(task: SourceTask, messages: Messages, loop: Loop) -> None:
    messages.give_order(0, Order(cut=Cut(1, 100.0)))
    task.step(99.0)
    assert loop.told == []
    task.step(100.0)
    task.step(200.0)
    assert loop.told == [("cut", 1, False)]


def test_an_epoch_is_to_end_earlier_than_was_said(task: SourceTask, messages: Messages, loop: Loop) -> None:
    messages.give_order(0, Order(cut=Cut(1, 5_000.0)))
    task.step(1.0)
    messages.give_order(1, Order(cut=Cut(1, 50.0, stop=True, drain=True)))
    task.step(60.0)
    assert loop.told == [("cut", 1, True)]
    assert task.has_ended


def test_an_order_for_an_epoch_that_has_ended_changes_nothing(
    task: SourceTask, messages: Messages, loop: Loop
) -> None:
    messages.give_order(0, Order(cut=Cut(1, 10.0)))
    task.step(20.0)
    messages.give_order(1, Order(cut=Cut(1, 30.0, stop=True)))
    task.step(40.0)
    assert loop.told == [("cut", 1, False)]
    assert not task.has_ended


def test_all_that_an_order_says_is_obeyed(task: SourceTask, messages: Messages, loop: Loop) -> None:
    splits = {("vertex", 0): {"source": [("split", 7)]}}
    messages.give_order(0, Order(splits=splits, complete=frozenset({"source"}), limits={"source": 3}))  # type: ignore[dict-item]
    messages.give_order(1, Order())
    task.step(0.0)
    assert loop.told == [
        ("complete", {"source"}),
        ("hold_above", {"source": 3}),
        ("add_splits", splits),
    ]


def test_a_task_leaves_at_once(task: SourceTask, messages: Messages, loop: Loop) -> None:
    messages.give_order(0, Order(cut=Cut(1, 0.0)))
    messages.give_order(1, Order(leave=True))
    task.step(10.0)
    assert task.has_ended
    assert loop.told == []


def test_a_task_ends_when_its_messages_are_removed(task: SourceTask, messages: Messages, loop: Loop) -> None:
    """Its job has failed elsewhere, and it is idle: Spark would not see it for seconds."""
    messages.give_order(0, Order(cut=Cut(1, 100.0)))
    task.step(1.0)
    messages.remove()
    with pytest.raises(StretchOver):
        task.step(2.0)
    assert loop.told == []


def test_it_is_seen_now_and_then_whether_a_stretch_goes_on(
    messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(stretch.time, "monotonic", lambda: now_s)
    lifetime = Lifetime(messages, every_s=0.1)
    messages.remove()
    now_s += 0.05
    lifetime.see()
    now_s += 0.06
    with pytest.raises(StretchOver):
        lifetime.see()


def test_a_task_whose_driver_is_silent_ends(
    task: SourceTask, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages.give_order(0, Order())
    task.step(0.0)
    monkeypatch.setattr(stretch, "_SILENCE_S", -1.0)
    with pytest.raises(EngineError, match="The driver gives no orders any more"):
        task.step(0.0)


def test_a_task_that_reads_nothing_looks_less_often(
    messages: Messages, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(stretch.time, "monotonic", lambda: now_s)
    task = SourceTask(loop, 0, messages, look_ms=20.0)  # type: ignore[arg-type]

    def waits_ms() -> float:
        loop.waited.clear()
        task.step(0.0)
        return loop.waited[0]

    assert waits_ms() == messages.look_ms == 20
    now_s += 1.1
    waits_ms()
    assert waits_ms() == messages.idle_look_ms == 100
    loop.has = 1
    task.step(0.0)
    task.step(0.0)
    assert waits_ms() == 20


def test_a_task_sleeps_while_what_it_reads_would_wait_in_a_buffer(
    task: SourceTask, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(stretch.time, "sleep", slept.append)
    loop.rest, loop.has = 0.004, 1_000
    task.step(0.0)
    assert slept == [], "nothing is due for as long as that"
    loop.free_ms = 5.0
    task.step(0.0)
    assert slept == [], "more was there than it has asked for"
    task.step(0.0)
    assert slept == [0.004 / 1000]


def test_no_task_sleeps_beyond_the_end_of_an_epoch(
    task: SourceTask, messages: Messages, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(stretch.time, "sleep", slept.append)
    messages.give_order(0, Order(cut=Cut(1, 102.0)))
    loop.rest, loop.free_ms = 4.0, 5.0
    task.step(100.0)
    assert slept == [0.002]


def test_messages_are_found_once_they_are_written(messages: Messages) -> None:
    assert messages.order(0) is None
    assert messages.answer_of(1, 0, 0) is None
    messages.answer(1, 0, 0, Answer([], None, 0.0))
    assert messages.answer_of(1, 0, 0) == Answer([], None, 0.0)
    assert messages.answer_of(2, 0, 0) is None
    messages.forget_answer(1, 0, 0)
    assert messages.answer_of(1, 0, 0) is None
    messages.remove()
    messages.remove()
