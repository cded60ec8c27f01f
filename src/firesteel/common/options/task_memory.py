"""Flink's memory model of a task manager. What becomes of each part on Spark: ``common/memory_budget.py``."""

from __future__ import annotations

from typing import Any, Final

from firesteel.common.config_options import Bounds, ConfigOption
from firesteel.common.options._declare import boolean, integer, memory, number

PREFIX: Final = "taskmanager.memory."
_MIB: Final = 1 << 20


def part(name: str, default: int | None, description: str, older: str | None = None) -> ConfigOption[Any]:
    names = () if older is None else (older,)
    return memory(PREFIX + name, default, description, bounds=Bounds(0), scope="process", older_names=names)


def share(name: str, default: float, description: str, older: str | None = None) -> ConfigOption[float]:
    names = () if older is None else (older,)
    return number(PREFIX + name, default, description, scope="process", older_names=names)


PROCESS: Final = part(
    "process.size",
    None,
    "All memory of an executor with its Python workers. From it come the sizes that Spark is given "
    "(`firesteel memory` shows them); without any key of `taskmanager.memory` Spark's own settings count.",
)
FLINK: Final = part("flink.size", None, "The same without metaspace and overhead of the JVM.")
FRAMEWORK_HEAP: Final = part(
    "framework.heap.size",
    128 * _MIB,
    "Heap of an executor's JVM for Spark: a part of `spark.executor.memory`.",
)
TASK_HEAP: Final = part(
    "task.heap.size",
    None,
    "Memory for the objects of the program. They are Python's: a part of `spark.executor.pyspark.memory`.",
)
FRAMEWORK_OFF_HEAP: Final = part(
    "framework.off-heap.size", 128 * _MIB, "A part of `spark.executor.memoryOverhead`."
)
TASK_OFF_HEAP: Final = part("task.off-heap.size", 0, "A part of `spark.executor.memoryOverhead`.")
MANAGED: Final = part(
    "managed.size",
    None,
    "Memory for the state that tasks keep: a part of `spark.executor.pyspark.memory`, and with "
    "`state.backend.rocksdb.memory.managed` the bound of the caches of all subtasks of an executor.",
    older="taskmanager.memory.size",
)
MANAGED_FRACTION: Final = share(
    "managed.fraction", 0.4, "The same as a share of `taskmanager.memory.flink.size`."
)
NETWORK_FRACTION: Final = share(
    "network.fraction",
    0.1,
    "Memory of exchanges as a share of `taskmanager.memory.flink.size`: Spark has it in the heap of the "
    "JVM, a part of `spark.executor.memory`.",
    older="taskmanager.network.memory.fraction",
)
NETWORK_MIN: Final = part(
    "network.min", 64 * _MIB, "The least of it.", older="taskmanager.network.memory.min"
)
NETWORK_MAX: Final = part(
    "network.max", (1 << 63) - 1, "The most of it.", older="taskmanager.network.memory.max"
)
METASPACE: Final = part("jvm-metaspace.size", 256 * _MIB, "A part of `spark.executor.memoryOverhead`.")
OVERHEAD_FRACTION: Final = share(
    "jvm-overhead.fraction",
    0.1,
    "Stacks, code and the like as a share of `taskmanager.memory.process.size`: a part of "
    "`spark.executor.memoryOverhead`.",
)
OVERHEAD_MIN: Final = part("jvm-overhead.min", 192 * _MIB, "The least of it.")
OVERHEAD_MAX: Final = part("jvm-overhead.max", 1024 * _MIB, "The most of it.")
SLOTS: Final = integer(
    "taskmanager.numberOfTaskSlots",
    1,
    "Tasks that an executor runs at a time: `spark.executor.cores`, where that is not set.",
    scope="process",
    bounds=Bounds(1),
)
ROCKSDB_MANAGED: Final = boolean(
    "state.backend.rocksdb.memory.managed",
    True,
    "Whether managed memory bounds the state that tasks keep in memory, for the backend rocksdb. It does "
    "where a size of `taskmanager.memory` is set, and `state.backend.rocksdb.memory.fixed-per-slot` is not.",
)
