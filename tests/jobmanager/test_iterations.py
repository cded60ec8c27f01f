"""Iterations over bounded streams: a job for each round, until nothing is left to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import FiresteelError, ProgramError, UnsupportedFeatureError
from firesteel.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.iterations import iterate_bounded
from tests.runtime.support import collect, environment

EDGES = {1: [2], 2: [1, 3], 3: [2], 4: [5], 5: [4, 6], 6: [5], 7: []}


def batch(parallelism: int = 1, **options: str) -> StreamExecutionEnvironment:
    env = environment(parallelism, **options)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env


def better(pair: tuple[float, float]) -> tuple[float, float]:
    square, root = pair
    return square, (root + square / root) / 2


def is_far(pair: tuple[float, float]) -> bool:
    return abs(pair[1] ** 2 - pair[0]) > 1e-9


@pytest.mark.row("S-ARCH-13")
@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_bounded_iteration_converges(parallelism: int) -> None:
    rounds = []

    def body(pairs: DataStream, number: int) -> DataStream:
        rounds.append(number)
        return pairs.map(better)

    env = batch(parallelism)
    found = iterate_bounded(
        env.from_collection([(2.0, 1.0), (9.0, 1.0), (1e6, 1.0)]),
        body,
        max_rounds=50,
        unfinished=lambda before, after: after.filter(is_far),
    )
    assert sorted(round(root, 6) for _, root in collect(found)) == [1.414214, 3.0, 1000.0]
    assert rounds == list(range(len(rounds)))
    assert 10 < len(rounds) < 30, "it ended when nothing was left to do"


def spread(labelled: tuple[int, int]) -> Iterator[tuple[int, int]]:
    node, label = labelled
    yield node, label
    for neighbour in EDGES[node]:
        yield neighbour, label


def least(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    return first[0], min(first[1], second[1])


def differs(one: Any, other: Any) -> Any:
    return one[0], one[1] if one[1] != other[1] else None


@pytest.mark.row("S-ARCH-13")
def test_a_round_may_look_at_the_one_before(tmp_path: Path) -> None:
    """Connected components: each node takes the least label of its neighbours, until no label changes."""

    def changed(before: DataStream, after: DataStream) -> DataStream:
        both = before.union(after).key_by(lambda v: v[0]).reduce(differs)
        return both.filter(lambda v: v[1] is not None)

    env = batch(**{"firesteel.state.dir": str(tmp_path)})
    found = iterate_bounded(
        env.from_collection([(node, node) for node in EDGES]),
        lambda labels, number: labels.flat_map(spread).key_by(lambda v: v[0]).reduce(least),
        max_rounds=20,
        unfinished=changed,
    )
    assert sorted(collect(found)) == [(1, 1), (2, 1), (3, 1), (4, 4), (5, 4), (6, 4), (7, 7)]
    kept = {path.parent for path in tmp_path.rglob("*.records")}
    assert len(kept) == 1, "of the rounds before nothing is left"
    env.close()


@pytest.mark.row("S-ARCH-13")
def test_without_an_end_there_are_as_many_rounds_as_asked_for() -> None:
    env = batch()
    found = iterate_bounded(
        env.from_collection([1]), lambda numbers, number: numbers.map(lambda n: n * 2), max_rounds=5
    )
    assert collect(found) == [32]


@pytest.mark.row("S-ARCH-13")
def test_what_cannot_be_iterated_is_refused() -> None:
    env = environment(1)
    numbers = env.from_collection([1])
    with pytest.raises(ProgramError, match="BATCH mode"):
        iterate_bounded(numbers, lambda stream, number: stream, max_rounds=1)
    with pytest.raises(FiresteelError, match="number of rounds must be at least 1"):
        iterate_bounded(numbers, lambda stream, number: stream, max_rounds=0)
    with pytest.raises(UnsupportedFeatureError) as refused:
        numbers.iterate()
    assert "iterate_bounded" in (refused.value.hint or "")
