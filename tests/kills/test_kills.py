"""The short form: a run of each kind that is struck, on real executors (``make soak`` is the long one)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.budget import seed_of
from tests.kills import job, tables
from tests.kills.campaign import FAMILIES, Campaign, Family
from tests.kills.strikes import REAL_TIME, SQL, hindrance, strike_of
from tests.runtime.support import environment, local_platform

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

#: A run may end before it is struck; then there is another one, up to as many.
MOST_RUNS = 10
#: Of what strikes queries of SQL and jobs in real time here are only these, which differ in what is struck;
#: all of them are in the soak.
SQL_KINDS = ("worker", "driver killed")
REAL_TIME_KINDS = ("executor", "failing write", "driver killed", "fault points")


def is_chosen(kind: str) -> bool:
    if kind.startswith(SQL):
        return strike_of(kind) in SQL_KINDS
    return not kind.startswith(REAL_TIME) or strike_of(kind) in REAL_TIME_KINDS


EACH = [(family, kind) for family in FAMILIES for kind in family.kinds if is_chosen(kind)]

Campaigns = Callable[[Family], Campaign]


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaigns]:
    """The campaign of a family; it ends when that of another is asked for."""
    running: list[tuple[Family, Campaign]] = []

    def of(family: Family) -> Campaign:
        if not running or running[0][0] is not family:
            stop()
            campaign = Campaign(tmp_path_factory.mktemp("kills"), family.hosts, family.mode)
            running.append((family, campaign))
            outcome = campaign.undisturbed(0)
            assert not outcome.failure, outcome
        return running[0][1]

    def stop() -> None:
        while running:
            running.pop()[1].close()

    yield of
    stop()


@pytest.mark.parametrize(("family", "kind"), EACH, ids=[kind for _, kind in EACH])
@pytest.mark.row(
    "S-CKPT-01",
    "S-FAIL-01",
    "S-FAIL-05",
    "S-FAIL-15",
    "S-FAIL-17",
    "S-SPARK-05",
    "S-ARCH-14",
    "S-CKPT-36",
    "S-TEST-05",
)
@pytest.mark.row("S-CEP-16", "S-CEP-17")
def test_nothing_is_lost_and_nothing_is_doubled(campaigns: Campaigns, family: Family, kind: str) -> None:
    if reason := hindrance(kind):
        pytest.skip(f"NOT TESTED: {kind}: {reason}")
    seed = seed_of(kind)
    for number in range(MOST_RUNS):
        [outcome] = campaigns(family).runs_of(kind, 1, seed + number)
        assert not outcome.failure, str(outcome)
        if outcome.strikes:
            return
    pytest.fail(f"nothing was struck from seed {seed} on")


def test_the_comparison_sees_what_is_lost_doubled_and_left(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    with local_platform():
        env = environment(job.RANGES, epoch_records=job.PER_EPOCH)
        job.build(env, tmp_path / "output")
        env.execute("undisturbed")
    assert job.differences(tmp_path / "output") == ""
    for name in job.FILES:
        part = next(p for p in (tmp_path / "output" / name).rglob("part-*") if p.stat().st_size)
        lines = part.read_text().splitlines(keepends=True)
        part.write_text("".join(lines[1:] + lines[-1:]))
        said = job.differences(tmp_path / "output")
        assert f"files of {name}: 1 lost" in said
        assert f"files of {name}: 1 too many" in said


def test_the_comparison_sees_what_queries_lost_and_doubled(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.mkdir()
    with local_platform():
        env = environment(job.RANGES, epoch_records=10 * job.PER_EPOCH)
        tables.build(env, output)
        env.execute("undisturbed")
    assert tables.differences(output) == ""
    part = next(p for p in (output / "windows").rglob("part-*") if p.stat().st_size)
    lines = part.read_text().splitlines(keepends=True)
    part.write_text("".join(lines[1:] + lines[-1:]))
    for database, statement in (
        ("groups.db", "UPDATE counted SET s = s + 1 WHERE g = 0"),
        (".joined.db", "DELETE FROM joined WHERE line LIKE '%+I%' AND rowid % 100 = 0"),
    ):
        with closing(sqlite3.connect(output / database)) as changed:
            changed.execute(statement)
            changed.commit()
    said = tables.differences(output)
    assert "windows: 1 lost" in said
    assert "windows: 1 too many" in said
    assert "groups: " in said
    assert "joined: " in said
