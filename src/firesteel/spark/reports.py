"""What tasks report beside their rows comes to the driver by an accumulator of Spark.

Spark adds up the accumulators of a task when the task has succeeded, before it says that its job has ended.
A stage that runs again reports again: the driver takes the last report of each task.
"""

from __future__ import annotations

import pickle
from typing import Any

from pyspark import SparkContext, TaskContext
from pyspark.accumulators import AccumulatorParam, _accumulatorRegistry

from firesteel.runtime.task_report import TaskReport


class _Pickled(AccumulatorParam[list[bytes]]):
    """Reports as bytes, since the driver unpickles them only when they are asked for."""

    def zero(self, value: list[bytes]) -> list[bytes]:
        return []

    def addInPlace(self, value1: list[bytes], value2: list[bytes]) -> list[bytes]:
        value1.extend(value2)
        return value1


class Reports:
    """The reports of the tasks of one job."""

    def __init__(self, context: SparkContext) -> None:
        self.accumulator: Any = context.accumulator([], _Pickled())

    def take(self) -> list[TaskReport]:
        """Those that have come since the last time."""
        found, self.accumulator.value = self.accumulator.value, []
        return [pickle.loads(report) for report in found]

    def close(self) -> None:
        """No report is waited for any more."""
        _accumulatorRegistry.pop(self.accumulator.aid, None)


def report(accumulator: Any, task: TaskContext, of_task: TaskReport) -> None:
    """In a worker: send a report when the task has succeeded."""
    told = of_task._replace(stage=task.stageId(), ran_before=task.attemptNumber() > 0)
    accumulator.add([pickle.dumps(told, 5)])
