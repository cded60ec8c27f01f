"""What a committer may hand to its tasks, and what they may answer."""

from __future__ import annotations

import pytest

from firesteel.common.errors import RecordTooLargeError
from firesteel.jobmanager.commit_tasks import CommitTasks
from firesteel.testing.local_platform import LocalEngine


class CountingEngine(LocalEngine):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []

    def do(self, parts, work, what):  # type: ignore[no-untyped-def]
        self.calls.append(parts)
        return super().do(parts, work, what)


def test_arguments_go_in_portions_that_the_jvm_can_take() -> None:
    engine = CountingEngine()
    tasks = CommitTasks(engine.do, "a sink", largest=1000)
    arguments = [bytes(400), bytes(400), bytes(900), bytes(10), bytes(10)]
    assert tasks(len, arguments) == [400, 400, 900, 10, 10]
    assert engine.calls == [2, 3]
    assert tasks(len, []) == []


def test_an_argument_above_the_limit_is_refused() -> None:
    tasks = CommitTasks(LocalEngine().do, "a sink", largest=1000)
    with pytest.raises(RecordTooLargeError, match="What a task of a commit of a sink is given of 2,0") as e:
        tasks(len, [b"small", bytes(2000)])
    assert "firesteel.exchange.max-record-size" in str(e.value)


def test_an_answer_above_the_limit_is_refused() -> None:
    tasks = CommitTasks(LocalEngine().do, "a sink", largest=1000)
    with pytest.raises(RecordTooLargeError, match="The answer of a task of a commit of 2,0"):
        tasks(bytes, [2000])
