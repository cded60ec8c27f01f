"""Task managers: the executors of Spark. Memory in bytes, but of ``Resource``, which is in megabytes."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Id, Message


class Resource(Message, frozen=True, rename="camel"):
    cpu_cores: float
    task_heap_memory: int
    task_off_heap_memory: int
    managed_memory: int
    network_memory: int
    extended_resources: dict[str, float]


class Hardware(Message, frozen=True, rename="camel"):
    cpu_cores: int
    physical_memory: int
    free_memory: int
    managed_memory: int


class MemoryConfiguration(Message, frozen=True, rename="camel"):
    """Flink's memory model; null where Spark has nothing like it."""

    framework_heap: int | None = None
    task_heap: int | None = None
    framework_off_heap: int | None = None
    task_off_heap: int | None = None
    network_memory: int | None = None
    managed_memory: int | None = None
    jvm_metaspace: int | None = None
    jvm_overhead: int | None = None
    total_flink_memory: int | None = None
    total_process_memory: int | None = None


class GarbageCollector(Message, frozen=True):
    name: str
    count: int
    time: int


class TaskManagerMetrics(Message, frozen=True, rename="camel"):
    """0 where nothing is known (Flink: ``TaskManagerMetricsInfo.empty``)."""

    heap_used: int = 0
    heap_committed: int = 0
    heap_max: int = 0
    non_heap_used: int = 0
    non_heap_committed: int = 0
    non_heap_max: int = 0
    direct_count: int = 0
    direct_used: int = 0
    direct_max: int = 0
    mapped_count: int = 0
    mapped_used: int = 0
    mapped_max: int = 0
    netty_shuffle_memory_segments_available: int = 0
    netty_shuffle_memory_segments_used: int = 0
    netty_shuffle_memory_segments_total: int = 0
    netty_shuffle_memory_available: int = 0
    netty_shuffle_memory_used: int = 0
    netty_shuffle_memory_total: int = 0
    garbage_collectors: list[GarbageCollector] = []


class AllocatedSlot(Message, frozen=True, rename="camel"):
    job_id: Id
    resource: Resource
    assigned_tasks: int


class TaskManager(Message, frozen=True, rename="camel"):
    """The last two fields are there for a single one only."""

    id: str
    path: str
    data_port: int
    jmx_port: int
    time_since_last_heartbeat: int
    slots_number: int
    free_slots: int
    assigned_tasks: int
    total_resource: Resource
    free_resource: Resource
    hardware: Hardware
    memory_configuration: MemoryConfiguration
    allocated_slots: list[AllocatedSlot] | UnsetType = UNSET
    metrics: TaskManagerMetrics | UnsetType = UNSET


class TaskManagers(Message, frozen=True):
    taskmanagers: list[TaskManager]
