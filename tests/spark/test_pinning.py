"""Which worker process runs which task."""

from __future__ import annotations

import random

import pytest

from firesteel.spark.pinning import JOB_OF_SUBTASKS, Assignments, Subtask, Worker, subtask_of
from firesteel.spark.task_header import TaskHeader

MANY = 100  # processes: there are never as many


def workers(count: int) -> tuple[Assignments[Worker], list[Worker]]:
    assignments: Assignments[Worker] = Assignments()
    found = [Worker(pid) for pid in range(1, count + 1)]
    for worker in found:
        assignments.add(worker)
    return assignments, found


def run(assignments: Assignments[Worker], subtask: Subtask | None, most: int = MANY) -> Worker:
    """Give a task to a process, a new one if need be; it is busy from there on."""
    worker = assignments.worker_for(subtask, most)
    if worker is None:
        worker = Worker(1 + max((worker.pid for worker in assignments), default=0))
        assignments.add(worker)
    assert not worker.is_busy
    if subtask is not None:
        assignments.assign(subtask, worker)
    worker.is_busy = True
    return worker


def run_at_once(assignments: Assignments[Worker], subtasks: list[Subtask], most: int = MANY) -> list[Worker]:
    """Tasks that run at the same time, and end."""
    found = [run(assignments, subtask, most) for subtask in subtasks]
    for worker in found:
        worker.is_busy = False
    return found


def of_job(job: str, count: int) -> list[Subtask]:
    return [(job, number) for number in range(count)]


def test_a_task_is_of_the_subtask_that_has_the_number_of_its_partition() -> None:
    assert subtask_of(TaskHeader(3, {JOB_OF_SUBTASKS: "a", "other": "b"})) == ("a", 3)
    assert subtask_of(TaskHeader(3, {"other": "b"})) is None
    assert subtask_of(TaskHeader(3, {JOB_OF_SUBTASKS: ""})) is None, "how Spark's properties are taken back"


def test_a_subtask_stays_with_its_process() -> None:
    assignments, _ = workers(0)
    subtasks = of_job("a", 3)
    first = dict(zip(subtasks, run_at_once(assignments, subtasks), strict=True))
    assert len(set(first.values())) == len(assignments) == 3
    for order in ([2, 1, 0], [1, 2, 0], [0, 2, 1]):
        again = [subtasks[number] for number in order]
        assert run_at_once(assignments, again) == [first[subtask] for subtask in again]
    assert [worker.subtasks for worker in first.values()] == [{"a": {0}}, {"a": {1}}, {"a": {2}}]
    assert not any(worker.moved for worker in assignments)


def test_a_process_that_is_busy_is_not_waited_for() -> None:
    assignments, (first, second) = workers(2)
    assert run(assignments, ("a", 0)) is first
    assert run(assignments, ("a", 0)) is second
    assert (first.subtasks, first.moved) == ({}, {("a", 0)})
    assert (second.subtasks, second.moved) == ({"a": {0}}, set())
    first.is_busy = second.is_busy = False
    assert run(assignments, ("a", 0)) is second, "it stays where it is now"


def test_a_subtask_is_at_work_where_its_process_is_busy() -> None:
    assignments, (first, _) = workers(2)
    assert not assignments.is_at_work(("a", 0)), "it is nowhere"
    run_at_once(assignments, [("a", 0)])
    assert not assignments.is_at_work(("a", 0))
    assert run(assignments, ("b", 0)) is not first
    assert not assignments.is_at_work(("a", 0))
    first.is_busy = True
    assert assignments.is_at_work(("a", 0)), "whatever the process runs"
    assert not assignments.is_at_work(("a", 1))
    assert not assignments.is_at_work(None)
    assignments.remove(first)
    assert not assignments.is_at_work(("a", 0))


def test_a_subtask_that_comes_back_has_not_moved() -> None:
    assignments, (first, second) = workers(2)
    for worker in (first, second):
        assert run(assignments, ("a", 0)) is worker
    first.is_busy = False
    assert run(assignments, ("a", 0)) is first
    assert (first.subtasks, first.moved) == ({"a": {0}}, set())
    assert (second.subtasks, second.moved) == ({}, {("a", 0)})


def test_there_is_a_new_process_where_all_are_busy_however_many_there_are() -> None:
    assignments, (worker,) = workers(1)
    worker.is_busy = True
    assert assignments.worker_for(("a", 0), 1) is None
    assert assignments.worker_for(None, 1) is None


def test_a_process_has_several_subtasks_of_a_job_only_where_there_are_the_most_processes() -> None:
    assignments, _ = workers(0)
    subtasks = of_job("a", 6)
    for subtask in subtasks:  # one at a time: a process is always free
        run_at_once(assignments, [subtask], most=3)
    assert [worker.subtasks for worker in assignments] == [{"a": {0, 3}}, {"a": {1, 4}}, {"a": {2, 5}}]
    run_at_once(assignments, [("a", 6)], most=4)
    assert [worker.subtasks["a"] for worker in assignments] == [{0, 3}, {1, 4}, {2, 5}, {6}]


def test_subtasks_of_two_jobs_share_processes() -> None:
    assignments, _ = workers(0)
    for job in "ab":
        for subtask in of_job(job, 3):
            run_at_once(assignments, [subtask])
    assert [worker.subtasks for worker in assignments] == [{"a": {n}, "b": {n}} for n in range(3)]


def test_a_process_with_fewer_subtasks_is_taken_first() -> None:
    assignments, found = workers(3)
    for subtask in (("a", 0), ("a", 1), ("b", 0), ("c", 0)):
        run_at_once(assignments, [subtask])
    assert [worker.subtasks for worker in found] == [{"a": {0}, "c": {0}}, {"a": {1}}, {"b": {0}}]
    run_at_once(assignments, [("d", 0)])
    assert found[1].subtasks == {"a": {1}, "d": {0}}


def test_what_stays_nowhere_runs_where_nothing_stays() -> None:
    assignments, (first, second) = workers(2)
    run_at_once(assignments, [("a", 0)])
    assert first.subtasks
    assert assignments.worker_for(None, 1) is second
    second.is_busy = True
    assert assignments.worker_for(None, 1) is None, "a new one, however many there are"
    second.is_busy = False
    run_at_once(assignments, [("a", 1)])
    assert assignments.worker_for(None, 1) is None


def test_subtasks_of_a_process_that_has_ended_are_free() -> None:
    assignments, (first, second) = workers(2)
    run_at_once(assignments, [("a", 0), ("a", 1)])
    run_at_once(assignments, [("b", 0)])
    assert first.subtasks == {"a": {0}, "b": {0}}
    assignments.remove(first)
    assert list(assignments) == [second]
    assert len(assignments) == 1
    for job in "ab":
        taker = run(assignments, (job, 0))
        assert taker is not first
        taker.is_busy = False
    assert run(assignments, ("a", 1)) is second
    assert not any(worker.moved for worker in assignments), "nobody is there to be told"


def test_a_subtask_that_moved_does_not_go_with_the_process_that_it_was_with() -> None:
    assignments, (first, second) = workers(2)
    run(assignments, ("a", 0))
    run(assignments, ("a", 0))
    assignments.remove(first)
    second.is_busy = False
    assert run(assignments, ("a", 0)) is second


def test_workers_may_be_removed_while_they_are_looked_through() -> None:
    assignments, _ = workers(3)
    for worker in assignments:
        assignments.remove(worker)
    assert len(assignments) == 0


@pytest.mark.parametrize("subtasks", [1, 2])
def test_the_oldest_of_65_jobs_is_forgotten(subtasks: int) -> None:
    assignments, (worker,) = workers(1)
    jobs = [f"job {number}" for number in range(65)]
    for job in jobs[:64]:
        for subtask in of_job(job, subtasks):
            run_at_once(assignments, [subtask], most=1)
    assert list(worker.subtasks) == jobs[:64]
    run_at_once(assignments, [(jobs[64], 0)], most=1)
    assert list(worker.subtasks) == jobs[1:]
    other = Worker(2)
    assignments.add(other)
    worker.is_busy = True
    for number in range(subtasks):  # it stays nowhere
        assert run(assignments, (jobs[0], number), most=1) is other
        other.is_busy = False
    assert worker.moved == {(jobs[0], number) for number in range(subtasks)}, "what it has of them is closed"
    worker.is_busy = False
    assert run(assignments, (jobs[1], 0)) is worker


def test_a_job_that_has_tasks_is_not_the_oldest() -> None:
    assignments, (worker,) = workers(1)
    jobs = [f"job {number}" for number in range(64)]
    for job in [*jobs, jobs[0], "one more"]:
        run_at_once(assignments, [(job, 0)], most=1)
    assert list(worker.subtasks) == [*jobs[2:], jobs[0], "one more"]


def test_a_process_with_the_number_of_one_that_has_ended_stays() -> None:
    assignments, (before,) = workers(1)
    anew = Worker(before.pid)
    assignments.add(anew)
    assignments.remove(before)
    assert list(assignments) == [anew]


@pytest.mark.parametrize("seed", range(20))
def test_a_subtask_has_one_process_whatever_happens(seed: int) -> None:
    """Tasks come, go and are killed. ``told``: what each process believes to stay with it."""
    chance = random.Random(seed)
    assignments, _ = workers(0)
    subtasks = [subtask for job in "abc" for subtask in of_job(job, 4)]
    most = chance.randint(1, 8)
    homes: dict[Subtask, Worker] = {}
    told: dict[Worker, set[Subtask]] = {}
    moves = deaths = 0
    for _ in range(500):
        busy = [worker for worker in assignments if worker.is_busy]
        match chance.choice(["task", "task", "other", "end", "end", "kill"]):
            case "task" if len(busy) < 6:
                subtask = chance.choice(subtasks)
                home = homes.get(subtask)
                stays_there = home is not None and not home.is_busy
                before = len(assignments)
                worker = run(assignments, subtask, most)
                assert (worker is home) == stays_there
                if len(assignments) > before:
                    assert before < most or len(busy) == before, "a new process with enough that are free"
                others = [n for n in worker.subtasks[subtask[0]] if (subtask[0], n) != subtask]
                if worker is not home and others:
                    assert before >= most, "several subtasks of a job in a process"
                moves += home is not None and worker is not home
                homes[subtask] = worker
                known = told.setdefault(worker, set())
                known.difference_update(worker.moved)
                worker.moved.clear()
                known.add(subtask)
            case "other" if len(busy) < 6:
                worker = run(assignments, None, most)
                assert not worker.subtasks
                told.setdefault(worker, set()).difference_update(worker.moved)
                worker.moved.clear()
            case "end" if busy:
                chance.choice(busy).is_busy = False
            case "kill" if len(assignments) and chance.random() < 0.2:
                worker = chance.choice(list(assignments))
                assignments.remove(worker)
                told.pop(worker, None)
                homes = {subtask: home for subtask, home in homes.items() if home is not worker}
                deaths += 1
        held = [(job, n, w) for w in assignments for job, numbers in w.subtasks.items() for n in numbers]
        assert len(held) == len(homes), "a subtask with two processes, or with none"
        assert {(job, number): worker for job, number, worker in held} == homes
        for worker in assignments:
            stays = {subtask for subtask, home in homes.items() if home is worker}
            assert told.get(worker, set()) - worker.moved == stays, "who has not been told"
            assert not worker.moved & stays
            assert all(worker.subtasks.values()), "a job without subtasks"
    assert moves > 5, "it tries nothing"
    assert deaths > 5, "it tries nothing"
