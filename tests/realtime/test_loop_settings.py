"""How long records wait for others."""

from __future__ import annotations

import pytest

from firesteel.runtime.loop_settings import LoopSettings


@pytest.mark.parametrize("now_ms", [1_000_000.0, 1_000_004.9, 1_000_005.0, 1_763_999_123_457.123])
def test_buffers_of_all_tasks_leave_at_the_same_instants(now_ms: float) -> None:
    flushed_ms = LoopSettings("s", 0, 2, 5).flushed_ms(now_ms)
    assert flushed_ms % 5 == 0
    assert flushed_ms <= now_ms < flushed_ms + 5


@pytest.mark.parametrize("timeout_ms", [0, None])
def test_without_a_timeout_they_leave_when_they_leave(timeout_ms: float | None) -> None:
    assert LoopSettings("s", 0, 2, timeout_ms).flushed_ms(1_004.9) == 1_004.9


@pytest.mark.parametrize(
    ("producers", "timeout_ms", "wanted_ms"),
    [(0, 5, 5), (2, 5, 0.2), (2, 0, 0), (0, None, None), (2, None, None)],
)
def test_a_writer_behind_an_exchange_waits_for_less(
    producers: int, timeout_ms: float | None, wanted_ms: float | None
) -> None:
    assert LoopSettings("s", producers, 0, timeout_ms).writer_timeout_ms == wanted_ms
