"""The executors of a Spark application, and the figures of its driver's JVM."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from firesteel.common.masking import masked
from firesteel.metrics.machines import Figures, JvmInfo, Machines, WorkerInfo

_DRIVER = "driver"


def machines(session: SparkSession) -> Machines:
    """Ask Spark's driver; some milliseconds."""
    context = session.sparkContext
    beans = context._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    figures = tuple(_figures(beans))
    executors = list(_executors(context))
    alone = all(executor.id() == _DRIVER for executor in executors)  # local mode: one JVM is all
    workers = tuple(
        _worker(context, executor, figures if alone else ())
        for executor in executors
        if alone or executor.id() != _DRIVER
    )
    return Machines(workers, _jvm(beans), figures)


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
        seen_ms=time.time_ns() // 1_000_000,  # Spark lists those that are alive
        figures=figures,
    )


def _jvm(beans: Any) -> JvmInfo:
    runtime, system = beans.getRuntimeMXBean(), beans.getOperatingSystemMXBean()
    version = (
        f"{runtime.getVmName()} - {runtime.getVmVendor()} - "
        f"{runtime.getSpecVersion()}/{runtime.getVmVersion()}"
    )
    options = tuple(masked(option) for option in runtime.getInputArguments())
    return JvmInfo(version, system.getArch(), options, tuple(runtime.getClassPath().split(":")))


def _figures(beans: Any) -> Iterator[tuple[str, float]]:
    memory = beans.getMemoryMXBean()
    for name, usage in (("Heap", memory.getHeapMemoryUsage()), ("NonHeap", memory.getNonHeapMemoryUsage())):
        yield f"Status.JVM.Memory.{name}.Used", usage.getUsed()
        yield f"Status.JVM.Memory.{name}.Committed", usage.getCommitted()
        yield f"Status.JVM.Memory.{name}.Max", usage.getMax()
    yield "Status.JVM.Threads.Count", beans.getThreadMXBean().getThreadCount()
    yield "Status.JVM.ClassLoader.ClassesLoaded", beans.getClassLoadingMXBean().getTotalLoadedClassCount()
    yield "Status.JVM.ClassLoader.ClassesUnloaded", beans.getClassLoadingMXBean().getUnloadedClassCount()
    system = beans.getOperatingSystemMXBean()
    yield "Status.JVM.CPU.Load", system.getProcessCpuLoad()
    yield "Status.JVM.CPU.Time", system.getProcessCpuTime()
    runs = ran_ms = 0
    for collector in beans.getGarbageCollectorMXBeans():
        name = f"Status.JVM.GarbageCollector.{collector.getName().replace(' ', '_')}"
        yield f"{name}.Count", collector.getCollectionCount()
        yield f"{name}.Time", collector.getCollectionTime()
        runs, ran_ms = runs + collector.getCollectionCount(), ran_ms + collector.getCollectionTime()
    yield "Status.JVM.GarbageCollector.All.Count", runs
    yield "Status.JVM.GarbageCollector.All.Time", ran_ms
