"""Metrics of user functions: what each kind counts, and that parts of several subtasks and epochs add up."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from firesteel import metrics
from firesteel.datastream import MapFunction, RuntimeContext
from firesteel.runtime.metrics import TaskMetricGroup, TaskMetrics

from .support import environment


class Reports(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        assert isinstance(group, metrics.MetricGroup)
        self.last = 0
        self.down: metrics.Counter = group.counter("down")
        self.events: metrics.Meter = group.add_group("kind", "m").meter("events", 10)
        self.sizes: metrics.Distribution = group.distribution("sizes")
        group.gauge("last", lambda: self.last)

    def map(self, value: int) -> int:
        self.down.inc(3)
        self.down.dec()
        self.events.mark_event(value)
        self.sizes.update(value)
        self.last = value
        return value


@pytest.mark.parametrize("epoch_records", [3, None])
@pytest.mark.row("S-METR-12")
def test_metrics_of_all_epochs_and_subtasks_add_up(epoch_records: int | None) -> None:
    env = environment(2, epoch_records=epoch_records)
    env.from_collection(range(1, 11)).map(Reports()).name("op")
    results = env.execute().get_all_accumulator_results()
    assert results.pop("op.last") in range(1, 11)
    assert results == {
        "op.down": 20,
        "op.kind.m.events": 55,
        "op.sizes": {"count": 10, "sum": 55, "min": 1, "max": 10},
    }


def test_a_metric_belongs_to_its_kind_and_its_name_gives_it_again() -> None:
    group = TaskMetricGroup(TaskMetrics(), "u", "op")
    counter, meter, distribution = group.counter("c"), group.meter("m"), group.distribution("d")
    assert isinstance(counter, metrics.Counter)
    assert isinstance(meter, metrics.Meter)
    assert isinstance(distribution, metrics.Distribution)
    assert all(isinstance(metric, metrics.Metric) for metric in (counter, meter, distribution))
    assert group.counter("c") is counter
    assert group.add_group("tenant", "acme").add_group("x").counter("c") is not counter
    counter.inc(2)
    meter.mark_event()
    assert (counter.get_count(), meter.get_count()) == (2, 1)


def test_what_was_taken_travels_and_is_not_counted_again() -> None:
    registry = TaskMetrics()
    sizes = TaskMetricGroup(registry, "u", "op").distribution("d")
    parts = []
    for values in ([5, 7], [], [-1]):
        for value in values:
            sizes.update(value)
        (part,) = pickle.loads(pickle.dumps(registry.take())).values()
        parts.append(part)
    total: Any = parts[0]
    for part in parts[1:]:
        total.merge(part)
    assert total.get_local_value() == {"count": 3, "sum": 11, "min": -1, "max": 7}
