"""When a checkpoint is due, where a job can take one between two steps only."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from firesteel.common.clock import ManualClock
from firesteel.jobmanager.checkpoints.coordinator import CheckpointCoordinator
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.checkpoints.storage import MemoryStorage
from firesteel.state.files import MemoryStateFiles
from tests.state.test_manifest import MANIFEST


def coordinator(clock: ManualClock, **options: int) -> CheckpointCoordinator:
    made = CheckpointCoordinator(
        CheckpointOptions(**options), MemoryStorage("/memory"), SharedFiles(MemoryStateFiles()), clock
    )
    made.begin(0)
    return made


@pytest.mark.parametrize(
    ("now_ms", "step_ms", "is_due"),
    [(999, 0, False), (1_000, 0, True), (650, 1_200, True), (350, 1_200, False), (1_700, 0, True)],
)
def test_the_step_that_ends_nearest_to_the_instant_has_it(now_ms: int, step_ms: float, is_due: bool) -> None:
    assert coordinator(ManualClock(0), interval_ms=1_000).is_due(now_ms, step_ms) is is_due


def test_slow_steps_do_not_make_checkpoints_late_by_one() -> None:
    """Steps of 0.65 and 1.15 s, a checkpoint each second: none comes two seconds behind another."""
    at, gaps = 0, []
    due = coordinator(ManualClock(0), interval_ms=1_000)
    last = 0
    for step in (650, 1_150, 1_150, 650, 650, 1_150) * 4:
        at += step
        if due.is_due(at, 1_150):
            gaps.append(at - last)
            last = at
            due.begin(at)
    assert max(gaps) <= 1_150
    assert len(gaps) == 24


def test_the_pause_is_kept_however_long_a_step_is() -> None:
    clock = ManualClock(0)
    due = coordinator(clock, interval_ms=1_000, min_pause_ms=800)
    clock.advance(1_000)
    assert due.take(1_000, lambda number: replace(MANIFEST, id=number)) is not None
    assert not due.is_due(1_700, 5_000)
    assert due.is_due(1_800, 5_000)


def test_without_checkpoints_none_is_due() -> None:
    assert not coordinator(ManualClock(0)).is_due(10**9, 10**9)
