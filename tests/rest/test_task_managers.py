"""Task managers: executors with their slots, whatever jobs there are."""

from __future__ import annotations

import pytest

from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.monitoring.values import free_slots
from firesteel.rest.answers.machines import task_manager, task_managers
from firesteel.rest.errors import RestError
from tests.rest.test_size import view

MEBI = 1 << 20
ONE = WorkerInfo("a:1-00", "a:1", slots=4, cores=8, heap_bytes=4096 * MEBI, seen_ms=7)
TWO = WorkerInfo("b:1-00", "b:1", slots=2, cores=2, heap_bytes=0, seen_ms=8)


@pytest.mark.row("S-CTRL-10", "S-CTRL-14")
def test_each_executor_is_there_with_its_slots() -> None:
    found = task_managers(Machines((ONE, TWO)), []).taskmanagers
    assert [(one.id, one.slots_number, one.free_slots) for one in found] == [
        ("a:1-00", 4, 4),
        ("b:1-00", 2, 2),
    ]
    assert [one.time_since_last_heartbeat for one in found] == [7, 8]
    assert free_slots(Machines((ONE, TWO)), [view(1, 6)]) == 3, "a job takes slots of the whole"
    with pytest.raises(RestError, match="c:1-00"):
        task_manager("c:1-00", Machines((ONE, TWO)), [])


@pytest.mark.row("S-SLOT-05", "S-SLOT-07")
def test_slots_share_an_executor_equally_and_each_holds_a_subtask_of_each_vertex() -> None:
    jobs = [view(1, 4), view(2, 3, 3)]  # two vertices of two subtasks, three of one
    found = task_manager(ONE.id, Machines((ONE,)), jobs)
    assert (found.free_slots, found.assigned_tasks) == (1, 7)
    assert isinstance(found.allocated_slots, list)
    assert [(slot.job_id, slot.assigned_tasks) for slot in found.allocated_slots] == [
        (jobs[0].job_id, 2),
        (jobs[0].job_id, 2),
        (jobs[1].job_id, 3),
    ]
    profiles = [slot.resource for slot in found.allocated_slots]
    assert {(one.cpu_cores, one.task_heap_memory) for one in profiles} == {(2.0, 1024)}
    taken = sum(one.cpu_cores for one in profiles)
    assert taken + found.free_resource.cpu_cores == found.total_resource.cpu_cores == 8
