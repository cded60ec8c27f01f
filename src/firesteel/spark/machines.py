"""The executors of a Spark application, and the figures of its driver's JVM."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

from firesteel.common.masking import masked
from firesteel.metrics.machines import Figures, JvmInfo, Machines, WorkerInfo
from firesteel.spark.settings import MANAGED_MEMORY

_DRIVER = "driver"
_NO_BOUND = str((1 << 31) - 1)  # of the number of executors, as Spark has it
_HAS_PORT = re.compile(r":\d+$")


def machines(session: SparkSession) -> Machines:
    """Ask Spark's driver; some milliseconds."""
    context = session.sparkContext
    jvm = context._jvm
    assert jvm is not None, "a session has one"
    beans = jvm.java.lang.management.ManagementFactory
    figures = tuple(_figures(jvm, beans))
    # One that has just come has no port yet, and would get another id with it.
    executors, alone = _that_run_tasks(
        executor for executor in _executors(context) if _HAS_PORT.search(executor.hostPort())
    )
    workers = tuple(_worker(context, executor, figures if alone else ()) for executor in executors)
    return Machines(workers, _jvm(beans), figures, context.uiWebUrl, _slots_to_come(context, workers))


def slots_of(context: Any) -> int:
    """How many tasks can run at the same time now."""
    executors, _ = _that_run_tasks(_executors(context))
    return sum(executor.maxTasks() for executor in executors)


def _that_run_tasks(executors: Iterable[Any]) -> tuple[list[Any], bool]:
    """Those of a cluster without its driver; in local mode, which the second value says, one JVM is all."""
    found = list(executors)
    alone = all(executor.id() == _DRIVER for executor in found)
    return [executor for executor in found if alone or executor.id() != _DRIVER], alone


def _slots_to_come(context: Any, workers: Sequence[WorkerInfo]) -> int:
    """How many more slots there can be by dynamic allocation, as its settings say: whether the cluster
    manager has room for them, nobody knows beforehand."""
    if not context._jsc.sc().executorAllocationManager().isDefined():
        return 0
    conf = context.getConf()
    cpus = int(conf.get("spark.task.cpus", "1"))
    configured = int(conf.get("spark.executor.cores", "1")) // cpus
    of_each = max(1, configured, *(worker.slots for worker in workers))
    most = of_each * int(conf.get("spark.dynamicAllocation.maxExecutors", _NO_BOUND))
    if (cores := conf.get("spark.cores.max", None)) is not None:
        most = min(most, int(cores) // cpus)
    return max(0, most - sum(worker.slots for worker in workers))


def _executors(context: Any) -> Iterator[Any]:
    listed = context._jsc.sc().statusStore().executorList(True)
    for number in range(listed.size()):
        yield listed.apply(number)


def _worker(context: Any, executor: Any, figures: Figures) -> WorkerInfo:
    name = f"{context.applicationId} {executor.id()}"
    mark = hashlib.sha256(name.encode()).hexdigest()[:6]
    endpoint = executor.hostPort()
    return WorkerInfo(
        id=f"{endpoint}-{mark}",
        endpoint=endpoint,
        slots=executor.maxTasks(),
        cores=executor.totalCores(),
        heap_bytes=int(dict(figures).get("Status.JVM.Memory.Heap.Max", 0)),
        managed_bytes=int(context.getConf().get(MANAGED_MEMORY, "0")),
        seen_ms=time.time_ns() // 1_000_000,  # Spark lists those that are alive
        figures=figures,
        logs=tuple(sorted(_pairs(executor.executorLogs()))),
        in_driver=executor.id() == _DRIVER,
    )


def _pairs(of_scala: Any) -> Iterator[tuple[str, str]]:
    """The entries of a map."""
    entries = of_scala.iterator()
    while entries.hasNext():
        entry = entries.next()
        yield entry._1(), entry._2()


def _jvm(beans: Any) -> JvmInfo:
    runtime, system = beans.getRuntimeMXBean(), beans.getOperatingSystemMXBean()
    version = (
        f"{runtime.getVmName()} - {runtime.getVmVendor()} - "
        f"{runtime.getSpecVersion()}/{runtime.getVmVersion()}"
    )
    options = tuple(masked(option) for option in runtime.getInputArguments())
    return JvmInfo(version, system.getArch(), options, tuple(runtime.getClassPath().split(":")))


def _figures(jvm: Any, beans: Any) -> Iterator[tuple[str, int]]:
    """What classes that Java exports tell; those with the load of the processors are not among them."""
    memory = beans.getMemoryMXBean()
    usages = [("Heap", memory.getHeapMemoryUsage()), ("NonHeap", memory.getNonHeapMemoryUsage())]
    usages += [
        ("Metaspace", p.getUsage()) for p in beans.getMemoryPoolMXBeans() if p.getName() == "Metaspace"
    ]
    for name, usage in usages:
        yield f"Status.JVM.Memory.{name}.Used", usage.getUsed()
        yield f"Status.JVM.Memory.{name}.Committed", usage.getCommitted()
        yield f"Status.JVM.Memory.{name}.Max", usage.getMax()
    pools = jvm.java.lang.Class.forName("java.lang.management.BufferPoolMXBean")
    for pool in beans.getPlatformMXBeans(pools):
        if (name := pool.getName().capitalize()) in ("Direct", "Mapped"):
            yield f"Status.JVM.Memory.{name}.Count", pool.getCount()
            yield f"Status.JVM.Memory.{name}.MemoryUsed", pool.getMemoryUsed()
            yield f"Status.JVM.Memory.{name}.TotalCapacity", pool.getTotalCapacity()
    yield "Status.JVM.Threads.Count", beans.getThreadMXBean().getThreadCount()
    classes = beans.getClassLoadingMXBean()
    yield "Status.JVM.ClassLoader.ClassesLoaded", classes.getTotalLoadedClassCount()
    yield "Status.JVM.ClassLoader.ClassesUnloaded", classes.getUnloadedClassCount()
    yield from _collectors(beans)


def _collectors(beans: Any) -> Iterator[tuple[str, int]]:
    runs = ran_ms = 0
    for collector in beans.getGarbageCollectorMXBeans():
        name = f"Status.JVM.GarbageCollector.{collector.getName().replace(' ', '_')}"
        count, time_ms = collector.getCollectionCount(), collector.getCollectionTime()
        yield f"{name}.Count", count
        yield f"{name}.Time", time_ms
        runs, ran_ms = runs + count, ran_ms + time_ms
    yield "Status.JVM.GarbageCollector.All.Count", runs
    yield "Status.JVM.GarbageCollector.All.Time", ran_ms
