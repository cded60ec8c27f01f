"""The memory of a task manager by Flink's rules, and what Spark's executors are given for it.

The parts and how they are derived from each other are Flink's (``TaskExecutorProcessUtils``). Spark has three
sizes for an executor, and together they are Flink's process size:

- ``spark.executor.memory``: the JVM's heap, where Spark itself and its exchanges are;
- ``spark.executor.pyspark.memory``: the Python workers, where the program's objects and its state are;
- ``spark.executor.memoryOverhead``: everything else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from firesteel.common._config_values import parse_memory_bytes
from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import task_memory as options
from firesteel.common.options.execution import SPARK_MASTER

__all__ = [
    "ManagedState",
    "MemoryBudget",
    "budget_of",
    "executor_settings",
    "has_executors",
    "managed_state",
    "notices",
    "unmet",
]

_MIB: Final = 1 << 20
#: Spark refuses executors with a smaller heap: it keeps 300 MiB for itself, and wants half as much beside it.
_LEAST_HEAP: Final = 450 * _MIB
_MANAGED: Final = options.MANAGED.key
_CORES: Final = "spark.executor.cores"
_FINE: Final = (options.TASK_HEAP, options.MANAGED)


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Sizes in bytes; ``slots``: how many tasks share them."""

    framework_heap: int
    task_heap: int
    managed: int
    framework_off_heap: int
    task_off_heap: int
    network: int
    metaspace: int
    overhead: int
    slots: int = 1

    @property
    def heap(self) -> int:
        return self.framework_heap + self.task_heap

    @property
    def direct(self) -> int:
        return self.framework_off_heap + self.task_off_heap + self.network

    @property
    def flink(self) -> int:
        return self.heap + self.managed + self.direct

    @property
    def process(self) -> int:
        return self.flink + self.metaspace + self.overhead

    @property
    def managed_per_slot(self) -> int:
        return self.managed // self.slots

    def lines(self) -> Iterator[tuple[int, str, int]]:
        """Yield depth, name and size of each part, in the order of Flink's report."""
        yield 0, "Total Process Memory", self.process
        yield 1, "Total Flink Memory", self.flink
        yield 2, "Total JVM Heap Memory", self.heap
        yield 3, "Framework", self.framework_heap
        yield 3, "Task", self.task_heap
        yield 2, "Total Off-heap Memory", self.managed + self.direct
        yield 3, "Managed", self.managed
        yield 3, "Total JVM Direct Memory", self.direct
        yield 4, "Framework", self.framework_off_heap
        yield 4, "Task", self.task_off_heap
        yield 4, "Network", self.network
        yield 1, "JVM Metaspace", self.metaspace
        yield 1, "JVM Overhead", self.overhead


@dataclass(frozen=True, slots=True)
class ManagedState:
    """The managed memory of an executor, for the state of all subtasks that its processes work for.

    :param size: in bytes.
    :param processes: how many may work for the same subtasks, where Spark chooses them: one for each slot.
    """

    size: int
    processes: int

    def share(self, processes: int, states: int) -> int:
        """Return how many bytes are for each of the *states* that a process has, if there are so many
        processes with as many."""
        return max(self.size // max(1, processes * states), _MIB)


def budget_of(configuration: Configuration) -> MemoryBudget | None:
    """Return the budget that *configuration* asks for; None: it gives no total, or not what makes one.

    :raises ConfigurationError: the sizes contradict each other.
    """
    return _Budgeting(configuration).budget()


def executor_settings(configuration: Configuration) -> dict[str, str]:
    """Return Spark's settings of executors for *configuration*: those that it does not set itself.

    Sizes add up to Flink's process size, unless the JVM's heap has to be raised to what Spark accepts. They
    are empty for a local master, where there are no executors.

    :raises ConfigurationError: the sizes of ``taskmanager.memory`` contradict each other.
    """
    budget = budget_of(configuration)
    if not has_executors(configuration.get(SPARK_MASTER)):
        return {}
    settings = {} if budget is None else _sizes(budget)
    if configuration.contains(options.SLOTS):
        settings[_CORES] = str(configuration.get(options.SLOTS))
    said = configuration.to_dict()
    return {key: value for key, value in settings.items() if key not in said}


def unmet(configuration: Configuration, effective: Mapping[str, str]) -> list[str]:
    """Return a sentence for each setting of executors that an application was started without.

    :param effective: what it was started with, ``spark.master`` too: its executors have that to the end.
    """
    asked = Configuration(configuration)
    if SPARK_MASTER.key in effective:
        asked.set_string(SPARK_MASTER.key, effective[SPARK_MASTER.key])
    return [
        f"{key} is {effective.get(key, 'not set')}, and not {value} as taskmanager.* asks for: "
        "it counts from when the session is created"
        for key, value in executor_settings(asked).items()
        if _comparable(effective.get(key)) != _comparable(value)
    ]


def _comparable(size: str | None) -> int | str | None:
    """Sizes may be written in several ways: ``1g`` is ``1024m`` is ``1024``, which Spark takes for MiB."""
    try:
        return None if size is None else parse_memory_bytes(f"{size}m" if size.isdecimal() else size)
    except ValueError:
        return size


def _sizes(budget: MemoryBudget) -> dict[str, str]:
    sizes = {
        "spark.executor.memory": max(budget.framework_heap + budget.network, _LEAST_HEAP),
        "spark.executor.pyspark.memory": budget.task_heap + budget.managed,
        "spark.executor.memoryOverhead": budget.framework_off_heap
        + budget.task_off_heap
        + budget.metaspace
        + budget.overhead,
    }
    return {key: f"{-(-size // _MIB)}m" for key, size in sizes.items()}


def managed_state(configuration: Configuration) -> ManagedState | None:
    """Return what bounds the state that an executor keeps in memory; None: nothing does."""
    budget = budget_of(configuration)
    if budget is None or not configuration.get(options.ROCKSDB_MANAGED):
        return None
    return ManagedState(budget.managed, budget.slots)


def notices(configuration: Configuration) -> list[str]:
    """Return a sentence for each size that has no effect."""
    budget = budget_of(configuration)
    if budget is None:
        given = sorted(key for key in configuration.to_dict() if key.startswith(options.PREFIX))
        totals = f"{options.PROCESS.key}, {options.FLINK.key}, or {options.TASK_HEAP.key} and {_MANAGED}"
        return [f"{', '.join(given)}: no effect without a total ({totals})"] if given else []
    if not has_executors(configuration.get(SPARK_MASTER)):
        return [
            "taskmanager.memory.*: with a local master there are no executors, so of the sizes only managed "
            "memory has an effect"
        ]
    said = configuration.to_dict()
    return [
        f"taskmanager.memory.* has no effect on {key}, which is set" for key in _sizes(budget) if key in said
    ]


def has_executors(master: str | None) -> bool:
    """Whether a master of Spark gives executors, or runs all in the JVM of the driver."""
    return not (master or "local").startswith("local") or str(master).startswith("local-cluster")


class _Budgeting:
    def __init__(self, configuration: Configuration) -> None:
        self._of = configuration
        self._slots = configuration.get(options.SLOTS)

    def _set(self, option: ConfigOption[Any]) -> int | None:
        return cast(int, self._of.get(option)) if self._of.contains(option) else None

    def budget(self) -> MemoryBudget | None:
        if all(self._set(option) is not None for option in _FINE):
            return self._from_parts()
        if self._set(options.FLINK) is not None:
            return self._from_flink(self._of.get(options.FLINK))
        if self._set(options.PROCESS) is not None:
            return self._from_process(self._of.get(options.PROCESS))
        return None

    def _from_parts(self) -> MemoryBudget:
        task_heap, managed = self._of.get(options.TASK_HEAP), self._of.get(options.MANAGED)
        rest = self._framework_and_off_heap() + task_heap + managed
        flink = self._set(options.FLINK)
        if flink is None:
            share = self._share(options.NETWORK_FRACTION)
            network = self._within_network(int(rest * share / (1 - share)))
        else:
            network = self._left(flink, rest, options.FLINK.key)
            self._check_range(network, options.NETWORK_MIN, options.NETWORK_MAX, "network memory")
        return self._whole(task_heap, managed, network)

    def _from_flink(self, flink: int) -> MemoryBudget:
        task_heap, managed = self._set(options.TASK_HEAP), self._set(options.MANAGED)
        if managed is None:
            managed = int(flink * self._share(options.MANAGED_FRACTION))
        network = self._within_network(int(flink * self._share(options.NETWORK_FRACTION)))
        rest = self._framework_and_off_heap() + managed + network
        left = self._left(flink, rest, options.FLINK.key)
        if task_heap is not None:
            network += left - task_heap
            self._check_range(network, options.NETWORK_MIN, options.NETWORK_MAX, "network memory")
            left = task_heap
        return self._whole(left, managed, network)

    def _from_process(self, process: int) -> MemoryBudget:
        overhead = self._within(
            int(process * self._share(options.OVERHEAD_FRACTION)), options.OVERHEAD_MIN, options.OVERHEAD_MAX
        )
        rest = self._of.get(options.METASPACE) + overhead
        return self._from_flink(self._left(process, rest, options.PROCESS.key))

    def _whole(self, task_heap: int, managed: int, network: int) -> MemoryBudget:
        flink = task_heap + managed + network + self._framework_and_off_heap()
        metaspace = self._of.get(options.METASPACE)
        process = self._set(options.PROCESS)
        if process is None:
            share = self._share(options.OVERHEAD_FRACTION)
            overhead = int((flink + metaspace) * share / (1 - share))
            overhead = self._within(overhead, options.OVERHEAD_MIN, options.OVERHEAD_MAX)
        else:
            overhead = self._left(process, flink + metaspace, options.PROCESS.key)
            self._check_range(overhead, options.OVERHEAD_MIN, options.OVERHEAD_MAX, "JVM overhead")
        return MemoryBudget(
            self._of.get(options.FRAMEWORK_HEAP),
            task_heap,
            managed,
            self._of.get(options.FRAMEWORK_OFF_HEAP),
            self._of.get(options.TASK_OFF_HEAP),
            network,
            metaspace,
            overhead,
            self._slots,
        )

    def _framework_and_off_heap(self) -> int:
        parts = (options.FRAMEWORK_HEAP, options.FRAMEWORK_OFF_HEAP, options.TASK_OFF_HEAP)
        return sum(self._of.get(part) for part in parts)

    def _share(self, option: ConfigOption[Any]) -> float:
        share = float(self._of.get(option))
        if not 0 <= share < 1:
            raise ConfigurationError(f"{option.key} is a share from 0 to below 1.", detail=f"got {share}")
        return float(struct.unpack("f", struct.pack("f", share))[0])  # as Flink's

    def _within_network(self, size: int) -> int:
        return self._within(size, options.NETWORK_MIN, options.NETWORK_MAX)

    def _within(self, size: int, least: ConfigOption[Any], most: ConfigOption[Any]) -> int:
        low, high = self._of.get(least), self._of.get(most)
        if low > high:
            raise ConfigurationError(f"{least.key} is more than {most.key}.")
        return int(min(max(size, low), high))

    def _check_range(self, size: int, least: ConfigOption[Any], most: ConfigOption[Any], what: str) -> None:
        if self._within(size, least, most) != size:
            raise ConfigurationError(
                f"The sizes that are set leave {size >> 20} MiB for {what}, which is out of its range.",
                detail=f"{least.key} and {most.key}",
                hint="change one of the sizes that are set, or the range",
            )

    @staticmethod
    def _left(total: int, parts: int, key: str) -> int:
        if parts > total:
            raise ConfigurationError(
                f"The parts of {key} are larger than it.",
                detail=f"{parts >> 20} MiB of {total >> 20} MiB",
                hint="set a larger total, or smaller parts",
            )
        return total - parts
