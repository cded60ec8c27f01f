"""One metric with its value, as all readers of metrics get it."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import msgspec

from firesteel.jobmanager.job_view import Statistics
from firesteel.metrics.groups import Groups, path_of

Value: TypeAlias = int | float | bool | str | Statistics


class Kind(Enum):
    """How Flink calls the types of metrics, in the filters of reporters."""

    COUNTER = "counter"
    GAUGE = "gauge"
    METER = "meter"
    HISTOGRAM = "histogram"


class Measure(msgspec.Struct, frozen=True, gc=False):
    """:param name: with dots where the groups are Flink's own: ``Status.JVM.Memory.Heap.Used``.
    :param operator: the place of its operator in the chain; None: it is of the task, or of no task.
    :param groups: of a user's metric.
    """

    name: str
    value: Value
    kind: Kind = Kind.GAUGE
    operator: int | None = None
    groups: Groups = ()

    @property
    def path(self) -> str:
        """Groups and name: ``tenant.acme.orders``."""
        return path_of(self.groups, self.name)
