"""Committers that have tasks do their work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from firesteel.common.errors import ConnectorError, EngineError
from firesteel.connectors import CommitRequest, Committable, CommitterContext
from firesteel.connectors._subtask_commits import TryLaterError, commit_by_subtask
from firesteel.jobmanager.commit_tasks import CommitTasks
from firesteel.program.sinks import CommitOutcome, RunTasks, run_here
from firesteel.testing.local_platform import LocalEngine
from tests.waiting import patience

COMMITTED, RETRY, FAILED = CommitOutcome.COMMITTED, CommitOutcome.RETRY, CommitOutcome.FAILED
LARGE = 1 << 20
done: list[tuple[int, list[Any]]] = []


def context(tasks: RunTasks) -> CommitterContext:
    return CommitterContext("job", "sink", lambda: 0, tasks)


def on_engine() -> CommitTasks:
    return CommitTasks(LocalEngine().do, "a sink")


def requests(*committables: tuple[int, int, Any]) -> list[CommitRequest]:
    return [CommitRequest(Committable(subtask, epoch, payload)) for epoch, subtask, payload in committables]


class Stubborn(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("it stays where it is")


def commit(trouble: dict[int, BaseException], subtask: int, payloads: list[Any]) -> None:
    if subtask in trouble:
        raise trouble[subtask]
    done.append((subtask, payloads))


def outcomes(found: Sequence[CommitRequest]) -> list[CommitOutcome]:
    return [request.outcome for request in found]


def setup_function() -> None:
    done.clear()


def test_a_task_gets_what_its_subtask_has_staged_in_order() -> None:
    asked = requests((1, 0, "a"), (1, 2, "b"), (2, 0, "c"), (2, 2, "d"), (3, 1, "e"))
    commit_by_subtask(context(on_engine()), asked, partial(commit, {}), LARGE)
    assert done == [(0, ["a", "c"]), (2, ["b", "d"]), (1, ["e"])]
    assert outcomes(asked) == [COMMITTED] * 5


def test_nothing_to_commit_runs_nothing() -> None:
    engine = LocalEngine()
    commit_by_subtask(context(CommitTasks(engine.do, "a sink")), [], partial(commit, {}), LARGE)
    assert engine.parts_done == 0


def test_a_subtask_that_fails_is_the_only_one() -> None:
    trouble = {0: TryLaterError("not now"), 1: ValueError("never")}
    asked = requests((1, 0, "a"), (1, 1, "b"), (1, 2, "c"), (2, 0, "d"))
    commit_by_subtask(context(on_engine()), asked, partial(commit, trouble), LARGE)
    assert outcomes(asked) == [RETRY, FAILED, COMMITTED, RETRY]
    assert isinstance(asked[1].error, ValueError)
    assert "in commit" in "".join(asked[1].error.__notes__), "where it was raised is shown"


def test_an_error_that_does_not_travel_is_described() -> None:
    asked = requests((1, 0, "a"))
    commit_by_subtask(context(run_here), asked, partial(commit, {0: Stubborn("what is wrong")}), LARGE)
    assert outcomes(asked) == [FAILED]
    assert isinstance(asked[0].error, ConnectorError)
    assert "Stubborn: what is wrong" in str(asked[0].error)


def test_tasks_that_are_lost_are_tried_again() -> None:
    def lost(work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        raise EngineError("an executor was lost")

    asked = requests((1, 0, "a"), (1, 1, "b"))
    commit_by_subtask(context(lost), asked, partial(commit, {}), LARGE)
    assert outcomes(asked) == [RETRY, RETRY]


def test_little_is_committed_without_tasks_by_subtasks_at_once() -> None:
    engine = LocalEngine()
    together = threading.Barrier(3, timeout=patience(30))

    def commit_together(subtask: int, payloads: list[Any]) -> None:
        together.wait()
        if subtask == 1:
            raise TryLaterError("not now")

    asked = requests((1, 0, "a"), (1, 1, "b"), (1, 2, "c"))
    commit_by_subtask(context(CommitTasks(engine.do, "a sink")), asked, commit_together, 100)
    assert outcomes(asked) == [COMMITTED, RETRY, COMMITTED]
    assert engine.parts_done == 0
