"""What an epoch without records costs, told from what records cost."""

from __future__ import annotations

from firesteel.jobmanager.epoch_overhead import EpochOverhead


def after(*epochs: tuple[int, float]) -> float:
    overhead = EpochOverhead()
    for records, overhead_ms in epochs:
        overhead.learn(records, overhead_ms)
    return round(overhead.ms)


def test_what_stays_with_fewer_records_is_the_cost_of_the_epoch() -> None:
    assert after((20_000, 3_000), (2_500, 3_000), (312, 3_000)) == 3_000


def test_what_grows_with_the_records_is_not() -> None:
    assert after((1, 200), (8, 900), (9, 1_000)) == 100


def test_large_epochs_of_one_size_say_nothing() -> None:
    assert after(*[(20_000, 3_000)] * 5) == 150


def test_one_long_epoch_is_not_believed() -> None:
    assert after((0, 100), (0, 60_000), (0, 100)) == 100
    assert after((0, 100), (0, 900), (0, 1_000)) == 900


def test_a_measure_that_cannot_be_is_forgotten() -> None:
    assert after((10, -200)) == 5
    assert after((10, -200), (0, 300), (0, 300)) == 300
