"""Metrics of user functions: counted in the worker, merged when the epoch is committed.

A counter, meter or distribution is an accumulator under ``operator.group.name``; what an epoch that is run
again has counted does not count twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel import metrics
from firesteel.common.accumulators import IntCounter


class Counter(IntCounter, metrics.Counter):
    """A number that goes up and down (Flink: ``Counter``)."""

    def inc(self, n: int = 1) -> None:
        self.add(n)

    def dec(self, n: int = 1) -> None:
        self.add(-n)

    def get_count(self) -> int:
        return self.get_local_value()


class Meter(IntCounter, metrics.Meter):
    """Counts events; rates are for whoever reads the count over time (Flink: ``Meter``)."""

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


class Gauge:
    """A value that is asked for at the end of each epoch (Flink: ``Gauge``). The last report wins."""

    def __init__(self, supplier: Callable[[], Any] | None, value: Any = None) -> None:
        self._supplier = supplier
        self._value = value

    def get_local_value(self) -> Any:
        return self._value if self._supplier is None else self._supplier()

    def reset_local(self) -> None: ...

    def merge(self, other: Gauge) -> None:
        self._value, self._supplier = other.get_local_value(), None

    def __deepcopy__(self, memo: dict[int, Any]) -> Gauge:
        return Gauge(None, self.get_local_value())  # the supplier stays in the worker


class TaskMetricGroup(metrics.MetricGroup):
    """A group of metrics of one operator."""

    def __init__(self, registry: dict[str, Any], scope: tuple[str, ...]) -> None:
        self._registry = registry
        self._scope = scope

    def add_group(self, name: str, extra: str | None = None) -> TaskMetricGroup:
        return TaskMetricGroup(self._registry, (*self._scope, name, *(() if extra is None else (extra,))))

    def _register(self, name: str, metric: Any) -> Any:
        return self._registry.setdefault(".".join((*self._scope, name)), metric)

    def counter(self, name: str) -> Counter:
        return self._register(name, Counter())  # type: ignore[no-any-return]

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._register(name, Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        return self._register(name, Meter())  # type: ignore[no-any-return]

    def distribution(self, name: str) -> Distribution:
        return self._register(name, Distribution())  # type: ignore[no-any-return]
