"""The columns that views are made of: what epochs add to them, and who has a view made."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.job_view import (
    AttemptView,
    MetricView,
    OperatorInfo,
    Statistics,
    SubtaskView,
    VertexInfo,
    VertexView,
)
from firesteel.jobmanager.spent import NOTHING, Spent
from firesteel.jobmanager.vertex_counts import VertexCounts
from firesteel.runtime.metrics import (
    Counter,
    Distribution,
    Histogram,
    Meter,
    MetricKey,
    Part,
    TaskMetricGroup,
    TaskMetrics,
)
from firesteel.runtime.program import Ack
from firesteel.runtime.task_report import ProcessReport, TaskReport
from tests.jobmanager.checkpoint_support import submit
from tests.runtime.support import environment
from tests.waiting import patience

PROCESS = ProcessReport("h", 1, 1, 1.0)
FIRST, SECOND = "first", "second"


def info(parallelism: int) -> VertexInfo:
    operators = tuple(OperatorInfo(name, name, name, None) for name in (FIRST, SECOND))
    return VertexInfo("v", "v", parallelism, 8, "default", 0, operators, ())


def attempts(parallelism: int) -> list[AttemptView]:
    return [AttemptView(0, str(n), ExecutionState.RUNNING, ()) for n in range(parallelism)]


def counts(parallelism: int = 2) -> VertexCounts:
    return VertexCounts.nothing(info(parallelism), attempts(parallelism))


def ack(subtask: int, records: int = 0, **fields: Any) -> Ack:
    operators = {FIRST: (records, 2 * records), SECOND: (2 * records, 3 * records)}
    return Ack(
        "v",
        subtask,
        records_in=records,
        records_out=3 * records,
        bytes_in=10 * records,
        bytes_out=30 * records,
        operators=operators,
        **fields,
    )


def report(subtask: int, **fields: Any) -> TaskReport:
    return TaskReport(1, 0, subtask, 0.0, 1.0, {"v": 1.0}, None, PROCESS, **fields)


def key(name: str, uid: str = FIRST) -> MetricKey:
    return MetricKey(uid, uid, (), name)


def add(
    before: VertexCounts,
    acks: list[Ack],
    spent: list[Spent] | None = None,
    reports: Sequence[TaskReport] = (),
    now_ms: int = 7,
) -> VertexCounts:
    return before.with_epoch(acks, spent or [NOTHING] * len(acks), reports, now_ms)


def shown(counts: VertexCounts, subtask: int) -> dict[str, Any]:
    return {metric.name: metric.value for metric in counts.view().subtasks[subtask].metrics}


def test_epochs_add_up_for_each_subtask() -> None:
    once = add(counts(), [ack(0, 5, watermark=3), ack(1)], [Spent(2.0, 1.0), NOTHING], now_ms=7)
    twice = add(once, [ack(0), ack(1, 4, watermark=9)], [NOTHING, Spent(3.0, 0.5)], now_ms=8)
    one, other = attempts(2)
    assert twice.view() == VertexView(
        info(2),
        (
            SubtaskView(0, one, (), 5, 15, 50, 150, ((5, 10), (10, 15)), 3, 2.0, 1.0, 7),
            SubtaskView(1, other, (), 4, 12, 40, 120, ((4, 8), (8, 12)), 9, 3.0, 0.5, 8),
        ),
    )


def test_an_epoch_without_news_leaves_the_counts_as_they_are() -> None:
    once = add(counts(), [ack(0, 5, watermark=3), ack(1)])
    assert add(once, [ack(0), ack(1)], reports=[report(0), report(1)], now_ms=8) is once
    assert add(once, [ack(0, watermark=4), ack(1)]) is not once


def test_who_has_counts_keeps_them_as_they_were() -> None:
    """Broken by hand: a column is added to and not replaced."""
    parts: dict[MetricKey, Part] = {key("n"): counter(1), key("h"): histogram(1.0), key("d"): distribution(1)}
    told = [report(0, gauges={key("g"): 1}, latencies={key("l"): histogram(1.0)}, lags_ms={FIRST: 1})]
    once = add(counts(), [ack(0, 5, watermark=3, metrics=parts), ack(1)], [Spent(1, 1)] * 2, told)
    before = pickle.dumps(once.view())
    more: dict[MetricKey, Part] = {key("n"): counter(4), key("h"): histogram(2.0), key("d"): distribution(9)}
    told = [report(0, gauges={key("g"): 2}, latencies={key("l"): histogram(3.0)}, lags_ms={FIRST: 2})]
    acks = [ack(0, 1, watermark=4, metrics=more), ack(1, 1, metrics=more)]
    twice = add(once, acks, [Spent(1, 1)] * 2, told)
    twice.with_attempts({0: (attempts(2)[1], (attempts(2)[0],))})
    assert pickle.dumps(once.view()) == before != pickle.dumps(twice.view())


def counter(value: int) -> Counter:
    return Counter(value)


def meter(value: int) -> Meter:
    return Meter(value)


def distribution(*values: int) -> Distribution:
    made = Distribution()
    for value in values:
        made.update(value)
    return made


def histogram(*values: float, window: int = 1000) -> Histogram:
    made = Histogram(window)
    for value in values:
        made.update(value)
    return made


def test_each_kind_of_metric_adds_up_in_its_way() -> None:
    parts: list[dict[MetricKey, Part]] = [
        {
            key("c"): counter(3),
            key("m"): meter(5),
            key("d"): distribution(4, 6),
            key("h"): histogram(1.0, 2.0, window=3),
        },
        {
            key("c"): counter(-1),
            key("m"): meter(2),
            key("d"): distribution(),
            key("h"): histogram(3.0, 5.0, window=3),
        },
        {key("d"): distribution(1, 9)},
    ]
    found = counts()
    for part in parts:
        found = add(found, [ack(0), ack(1, metrics=part)])
    assert shown(found, 0) == {}
    values = shown(found, 1)
    newest = values.pop("h")
    assert values == {"c": 2, "m": 7, "d": Statistics(4, 1, 9, 20, 5.0)}
    assert (newest.count, newest.min, newest.max) == (4, 2.0, 5.0), "the newest three of four"
    assert (newest.mean, newest.stddev) == (pytest.approx(10 / 3), pytest.approx(1.2472, abs=1e-4))
    assert dict(newest.quantiles)[0.5] == 3.0
    assert shown(add(counts(1), [ack(0, metrics={key("d"): distribution()})]), 0) == {
        "d": Statistics(0, sum=0)
    }, "of no value there is no mean"


def test_gauges_and_latencies_are_those_of_the_last_reports_in_the_order_of_the_operators() -> None:
    told = [
        report(0, gauges={key("b", SECOND): 1}, latencies={key("late", SECOND): histogram(4.0)}),
        report(1, gauges={key("b", SECOND): 2, key("a"): "x", key("of others", "other"): 3}),
    ]
    found = add(counts(), [ack(0), ack(1)], reports=told)
    found = add(found, [ack(0), ack(1)], reports=[report(0, latencies={key("late", SECOND): histogram(8.0)})])
    found = add(found, [ack(0), ack(1)], reports=[report(1, gauges={key("b", SECOND): 5})])
    zero, one = (subtask.metrics for subtask in found.view().subtasks)
    assert one == (MetricView(FIRST, (), "a", "gauge", "x"), MetricView(SECOND, (), "b", "gauge", 5))
    assert zero[0] == MetricView(SECOND, (), "b", "gauge", 1)
    assert (zero[1].operator, zero[1].kind) == ("", "histogram")
    assert isinstance(zero[1].value, Statistics)
    assert (zero[1].value.count, zero[1].value.mean) == (2, 6.0)


def test_the_lag_of_a_source_stays_until_it_is_told_again() -> None:
    found = add(counts(), [ack(0), ack(1)], reports=[report(1, lags_ms={FIRST: 12})])
    found = add(found, [ack(0), ack(1, 2)], reports=[report(0), report(1)])
    assert [subtask.lag_ms for subtask in found.view().subtasks] == [None, 12]


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_with_other_subtasks_the_sums_stay(parallelism: int) -> None:
    metrics: dict[MetricKey, Part] = {key("c"): counter(3), key("d"): distribution(4)}
    told = [report(0, gauges={key("g"): 1}, latencies={key("l"): histogram(1.0)})]
    acks = [ack(n, n + 1, watermark=10 + n, metrics=metrics) for n in range(3)]
    before = add(counts(3), acks, [Spent(1.0, 2.0)] * 3, told)
    after = before.rescaled(info(parallelism), attempts(parallelism)).view().subtasks
    assert [subtask.index for subtask in after] == list(range(parallelism))
    assert sum(subtask.records_in for subtask in after) == 6
    assert sum(subtask.bytes_out for subtask in after) == 180
    assert [sum(subtask.operators[1][n] for subtask in after) for n in (0, 1)] == [12, 18]
    assert (sum(s.busy_ms for s in after), sum(s.back_pressured_ms for s in after)) == (3.0, 6.0)
    assert [subtask.watermark for subtask in after] == [10, 11, 12, None, None][:parallelism]
    values = [{metric.name: metric.value for metric in subtask.metrics} for subtask in after]
    assert {name for value in values for name in value} == {"c", "d"}, "gauges are told again"
    assert sum(value.get("c", 0) for value in values) == 9  # type: ignore[misc]
    found = [value["d"] for value in values if "d" in value]
    assert sum(value.count for value in found if isinstance(value, Statistics)) == 3


def test_what_was_taken_in_the_worker_is_not_changed_by_what_comes_after() -> None:
    registry = TaskMetrics()
    group = TaskMetricGroup(registry, "u", "op")
    group.counter("c").inc(2)
    group.meter("m").mark_event(3)
    group.distribution("d").update(4)
    group.histogram("h").update(5.0)
    taken = registry.take()
    group.counter("c").inc(7)
    group.meter("m").mark_event(7)
    group.distribution("d").update(7)
    group.histogram("h").update(7.0)
    assert [part.get_local_value() for part in taken.values()] == [
        *(2, 3, {"count": 1, "sum": 4, "min": 4, "max": 4}, {"count": 1, "values": [5.0]})
    ]


def test_a_view_is_made_only_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    view = VertexCounts.view

    def counted(counts: VertexCounts) -> VertexView:
        made.append(counts.info.id)
        return view(counts)

    monkeypatch.setattr(VertexCounts, "view", counted)
    env = environment(1, epoch_records=2)
    env.from_collection(range(100)).map(lambda v: v)
    job = submit(env)
    assert job.wait(patience(30))
    newest = job.view
    assert newest.epoch >= 50
    assert newest.vertices[0].subtasks[0].records_out == newest.records_read == 100
    assert len(made) < 10, "when it starts and when it has ended"
    known = len(made)
    assert job.view is newest
    assert len(made) == known
