"""Some runs of what ``python -m tests.cluster.kills`` does for hours."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.budget import seed_of
from tests.cluster.kills import KINDS, Outcome, one_run

#: A run may end before it is struck; then there is another one, up to as many.
MOST_RUNS = 5


def struck_run(kind: str, place: Path) -> Outcome:
    for number in range(MOST_RUNS):
        outcome = one_run(kind, seed_of(kind, number), place / str(number))
        if outcome.failure or outcome.strikes:
            break
    return outcome


@pytest.mark.row("S-CTRL-03", "S-CTRL-04", "S-HA-04")
def test_a_killed_dispatcher_keeps_its_word(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:  # each waits for processes
        runs = [pool.submit(struck_run, kind, tmp_path / str(n)) for n, kind in enumerate(KINDS[:5])]
    outcomes = [run.result() for run in runs]
    assert [str(outcome) for outcome in outcomes if outcome.failure] == []
    assert all(outcome.strikes for outcome in outcomes)


@pytest.mark.row("S-HA-01", "S-HA-02", "S-HA-06", "S-HA-09", "S-CTRL-05")
@pytest.mark.row("S-LIFE-08", "S-TEST-04", "S-HA-10", "S-HA-11")
def test_another_dispatcher_takes_over_from_a_leader_that_is_killed_or_stands_still(tmp_path: Path) -> None:
    kinds = [kind for kind in KINDS if kind.startswith("the leader of two")]
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(one_run, kind, seed_of(kind), tmp_path / str(n)) for n, kind in enumerate(kinds)]
    outcomes = [run.result() for run in runs]
    assert [str(outcome) for outcome in outcomes if outcome.failure] == []
    assert len(outcomes) == 2
