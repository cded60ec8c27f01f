"""A campaign strikes drivers within the time of a run, which it learns from the runs that it makes anyway."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kills import campaign as under_test
from tests.kills.campaign import Campaign, Event

COLD_S, WARM_S, STRUCK_S = 12.0, 4.0, 30.0


class FakeDriver:
    """Its first run takes longer. Struck after it has ended, or before: ``slept`` says which."""

    slept: list[float] = []
    runs = 0

    def __init__(self, *args: Any) -> None:
        self.complaints = ""
        self.killed_after: float | None = None

    def await_start(self) -> None: ...
    def destroy(self) -> None: ...

    def run(self, run: Any, dies: Any = None) -> None:
        FakeDriver.runs += 1

    def kill(self, *, machine: bool) -> None:
        self.killed_after = FakeDriver.slept[-1]

    def wait_for(self, *events: str) -> Event:
        return self._end(COLD_S if FakeDriver.runs == 1 else STRUCK_S)

    def has_said(self, event: str) -> Event | None:
        return self._end(WARM_S) if (self.killed_after or 0) > WARM_S else None

    def _end(self, seconds: float) -> Event:
        return {"event": "end", "seconds": seconds, "strikes": 0, "differences": ""}


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Campaign]:
    monkeypatch.setattr(under_test, "Driver", FakeDriver)
    monkeypatch.setattr(under_test.time, "sleep", FakeDriver.slept.append)
    monkeypatch.setattr(FakeDriver, "runs", 0)
    FakeDriver.slept.clear()
    with Campaign(tmp_path) as made:
        yield made


def test_no_run_is_made_for_its_time_alone(campaign: Campaign) -> None:
    assert campaign.undisturbed(0).seconds == COLD_S
    assert FakeDriver.runs == 1


def test_a_strike_that_comes_too_late_says_how_long_a_run_takes(campaign: Campaign) -> None:
    campaign.undisturbed(0)
    late = next(s for s in range(100) if random.Random(s).uniform(0, COLD_S) > WARM_S)
    [missed] = campaign.runs_of("driver killed", 1, late)
    assert missed.strikes == 0
    outcomes = list(campaign.runs_of("driver killed", 20, late))
    assert all(outcome.strikes == 1 for outcome in outcomes)
    assert max(FakeDriver.slept[1:]) <= WARM_S
    assert max(FakeDriver.slept[1:]) > WARM_S / 2, "what a struck run took says nothing"
