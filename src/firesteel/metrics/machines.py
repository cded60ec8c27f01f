"""What is known of the machines that a cluster runs on: plain data, which any process may read."""

from __future__ import annotations

import msgspec

#: Names as Flink calls its metrics (``Status.JVM.Memory.Heap.Used``), with their values.
Figures = tuple[tuple[str, int | float], ...]


class WorkerInfo(msgspec.Struct, frozen=True):
    """A process that runs tasks: an executor of Spark.

    :param id: the same as long as the process lives, and no other's.
    :param endpoint: ``host:port``.
    :param slots: how many tasks it runs at once.
    :param heap_bytes: the size that its heap may have; 0: not known.
    :param managed_bytes: its managed memory, for state; 0: it has no such bound.
    :param seen_ms: when it was last heard of.
    :param figures: of its JVM; empty: nobody asked it.
    :param logs: where each of its logs is shown, by name; empty: nobody has said so.
    :param in_driver: whether it is the process of the driver itself.
    """

    id: str
    endpoint: str
    slots: int
    cores: int
    heap_bytes: int
    seen_ms: int
    figures: Figures = ()
    logs: tuple[tuple[str, str], ...] = ()
    in_driver: bool = False
    managed_bytes: int = 0


class JvmInfo(msgspec.Struct, frozen=True):
    """The virtual machine of the driver."""

    version: str
    arch: str
    options: tuple[str, ...]
    classpath: tuple[str, ...]


class Machines(msgspec.Struct, frozen=True):
    """The processes of a cluster at one moment.

    :param jvm: None when there is none, or none yet.
    :param ui: the URL of Spark's own pages; None: there are none.
    :param slots_to_come: how many slots executors may have that Spark adds when tasks wait for one.
    """

    workers: tuple[WorkerInfo, ...] = ()
    jvm: JvmInfo | None = None
    figures: Figures = ()
    ui: str | None = None
    slots_to_come: int = 0

    @property
    def slots(self) -> int:
        return sum(worker.slots for worker in self.workers)

    def worker(self, worker_id: str) -> WorkerInfo | None:
        return next((worker for worker in self.workers if worker.id == worker_id), None)
