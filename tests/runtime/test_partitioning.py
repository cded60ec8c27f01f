"""Which subtask gets which record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, ProgramError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import DataStream, KeyedProcessFunction, MapFunction, RuntimeContext
from firesteel.graph.job_graph import JobGraph
from firesteel.testing.local_platform import LocalEngine

from .support import SplitsSource, collect, environment, local_platform


class Where(MapFunction):
    """(index of the subtask, record)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return self.index, value


class WhereKeyed(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self.index, value


def spread(stream: DataStream) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for index, value in collect(stream):
        found[index].append(value)
    return dict(found)


@pytest.mark.parametrize("epoch_records", [7, 100, None])
@pytest.mark.parametrize("producers", [1, 3])
@pytest.mark.row("S-PART-03", "S-PERF-05", "S-API-03")
def test_rebalance_is_even(producers: int, epoch_records: int | None) -> None:
    """1000 records to 4 subtasks: 250 each, give or take one for each producer."""
    env = environment(producers, epoch_records=epoch_records)
    # All records of each producer come in one skewed stretch; the position goes on from epoch to epoch.
    splits = [[(("x", i), None) for i in range(n)] for n in ((1000,) if producers == 1 else (900, 90, 10))]
    source = env.from_source(SplitsSource(*splits), WatermarkStrategy.no_watermarks(), "s")
    found = spread(source.rebalance().map(Where()).set_parallelism(4))
    assert sorted(found) == [0, 1, 2, 3]
    assert all(abs(len(v) - 250) <= producers for v in found.values())


@pytest.mark.row("S-PART-04")
def test_broadcast_reaches_every_subtask() -> None:
    env = environment(1, epoch_records=10)
    found = spread(env.from_collection(range(25)).broadcast().map(Where()).set_parallelism(3))
    assert found == {i: list(range(25)) for i in range(3)}


@pytest.mark.row("S-PART-05")
def test_global_reaches_the_first_subtask_only() -> None:
    env = environment(3)
    found = spread(env.from_sequence(1, 20).global_().map(Where()))
    assert {k: sorted(v) for k, v in found.items()} == {0: list(range(1, 21))}


@pytest.mark.parametrize(("producers", "consumers"), [(2, 4), (4, 2), (2, 3), (3, 2)])
@pytest.mark.row("S-PART-05")
def test_rescale_stays_in_its_group(producers: int, consumers: int) -> None:
    env = environment(producers)
    mapped = env.from_sequence(0, 239).map(Where())
    found = spread(mapped.rescale().map(Where()).set_parallelism(consumers))
    reached = {p: {c for c, vs in found.items() for q, _ in vs if q == p} for p in range(producers)}
    if consumers % producers == 0:
        n = consumers // producers
        assert reached == {p: set(range(p * n, p * n + n)) for p in range(producers)}
    elif producers % consumers == 0:
        n = producers // consumers
        assert reached == {p: {p // n} for p in range(producers)}
    else:
        assert set().union(*reached.values()) == set(range(consumers)), "no consumer may be left out"
    assert sorted(v for vs in found.values() for _, v in vs) == list(range(240))
    for p, targets in reached.items():
        counts = [sum(1 for q, _ in found[c] if q == p) for c in targets]
        assert max(counts) - min(counts) <= 1, "round robin within the group"


@pytest.mark.row("S-PART-05")
def test_shuffle_reaches_all_and_is_the_same_when_an_epoch_is_run_again() -> None:
    env = environment(1, epoch_records=100)
    first = spread(env.from_collection(range(400)).shuffle().map(Where()).set_parallelism(4))
    assert sorted(first) == [0, 1, 2, 3]
    assert all(60 < len(v) < 140 for v in first.values())
    assert first[0] != list(range(0, 400, 4)), "that would be round robin"
    again = spread(env.from_collection(range(400)).shuffle().map(Where()).set_parallelism(4))
    assert again == first


@pytest.mark.row("S-PART-05")
def test_a_custom_partitioner_decides() -> None:
    env = environment(1)
    stream = env.from_collection(range(30)).partition_custom(lambda key, n: (key + 1) % n, lambda v: v * 10)
    found = spread(stream.map(Where()).set_parallelism(3))
    assert {v: i for i, vs in found.items() for v in vs} == {v: (v * 10 + 1) % 3 for v in range(30)}


@pytest.mark.parametrize("bad", [3, -1, 99, None, "0", 1.0, True])
def test_a_custom_partitioner_that_names_no_subtask_fails_the_job(bad: Any) -> None:
    env = environment(1)
    stream = (
        env.from_collection([5])
        .map(lambda v: v)
        .name("sender")
        .partition_custom(lambda k, n: bad, lambda v: v)
    )
    with pytest.raises(JobExecutionError) as failed:
        collect(stream.map(Where()).set_parallelism(3))
    assert isinstance(failed.value.__cause__, ProgramError)
    assert "custom partitioner" in str(failed.value.__cause__)
    assert "sender" in str(failed.value.operator)


@pytest.mark.row("S-OPS-03", "T17", "S-PART-02")
def test_all_records_of_a_key_meet_in_one_subtask_and_it_is_that_of_flink() -> None:
    """At p=3 the keys "a", "b" and "c" belong to subtasks 1, 0 and 1."""
    for run in range(2):
        with local_platform(lambda r=run: LocalEngine(seed=r)):  # type: ignore[misc]
            env = environment(2, epoch_records=5)
            stream = env.from_collection(list("abcabcabc" * 5)).rebalance().map(lambda v: v)
            found = spread(stream.key_by(lambda v: v).process(WhereKeyed()).set_parallelism(3))
            assert {k: Counter(v) for k, v in found.items()} == {1: {"a": 15, "c": 15}, 0: {"b": 15}}


def test_a_forward_edge_keeps_its_subtask() -> None:
    env = environment(3)
    first = env.from_sequence(0, 29).map(Where())
    assert all(a == b for a, (b, _) in collect(first.forward().map(Where()).disable_chaining()))


@pytest.mark.row("X10", "S-PART-01")
def test_forward_with_unequal_parallelism_is_refused() -> None:
    env = environment(2)
    stream = env.from_sequence(0, 9).map(lambda v: v).name("two").forward().map(Where()).set_parallelism(3)
    with pytest.raises(ProgramError, match=r"(?is)forward.*parallelism"):
        collect(stream)


@pytest.mark.row("X10", "S-API-03", "S-PART-07")
def test_another_parallelism_means_rebalance() -> None:
    from firesteel.graph.generator import generate
    from firesteel.graph.job_graph import create_job_graph
    from firesteel.jobmanager.executor import graph_config

    env = environment(2)
    env.from_sequence(0, 9).map(lambda v: v).set_parallelism(2).map(Where()).set_parallelism(1).print()
    graph: JobGraph = create_job_graph(generate(env.transformations, graph_config(env, None)))
    edges = [(e.partitioning.kind.name) for v in graph.vertices for e in v.inputs]
    assert "REBALANCE" in edges


class Arrival(KeyedProcessFunction):
    """(key, producer, number) as they arrive."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value


@pytest.mark.parametrize("epoch_records", [17, 50, None])
@pytest.mark.row("S-OPS-21", "S-NET-03")
def test_the_order_of_a_producer_and_key_holds_from_four_to_three(epoch_records: int | None) -> None:
    with local_platform(lambda: LocalEngine(seed=4)):
        env = environment(4, epoch_records=epoch_records)
        splits = [[((s, i, i % 5), None) for i in range(600)] for s in range(4)]
        source = env.from_source(SplitsSource(*splits), WatermarkStrategy.no_watermarks(), "s")
        out = collect(source.key_by(lambda v: v[2]).process(Arrival()).set_parallelism(3))
        assert len(out) == 2400
        sequences: dict[Any, list[int]] = defaultdict(list)
        for producer, number, key in out:
            sequences[producer, key].append(number)
        assert len(sequences) == 20
        assert all(s == sorted(s) and len(s) == 120 for s in sequences.values())
