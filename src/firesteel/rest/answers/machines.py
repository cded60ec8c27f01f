"""Task managers: the executors of Spark, with slots that are a matter of counting.

Spark gives cores to tasks, not slots to jobs. A job needs as many slots as its widest vertices have subtasks;
what is left of all is free. More jobs than slots share the cores by time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import UNSET

from firesteel.jobmanager.job_view import JobView, SubtaskView, VertexView
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.monitoring.values import slots_of
from firesteel.rest.errors import not_found, unknown_worker
from firesteel.rest.messages.additions import Slot, Slots, SlotTask
from firesteel.rest.messages.taskmanagers import (
    AllocatedSlot,
    GarbageCollector,
    Hardware,
    MemoryConfiguration,
    Resource,
    TaskManager,
    TaskManagerMetrics,
    TaskManagers,
)

_MEBI: Final = 1 << 20
_COLLECTOR: Final = "Status.JVM.GarbageCollector."
_MEMORY: Final = "Status.JVM.Memory."


def task_managers(machines: Machines, views: Iterable[JobView]) -> TaskManagers:
    live = [view for view in views if view.ended_ms is None]
    return TaskManagers(taskmanagers=[_task_manager(w, machines, live) for w in machines.workers])


def task_manager(worker_id: str, machines: Machines, views: Iterable[JobView]) -> TaskManager:
    """Raises RestError when there is none of that id."""
    worker = machines.worker(worker_id)
    if worker is None:
        raise unknown_worker(worker_id)
    live = [view for view in views if view.ended_ms is None]
    return _task_manager(worker, machines, live, details=True)


def _task_manager(
    worker: WorkerInfo, machines: Machines, live: list[JobView], *, details: bool = False
) -> TaskManager:
    alone = len(machines.workers) == 1  # else nobody knows which subtasks are where
    taken = sum(map(slots_of, live)) if alone else 0
    free = max(0, worker.slots - taken)
    slot = _resource(worker, 1)
    return TaskManager(
        id=worker.id,
        path=f"spark://{worker.endpoint}",
        data_port=0,
        jmx_port=-1,
        time_since_last_heartbeat=worker.seen_ms,
        slots_number=worker.slots,
        free_slots=free,
        assigned_tasks=sum(_tasks(view) for view in live) if alone else 0,
        total_resource=_resource(worker, worker.slots),
        free_resource=_resource(worker, free),
        hardware=Hardware(
            cpu_cores=worker.cores,
            physical_memory=_physical_memory() if alone else 0,
            free_memory=worker.heap_bytes,
            managed_memory=worker.managed_bytes,
        ),
        memory_configuration=MemoryConfiguration(
            task_heap=worker.heap_bytes or None, managed_memory=worker.managed_bytes or None
        ),
        allocated_slots=_allocated(live, slot) if details and alone else [] if details else UNSET,
        metrics=_metrics(dict(worker.figures)) if details else UNSET,
    )


def _tasks(view: JobView) -> int:
    return sum(vertex.parallelism for vertex in view.info.vertices)


def _resource(worker: WorkerInfo, slots: int) -> Resource:
    share = slots / worker.slots if worker.slots else 0.0
    return Resource(
        cpu_cores=worker.cores * share,
        task_heap_memory=int(worker.heap_bytes * share) // _MEBI,
        task_off_heap_memory=0,
        managed_memory=int(worker.managed_bytes * share) // _MEBI,
        network_memory=0,
        extended_resources={},
    )


def _allocated(live: list[JobView], slot: Resource) -> list[AllocatedSlot]:
    return [
        AllocatedSlot(job_id=view.job_id, resource=slot, assigned_tasks=len(held))
        for view in live
        for _, held in _held(view)
    ]


def _held(view: JobView) -> Iterator[tuple[str, list[tuple[VertexView, SubtaskView]]]]:
    """Yield the group and the subtasks of each slot of a job: one of each vertex of its group, as far as
    there are so many."""
    by_group: dict[str, list[VertexView]] = {}
    for vertex in view.vertices:
        by_group.setdefault(vertex.info.slot_sharing_group, []).append(vertex)
    for group, vertices in by_group.items():
        for number in range(max(len(vertex.subtasks) for vertex in vertices)):
            yield group, [(v, v.subtasks[number]) for v in vertices if number < len(v.subtasks)]


def slots(worker_id: str, machines: Machines, views: Iterable[JobView]) -> Slots:
    """Say what each slot of a task manager holds.

    :raises RestError: there is none of that id, or there are several: then nobody knows what is where.
    """
    worker = machines.worker(worker_id)
    if worker is None:
        raise unknown_worker(worker_id)
    if len(machines.workers) > 1:
        raise not_found("With several executors Spark decides for each task where it runs: no slot holds it.")
    live = [view for view in views if view.ended_ms is None]
    return Slots(
        slots=[
            Slot(job_id=view.job_id, slot_sharing_group=group, tasks=[_slot_task(*task) for task in held])
            for view in live
            for group, held in _held(view)
        ]
    )


def _slot_task(vertex: VertexView, subtask: SubtaskView) -> SlotTask:
    return SlotTask(
        vertex_id=vertex.id,
        name=vertex.info.name,
        subtask=subtask.index,
        attempt=subtask.attempt.number,
        execution_id=subtask.attempt.id,
    )


def _metrics(figures: Mapping[str, int | float]) -> TaskManagerMetrics:
    def memory(name: str) -> int:
        return int(figures.get(_MEMORY + name, 0))

    collectors = sorted({name.split(".")[3] for name in figures if name.startswith(_COLLECTOR)})
    return TaskManagerMetrics(
        heap_used=memory("Heap.Used"),
        heap_committed=memory("Heap.Committed"),
        heap_max=memory("Heap.Max"),
        non_heap_used=memory("NonHeap.Used"),
        non_heap_committed=memory("NonHeap.Committed"),
        non_heap_max=memory("NonHeap.Max"),
        direct_count=memory("Direct.Count"),
        direct_used=memory("Direct.MemoryUsed"),
        direct_max=memory("Direct.TotalCapacity"),
        mapped_count=memory("Mapped.Count"),
        mapped_used=memory("Mapped.MemoryUsed"),
        mapped_max=memory("Mapped.TotalCapacity"),
        garbage_collectors=[
            GarbageCollector(
                name=name,
                count=int(figures[f"{_COLLECTOR}{name}.Count"]),
                time=int(figures[f"{_COLLECTOR}{name}.Time"]),
            )
            for name in collectors
        ],
    )


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):  # a system that does not say
        return 0
