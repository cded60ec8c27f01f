"""The executors of Spark and the figures of its JVM, as the REST API shows them."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from firesteel.spark.machines import machines
from firesteel.spark.platform import SparkPlatform

pytestmark = pytest.mark.spark


@pytest.mark.row("S-SLOT-01", "S-SLOT-02", "S-CFG-02")
def test_in_local_mode_the_driver_is_the_only_executor(spark_session: SparkSession) -> None:
    found = machines(spark_session)
    (worker,) = found.workers
    assert (worker.slots, worker.cores, found.slots) == (2, 2, 2)
    assert re.fullmatch(re.escape(worker.endpoint) + "-[0-9a-f]{6}", worker.id)
    assert found.worker(worker.id) == worker
    figures = dict(found.figures)
    assert figures == dict(worker.figures)
    assert 0 < figures["Status.JVM.Memory.Heap.Used"] <= figures["Status.JVM.Memory.Heap.Max"]
    assert worker.heap_bytes == figures["Status.JVM.Memory.Heap.Max"]
    for name in (
        "Threads.Count",
        "Memory.Metaspace.Used",
        "Memory.Direct.Count",
        "ClassLoader.ClassesLoaded",
    ):
        assert figures[f"Status.JVM.{name}"] > 0, name
    collectors = {name.split(".")[3] for name in figures if ".GarbageCollector." in name}
    assert "All" in collectors
    assert len(collectors) > 1
    assert found.jvm is not None
    assert "VM" in found.jvm.version
    assert found.jvm.classpath
    assert machines(spark_session).workers[0].id == worker.id, "the same as long as it lives"


def test_before_there_is_a_session_there_are_no_machines() -> None:
    assert SparkPlatform().machines().workers == ()
