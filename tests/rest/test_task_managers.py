"""Task managers: executors with their slots, whatever jobs there are."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from firesteel.common.configuration import Configuration
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.monitoring.values import free_slots
from firesteel.rest.answers.machines import slots, task_manager, task_managers
from firesteel.rest.errors import RestError
from firesteel.spark.settings import MANAGED_MEMORY, settings_of
from tests.rest.support import api
from tests.rest.test_size import Views, view

MEBI = 1 << 20
ONE = WorkerInfo(
    "a:1-00", "a:1", slots=4, cores=8, heap_bytes=4096 * MEBI, seen_ms=7, managed_bytes=800 * MEBI
)
TWO = WorkerInfo("b:1-00", "b:1", slots=2, cores=2, heap_bytes=0, seen_ms=8)


@pytest.mark.row("S-CTRL-10", "S-CTRL-14")
def test_each_executor_is_there_with_its_slots() -> None:
    found = task_managers(Machines((ONE, TWO)), []).taskmanagers
    assert [(one.id, one.slots_number, one.free_slots) for one in found] == [
        ("a:1-00", 4, 4),
        ("b:1-00", 2, 2),
    ]
    assert free_slots(Machines((ONE, TWO)), [replace(view(1, 6), held_slots=5)]) == 1, (
        "in real time all tasks"
    )
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
    assert {(one.cpu_cores, one.task_heap_memory, one.managed_memory) for one in profiles} == {
        (2.0, 1024, 200)
    }
    taken = sum(one.cpu_cores for one in profiles)
    assert taken + found.free_resource.cpu_cores == found.total_resource.cpu_cores == 8
    managed = sum(one.managed_memory for one in profiles)
    assert managed + found.free_resource.managed_memory == found.total_resource.managed_memory == 800
    assert found.hardware.managed_memory == found.memory_configuration.managed_memory == 800 * MEBI


@pytest.mark.row("S-SLOT-05")
def test_managed_memory_is_that_which_the_application_was_started_with() -> None:
    sizes = {"taskmanager.memory.flink.size": "2g", "taskmanager.memory.managed.size": "800m"}
    assert settings_of(Configuration.from_dict(sizes))[MANAGED_MEMORY] == str(800 * MEBI)
    assert MANAGED_MEMORY not in settings_of(Configuration())


@pytest.mark.row("S-SLOT-07")
def test_a_slot_says_which_attempts_are_in_it() -> None:
    jobs = [view(1, 4), view(2, 3, 3)]
    found = slots(ONE.id, Machines((ONE,)), jobs).slots
    assert [[(task.name, task.subtask) for task in slot.tasks] for slot in found] == [
        [("vertex 0", 0), ("vertex 1", 0)],
        [("vertex 0", 1), ("vertex 1", 1)],
        [("vertex 0", 0), ("vertex 1", 0), ("vertex 2", 0)],
    ]
    attempt = jobs[0].vertices[1].subtasks[1].attempt
    task = found[1].tasks[1]
    assert (task.vertex_id, task.execution_id, task.attempt) == (
        jobs[0].vertices[1].id,
        attempt.id,
        attempt.number,
    )
    assert {slot.job_id for slot in found} == {job.job_id for job in jobs}
    with pytest.raises(RestError, match="several executors"):
        slots(ONE.id, Machines((ONE, TWO)), jobs)
    with pytest.raises(RestError, match="c:1-00"):
        slots("c:1-00", Machines((ONE,)), jobs)


class Growing(Views):
    """A cluster whose executors come and go."""

    workers: tuple[WorkerInfo, ...] = (ONE,)

    async def machines(self) -> Machines:
        return Machines(self.workers)


@pytest.mark.row("S-METR-11")
def test_slots_follow_the_executors_that_join_and_leave() -> None:
    cluster = Growing([view(1, 6)])  # three slots
    with api(cluster) as client:  # type: ignore[arg-type]

        def slots() -> tuple[int, int, int]:
            found = client.get("/overview").json()
            return found["taskmanagers"], found["slots-total"], found["slots-available"]

        assert slots() == (1, 4, 1)
        cluster.workers = (ONE, TWO)
        assert slots() == (2, 6, 3)
        cluster.workers = (TWO,)
        assert slots() == (1, 2, 0)
        shown = client.get("/taskmanagers").json()["taskmanagers"]
        assert [(one["id"], one["totalResource"]["cpuCores"]) for one in shown] == [(TWO.id, 2.0)]


@pytest.mark.row("S-SLOT-07")
def test_the_slots_of_a_task_manager_are_asked_for_by_rest() -> None:
    with api(Growing([view(1, 4)])) as client:  # type: ignore[arg-type]
        found = client.get(f"/firesteel/v1/taskmanagers/{ONE.id}/slots").json()["slots"]
        assert [[task["subtask"] for task in slot["tasks"]] for slot in found] == [[0, 0], [1, 1]]
        assert client.get("/firesteel/v1/taskmanagers/nobody/slots").status_code == 404
