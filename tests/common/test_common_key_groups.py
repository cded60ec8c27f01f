from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from firesteel.common.key_groups import default_max_parallelism, key_group_range, subtask_of
from firesteel.graph.distribution import pointwise_consumers, pointwise_producers


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [
        (2, [range(64), range(64, 128)]),
        (3, [range(43), range(43, 86), range(86, 128)]),
        (4, [range(32), range(32, 64), range(64, 96), range(96, 128)]),
    ],
)
@pytest.mark.row("S-STATE-17", "S-STATE-18", "T17")
def test_ranges_of_128_groups(parallelism: int, expected: list[range]) -> None:
    assert [key_group_range(128, parallelism, i) for i in range(parallelism)] == expected


@given(st.integers(1, 300).flatmap(lambda m: st.tuples(st.just(m), st.integers(1, m))))
@pytest.mark.row("S-STATE-17")
def test_each_group_is_in_the_range_of_its_subtask(sizes: tuple[int, int]) -> None:
    max_parallelism, parallelism = sizes
    ranges = [key_group_range(max_parallelism, parallelism, i) for i in range(parallelism)]
    owners = [subtask_of(group, max_parallelism, parallelism) for group in range(max_parallelism)]
    assert owners == [i for i, r in enumerate(ranges) for _ in r]
    assert [group for r in ranges for group in r] == list(range(max_parallelism))


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [(1, 128), (4, 128), (85, 128), (86, 256), (100, 256), (200, 512), (30000, 32768), (32768, 32768)],
)
def test_default_max_parallelism(parallelism: int, expected: int) -> None:
    assert default_max_parallelism(parallelism) == expected


@pytest.mark.parametrize("parallelism", [0, -1, 32769])
def test_parallelism_out_of_bounds(parallelism: int) -> None:
    with pytest.raises(ValueError, match="parallelism must be in"):
        default_max_parallelism(parallelism)


@pytest.mark.parametrize("arguments", [(128, 129, 0), (128, 0, 0), (128, 2, 2), (128, 2, -1)])
def test_no_such_range(arguments: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must be in"):
        key_group_range(*arguments)


@given(st.integers(1, 40), st.integers(1, 40))
def test_both_ends_of_a_pointwise_edge_agree(producers: int, consumers: int) -> None:
    down = {(p, c) for p in range(producers) for c in pointwise_consumers(p, producers, consumers)}
    up = {(p, c) for c in range(consumers) for p in pointwise_producers(c, producers, consumers)}
    assert down == up
    assert {p for p, _ in down} == set(range(producers))
    assert {c for _, c in down} == set(range(consumers))
