"""How long epochs in real time are, by what it costs to end them."""

from __future__ import annotations

import pytest

from firesteel.jobmanager.epoch_length import EpochLength

LONGEST = 5_000


def settled(ending_ms: float, per_ms: float, longest_ms: float = LONGEST) -> EpochLength:
    """After epochs whose end costs *ending_ms*, and *per_ms* more for each millisecond of them."""
    length = EpochLength(longest_ms)
    for _ in range(30):
        length.adapt(length.ms, ending_ms + per_ms * length.ms)
    return length


def test_the_first_epoch_is_short() -> None:
    assert EpochLength(LONGEST).ms == 100


def test_epochs_become_long_where_little_changes() -> None:
    length = EpochLength(LONGEST)
    seen = []
    for _ in range(8):
        length.adapt(length.ms, 1.0)
        seen.append(length.ms)
    assert seen == [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]


@pytest.mark.parametrize("per_ms", [0.01, 0.05, 0.1])
def test_to_end_an_epoch_takes_twenty_milliseconds_where_much_changes(per_ms: float) -> None:
    length = settled(0.0, per_ms)
    assert per_ms * length.ms == pytest.approx(20, rel=0.01)


def test_a_burst_of_changes_makes_the_next_epoch_short_at_once() -> None:
    length = settled(1.0, 0.0)
    assert length.ms == LONGEST
    length.adapt(LONGEST, 1_000)
    assert length.ms == 100


@pytest.mark.parametrize("per_ms", [1 / 400, 1 / 2_000])
def test_an_epoch_changes_no_more_of_the_state_than_it_should(per_ms: float) -> None:
    """Where the changes are written in the background, their amount costs the tasks next to nothing."""
    length = EpochLength(LONGEST)
    most = 0.0
    for _ in range(30):
        most = max(most, per_ms * length.ms)
        length.adapt(length.ms, 1.0, per_ms * length.ms)
    assert most <= 1
    assert per_ms * length.ms == pytest.approx(1, rel=0.01)


def test_no_epoch_is_shorter_than_a_tenth_of_a_second() -> None:
    assert settled(500.0, 0.0).ms == 100
    assert settled(0.0, 1.0).ms == 100


def test_the_longest_may_be_shorter_than_that() -> None:
    assert settled(500.0, 0.0, longest_ms=50).ms == 50


def test_an_epoch_that_was_cut_early_says_little() -> None:
    """A savepoint, for example, ends one after a few milliseconds."""
    length = settled(1.0, 0.0)
    length.adapt(3.0, 1.0)
    assert length.ms >= 2_000
