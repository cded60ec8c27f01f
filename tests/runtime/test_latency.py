"""Latency markers: which operators note them, under which names, and that records do not notice."""

from __future__ import annotations

import time
from typing import Any

import pytest

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.jobmanager.job_view import JobView, MetricView, Statistics
from firesteel.metrics.groups import path_of
from firesteel.runtime import latency
from firesteel.testing.local_platform import LocalEngine
from tests.jobmanager.checkpoint_support import submit
from tests.runtime.engines import TwinEngine
from tests.runtime.support import (
    MODE,
    LiveSource,
    collect,
    environment,
    feed,
    in_both_modes,
    local_platform,
)
from tests.waiting import until

EVERY_MS = {"metrics.latency.interval": "1 ms"}


def diamond(env: StreamExecutionEnvironment) -> Any:
    """A source; two operators in its chain; an exchange by key; a union of both ways; a sink of its own."""
    numbers = env.from_source(LiveSource("in", 2), WatermarkStrategy.no_watermarks(), "in").uid("in")
    left = numbers.map(lambda v: v).uid("left")
    right = numbers.key_by(lambda v: v % 3).map(lambda v: v).uid("right")
    both = left.union(right).rebalance().map(lambda v: v).uid("both")
    return both.filter(lambda v: False).uid("none")


def latencies(view: JobView) -> dict[str, MetricView]:
    """By the path of the metric, which has operator and subtask."""
    return {
        metric.path: metric
        for vertex in view.vertices
        for subtask in vertex.subtasks
        for metric in subtask.metrics
        if metric.name == "latency"
    }


def ids(view: JobView) -> dict[str, str]:
    """By the kind and the place in the graph that the test knows it by."""
    return {o.name: o.id for v in view.vertices for o in v.info.operators}


@in_both_modes
def test_all_operators_behind_a_source_note_its_markers(mode: str) -> None:
    with local_platform():
        env = environment(2, **{MODE: mode, **EVERY_MS, "firesteel.real-time.epoch": "20 ms"})
        diamond(env).print()
        job = submit(env)
        for n in range(40):
            feed("in", (n, 0), split=n % 2)
        operators = [o for v in job.view.vertices for o in v.info.operators]
        source = next(o.id for o in operators if o.kind == "source")
        expected = {
            path_of((("latency", None), ("source_id", source), ("operator_id", o.id), here), "latency")
            for o in operators
            if o.id != source
            for here in (("operator_subtask_index", str(i)) for i in range(2))
        }

        def noted() -> Any:
            feed("in", (1, 0), split=0)
            feed("in", (1, 0), split=1)
            found = latencies(job.view)
            assert set(found) <= expected
            return len(found) == len(expected) and found

        found = until(noted)
        job.cancel()
    for metric in found.values():
        assert metric.operator == "", "it is of the subtask"
        value = metric.value
        assert isinstance(value, Statistics)
        assert value.count >= 1
        assert value.min is not None
        assert 0 <= value.min <= value.max < 60_000  # type: ignore[operator]


@pytest.mark.parametrize(
    ("granularity", "groups"),
    [
        ("single", ["operator_id", "operator_subtask_index"]),
        ("operator", ["source_id", "operator_id", "operator_subtask_index"]),
        ("SUBTASK", ["source_id", "source_subtask_index", "operator_id", "operator_subtask_index"]),
    ],
)
def test_granularity_says_what_is_told_apart(granularity: str, groups: list[str]) -> None:
    with local_platform():
        env = environment(2, **EVERY_MS, **{"metrics.latency.granularity": granularity})
        env.from_sequence(0, 9).key_by(lambda v: v % 2).map(lambda v: v).print()
        job = submit(env)
        until(lambda: job.view.ended_ms is not None)
        found = list(latencies(job.view).values())
    assert found
    for metric in found:
        assert [name for name, _ in metric.groups] == ["latency", *groups]


@in_both_modes
def test_a_slow_function_is_seen_by_those_behind_it(mode: str) -> None:
    """Markers wait for the records before them. It has its own task: a source sends none while it works."""

    def slowly(value: int) -> int:
        time.sleep(0.05)
        return value

    with local_platform():
        env = environment(1, **{MODE: mode, **EVERY_MS, "firesteel.real-time.epoch": "20 ms"})
        numbers = env.from_source(LiveSource("in", 1), WatermarkStrategy.no_watermarks(), "in")
        numbers.rebalance().map(slowly).name("slow").key_by(lambda v: 0).map(lambda v: v).name(
            "behind"
        ).print()
        job = submit(env)

        feed("in", *[(n, 0) for n in range(10)])

        def behind() -> Any:
            found = latencies(job.view)
            uid = ids(job.view)["behind"]
            values = [m.value for m in found.values() if ("operator_id", uid) in m.groups]
            return max((v.max for v in values if isinstance(v, Statistics)), default=0) >= 50  # type: ignore[type-var,operator]

        until(behind)
        job.cancel()


def test_markers_of_an_epoch_are_the_same_bytes_whoever_sends_them() -> None:
    engines: list[TwinEngine] = []

    def engine() -> LocalEngine:
        engines.append(TwinEngine())
        return engines[-1]

    with local_platform(engine):
        env = environment(2, epoch_records=5, **EVERY_MS)
        numbers = env.from_sequence(0, 49).map(lambda v: v)
        found = collect(numbers.key_by(lambda v: v % 3).map(lambda v: v).rebalance().map(lambda v: v))
    assert sorted(found) == list(range(50)), "nobody has a record less or more"
    assert engines[0].rows > 30
    assert engines[0].differences == []


@pytest.mark.parametrize("batch", [False, True])
def test_without_an_interval_and_in_batch_mode_there_are_none(
    batch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency.LatencyMarkers, "__init__", None)  # nobody may make one
    with local_platform():
        env = environment(2, **(EVERY_MS if batch else {}))
        if batch:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        env.from_sequence(0, 9).key_by(lambda v: v % 2).map(lambda v: v).print()
        job = submit(env)
        until(lambda: job.view.ended_ms is not None)
    assert job.view.status.name == "FINISHED"
    assert not latencies(job.view)


def test_markers_come_as_often_as_the_interval_says_and_the_history_is_bounded() -> None:
    with local_platform():
        options = {"metrics.latency.interval": "1 h", "metrics.latency.history-size": "2"}
        env = environment(1, epoch_records=1, **options)
        env.from_sequence(0, 9).key_by(lambda v: v % 2).map(lambda v: v).print()
        job = submit(env)
        until(lambda: job.view.ended_ms is not None)
    counts = {m.value.count for m in latencies(job.view).values() if isinstance(m.value, Statistics)}
    assert job.view.epoch >= 10
    assert counts == {1}


def test_an_option_that_means_nothing_is_refused() -> None:
    env = environment(1, **EVERY_MS, **{"metrics.latency.granularity": "record"})
    env.from_sequence(0, 9).print()
    with local_platform(), pytest.raises(Exception, match=r"metrics\.latency\.granularity"):
        env.execute()
