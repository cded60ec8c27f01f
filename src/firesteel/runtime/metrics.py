"""Metrics of user functions, as they are counted in the worker.

What a counter, meter, distribution or histogram has counted in an epoch is part of the answer of the subtask,
so an epoch that is run again does not count twice. The value of a gauge may differ each time somebody asks:
it travels beside the answer (``task_report.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

from firesteel import metrics
from firesteel.common.accumulators import IntCounter
from firesteel.metrics.groups import Groups, path_of

HISTOGRAM_VALUES: Final = 1000  # of a histogram, that one epoch of a subtask sends at most


class MetricKey(NamedTuple):
    """Which metric of an operator it is.

    :param uid: of the operator.
    :param groups: the subgroups around it, each with its value or None.
    """

    uid: str
    operator: str
    groups: Groups
    name: str

    @property
    def path(self) -> str:
        """Its groups and its name: ``tenant.acme.orders``."""
        return path_of(self.groups, self.name)

    @property
    def accumulator(self) -> str:
        """The name under which it is among the accumulators of the job."""
        return f"{self.operator}.{self.path}"


class Part(Protocol):
    """What one subtask has counted; parts of several epochs and subtasks are merged."""

    def get_local_value(self) -> Any: ...

    def reset_local(self) -> None: ...

    def merge(self, other: Any) -> None: ...


P = TypeVar("P", bound=Part)


class Counter(IntCounter, metrics.Counter):
    """A number that goes up and down (Flink: ``Counter``)."""

    def inc(self, n: int = 1) -> None:
        self.add(n)

    def dec(self, n: int = 1) -> None:
        self.add(-n)

    def get_count(self) -> int:
        return self.get_local_value()


class Meter(IntCounter, metrics.Meter):
    """Counts events; whoever reads the count over time makes a rate of it (Flink: ``Meter``)."""

    def mark_event(self, value: int = 1) -> None:
        self.add(value)

    def get_count(self) -> int:
        return self.get_local_value()


class Distribution(metrics.Distribution):
    """Count, sum, minimum and maximum of the values reported (Flink: ``Distribution`` of PyFlink)."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0
        self._min: int | None = None
        self._max: int | None = None

    def update(self, value: int) -> None:
        self._count += 1
        self._sum += value
        self._min = value if self._min is None else min(self._min, value)
        self._max = value if self._max is None else max(self._max, value)

    def get_local_value(self) -> dict[str, int | None]:
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max}

    @property
    def totals(self) -> tuple[int, int, int | None, int | None]:
        """Count, sum, minimum and maximum."""
        return self._count, self._sum, self._min, self._max

    def reset_local(self) -> None:
        self._count = self._sum = 0
        self._min = self._max = None

    def merge(self, other: Distribution) -> None:
        self._count += other._count
        self._sum += other._sum
        for value in (other._min, other._max):
            if value is not None:
                self._min = value if self._min is None else min(self._min, value)
                self._max = value if self._max is None else max(self._max, value)


class Histogram(metrics.Histogram):
    """The newest values, and how many there were in all."""

    def __init__(self, window_size: int = HISTOGRAM_VALUES) -> None:
        self._window = max(1, min(window_size, HISTOGRAM_VALUES))
        self._count = 0
        self._values: list[float] = []

    def update(self, value: float) -> None:
        self._count += 1
        values = self._values
        values.append(value)
        if len(values) >= 2 * self._window:
            del values[: -self._window]

    def get_count(self) -> int:
        return self._count

    @property
    def window(self) -> int:
        """How many of the newest values are kept."""
        return self._window

    @property
    def newest(self) -> list[float]:
        return self._values[-self._window :]

    def get_local_value(self) -> dict[str, Any]:
        return {"count": self._count, "values": self.newest}

    def reset_local(self) -> None:
        self._count = 0
        self._values = []

    def merge(self, other: Histogram) -> None:
        self._count += other._count
        self._values = [*self._values, *other._values][-self._window :]


class Gauge:
    """The value of a gauge as it was last reported (Flink: ``Gauge``)."""

    def __init__(self, value: Any) -> None:
        self._supplier = None  # checkpoints name it, since earlier releases had it
        self._value = value

    def get_local_value(self) -> Any:
        return self._value

    def merge(self, other: Gauge) -> None:
        """Take the newer value."""
        self._value = other._value


class TaskMetrics:
    """The metrics of all operators of one subtask, in a worker."""

    def __init__(self) -> None:
        self._parts: dict[MetricKey, Part] = {}
        self._gauges: dict[MetricKey, Callable[[], Any]] = {}
        self._failed: set[MetricKey] = set()

    def part(self, key: MetricKey, new: P) -> P:
        """The metric that is registered by that key; ``new`` when there is none."""
        return cast(P, self._parts.setdefault(key, new))  # a name is one metric's

    def gauge(self, key: MetricKey, supplier: Callable[[], Any]) -> None:
        self._gauges[key] = supplier

    def reset(self) -> None:
        """Forget what an attempt has counted that did not come to its end."""
        for part in self._parts.values():
            part.reset_local()

    def take(self) -> dict[MetricKey, Part]:
        """What was counted since the last time."""
        taken = {key: copy.copy(part) for key, part in self._parts.items()}
        self.reset()  # which replaces the values of a part, so the copies keep theirs
        return taken

    @property
    def has_gauges(self) -> bool:
        return bool(self._gauges)

    def gauges(self) -> dict[MetricKey, Any]:
        """The values of the gauges, as plain data. One that raises is left out."""
        return dict(self._asked(self._gauges))

    def _asked(self, gauges: Mapping[MetricKey, Callable[[], Any]]) -> Iterator[tuple[MetricKey, Any]]:
        for key, supplier in gauges.items():
            try:
                value = supplier()
                yield key, value if type(value) in (int, float, str, bool) else str(value)
            except Exception:  # of the user's: a metric does not fail a job, in Flink neither
                self._failed.add(key)

    def take_failed(self) -> list[MetricKey]:
        """The gauges that have raised since the last time."""
        failed, self._failed = sorted(self._failed), set()
        return failed


class TaskMetricGroup(metrics.MetricGroup):
    """A group of metrics of one operator."""

    def __init__(
        self,
        registry: TaskMetrics,
        uid: str,
        operator: str,
        groups: tuple[tuple[str, str | None], ...] = (),
    ) -> None:
        self._registry = registry
        self._uid = uid
        self._operator = operator
        self._groups = groups

    def add_group(self, name: str, extra: str | None = None) -> TaskMetricGroup:
        return TaskMetricGroup(self._registry, self._uid, self._operator, (*self._groups, (name, extra)))

    def _key(self, name: str) -> MetricKey:
        return MetricKey(self._uid, self._operator, self._groups, name)

    def counter(self, name: str) -> Counter:
        return self._registry.part(self._key(name), Counter())

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._registry.gauge(self._key(name), obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        return self._registry.part(self._key(name), Meter())

    def distribution(self, name: str) -> Distribution:
        return self._registry.part(self._key(name), Distribution())

    def histogram(self, name: str, window_size: int = HISTOGRAM_VALUES) -> Histogram:
        return self._registry.part(self._key(name), Histogram(window_size))
