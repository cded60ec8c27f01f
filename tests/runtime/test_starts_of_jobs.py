"""The pacing learns which epochs have waited for a start."""

from __future__ import annotations

import pytest

from firesteel.common.restart_strategy import RestartStrategies
from firesteel.jobmanager.pacing import Pacer, Work

from .support import collect, environment, local_platform, note, notes


def fail_once(value: int) -> int:
    if value == 20 and not notes["failed"]:
        note("failed")
        raise ValueError("once")
    return value


def test_the_first_epoch_of_each_attempt_is_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[Work] = []
    monkeypatch.setattr(Pacer, "learn", lambda _, work: learned.append(work))
    with local_platform():
        env = environment(epoch_records=10)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
        assert sorted(collect(env.from_collection(range(30)).map(fail_once)))[-1] == 29
    starts = [(work.records, work.is_start) for work in learned if work.records]
    assert starts == [(10, True), (10, False), (10, True), (10, False), (10, False)], starts
