"""Slot sharing groups and the resources that they ask for."""

from __future__ import annotations

from functools import total_ordering

from firesteel.common.errors import ProgramError
from firesteel.program.checks import WrongArgumentError, require_int, require_text

__all__ = ["MemorySize", "SlotSharingGroup"]

_UNITS = ((40, "tb"), (30, "gb"), (20, "mb"), (10, "kb"))


@total_ordering
class MemorySize:
    """An amount of memory (Flink: ``MemorySize``)."""

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int = 0) -> None:
        self._bytes = require_int(bytes_size, "memory size", 0)

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        return MemorySize(require_int(mebi_bytes, "memory size", 0) << 20)

    def get_bytes(self) -> int:
        return self._bytes

    def get_kibi_bytes(self) -> int:
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and other._bytes == self._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):
            raise WrongArgumentError("A memory size is compared with another one.", detail=f"got {other!r}")
        return self._bytes < other._bytes

    def __le__(self, other: MemorySize) -> bool:
        return self == other or self < other

    def __str__(self) -> str:
        for shift, unit in _UNITS:
            if self._bytes and self._bytes % (1 << shift) == 0:
                return f"{self._bytes >> shift} {unit}"
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize({self._bytes})"


class SlotSharingGroup:
    """A named group of operators that share slots (Flink: ``SlotSharingGroup``). Made by ``builder``.

    The resources are those of one slot: cores, memory, and external resources such as GPUs.
    """

    __slots__ = ("_cpu_cores", "_external", "_managed", "_name", "_task_heap", "_task_off_heap")

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap: MemorySize | None = None,
        task_off_heap: MemorySize | None = None,
        managed: MemorySize | None = None,
        external: dict[str, float] | None = None,
    ) -> None:
        self._name = require_text(name, "name of a slot sharing group")
        self._cpu_cores = cpu_cores
        self._task_heap = task_heap
        self._task_off_heap = task_off_heap
        self._managed = managed
        self._external = dict(external or {})

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        return SlotSharingGroup.Builder(name)

    @property
    def has_resources(self) -> bool:
        """True when the group asks for resources and is not only a name."""
        return self._cpu_cores is not None

    def get_name(self) -> str:
        return self._name

    def get_cpu_cores(self) -> float | None:
        return self._cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        return self._task_heap

    def get_task_off_heap_memory(self) -> MemorySize | None:
        return self._task_off_heap

    def get_managed_memory(self) -> MemorySize | None:
        return self._managed

    def get_external_resources(self) -> dict[str, float]:
        return dict(self._external)

    def _key(self) -> tuple[object, ...]:
        return (
            self._name,
            self._cpu_cores,
            self._task_heap,
            self._task_off_heap,
            self._managed,
            tuple(sorted(self._external.items())),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotSharingGroup) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"SlotSharingGroup({self._name!r})"

    class Builder:
        """Puts a ``SlotSharingGroup`` together. Cores and heap memory are given together or not at all."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap: MemorySize | None = None
            self._task_off_heap: MemorySize | None = None
            self._managed: MemorySize | None = None
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            if isinstance(cpu_cores, bool) or not isinstance(cpu_cores, (int, float)) or cpu_cores <= 0:
                raise ProgramError("The number of cores must be positive.", detail=f"got {cpu_cores!r}")
            self._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._task_heap = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._task_off_heap = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._managed = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            self._external[require_text(name, "name of an external resource")] = float(value)
            return self

        def build(self) -> SlotSharingGroup:
            others = (self._task_off_heap, self._managed, *self._external)
            has_heap = self._task_heap is not None and self._task_heap.get_bytes() > 0
            if self._cpu_cores is None and not has_heap and not any(o is not None for o in others):
                return SlotSharingGroup(self._name)
            if self._cpu_cores is None or not has_heap:
                raise ProgramError(
                    "A slot sharing group with resources needs cores and heap memory.",
                    detail=f"group {self._name!r}",
                    hint="call set_cpu_cores() and set_task_heap_memory_mb() with positive values",
                )
            zero = MemorySize()
            return SlotSharingGroup(
                self._name,
                self._cpu_cores,
                self._task_heap,
                self._task_off_heap or zero,
                self._managed or zero,
                self._external,
            )
