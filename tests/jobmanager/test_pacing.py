"""How many records an epoch takes: learned, or as the program says."""

from __future__ import annotations

from firesteel.jobmanager.pacing import Pacer, PacingOptions, dirt
from firesteel.state.line import EpochDelta, RunRef


def test_epochs_grow_to_the_target_length() -> None:
    pacer = Pacer(PacingOptions(6_000))
    sizes = []
    for _ in range(6):
        records = pacer.budget().max_records
        sizes.append(records)
        pacer.learn(150 + records / 1_000, records, records, 0)  # a million records a second
    assert sizes == sorted(sizes)
    assert 5_000_000 < sizes[-1] < 6_000_000


def test_an_epoch_that_took_too_long_is_followed_by_smaller_ones() -> None:
    pacer = Pacer(PacingOptions(500))
    before = pacer.budget().max_records
    pacer.learn(10_000, before, before, 0)
    assert pacer.budget().max_records < before / 4


def test_many_changed_entries_make_epochs_smaller() -> None:
    pacer = Pacer(PacingOptions(60_000))
    before = pacer.budget().max_records
    pacer.learn(1_000, before, before, 4.0)
    assert pacer.budget().max_records == before / 4


def test_large_entries_count_by_their_bytes() -> None:
    run = RunRef("f", 0, 512 << 20, "", 1_000, 0, 1)
    assert dirt(EpochDelta(run=run, entries=1_000)) == 4.0
    assert dirt(EpochDelta(payload=b"x", entries=2_000_000)) == 2.0
    assert dirt(EpochDelta()) == 0.0


def test_a_size_that_the_program_sets_stays() -> None:
    for records in (1, 100, 10**9):
        pacer = Pacer(PacingOptions(500, records))
        assert pacer.budget().max_records == records
        pacer.learn(10_000, records, records, 10.0)
        assert pacer.budget().max_records == records
