"""What flights.py has written, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read(directory: Path) -> list[list[str]]:
    """The lines of a FileSink's finished files."""
    parts = sorted(directory.rglob("part-*"))
    return [line.split(",") for part in parts for line in part.read_text("utf-8").splitlines()]


def print_table(title: str, header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    cells = [
        header,
        *(
            [f"{c:,.1f}" if isinstance(c, float) else f"{c:,}" if isinstance(c, int) else c for c in row]
            for row in rows
        ),
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    numeric = [isinstance(value, int | float) for value in rows[0]] if rows else [False] * len(header)
    print(f"\n{title}")
    for row in cells:
        aligned = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True))
        print("  " + "  ".join(aligned).rstrip())


def last_versions(output: Path) -> tuple[list[tuple[str, str, int, float]], int]:
    """The hours as they were corrected last, and how many corrections there were. Each correction has one
    departure more."""
    hours: dict[tuple[str, str], tuple[int, float]] = {}
    rows = read(output / "hourly")
    for airport, hour, departures, mean in rows:
        version = int(departures), float(mean)
        if version > hours.get((airport, hour), (0, 0.0)):
            hours[airport, hour] = version
    return [(*place, *version) for place, version in sorted(hours.items())], len(rows) - len(hours)


def summarize(output: Path) -> int:
    """Print the results; return how many flights they account for."""
    hourly, corrections = last_versions(output)
    late, cancelled = read(output / "late"), read(output / "cancelled")

    header: tuple[str, ...] = ("airport", "hour", "departures", "mean delay (min)")
    busiest = sorted(hourly, key=lambda row: (-row[2], row[1], row[0]))[:5]
    print_table("The busiest hours", header, busiest)
    worst = sorted((row for row in hourly if row[2] >= 10), key=lambda row: (-row[3], row[1]))[:5]
    print_table("The most delayed hours of ten departures or more", header, worst)

    airports = []
    for airport in sorted({row[0] for row in hourly}):
        rows = [row for row in hourly if row[0] == airport]
        counted = sum(row[2] for row in rows)
        mean = sum(row[2] * row[3] for row in rows) / counted
        lost = [sum(row[0] == airport for row in side) for side in (late, cancelled)]
        airports.append((airport, len(rows), counted, mean, *lost))
    header = ("airport", "hours", "departures", "mean delay (min)", "late", "cancelled")
    print_table("Airports (late: left when their hour could not be corrected any more)", header, airports)

    carriers = [(name, int(n), float(mean)) for _, name, n, mean in read(output / "carriers")]
    header = ("airline", "departures", "mean delay (min)")
    print_table("Airlines", header, sorted(carriers, key=lambda row: -row[1]))

    weather = [(sky, int(n), float(mean)) for sky, n, mean in read(output / "weather")]
    header = ("weather at departure", "departures", "mean delay (min)")
    print_table("Weather", header, sorted(weather, key=lambda row: -row[1]))

    days = [(tail, first, last, int(n)) for tail, first, last, n in read(output / "aircraft")]
    header = ("aircraft", "first departure", "last departure", "departures")
    print_table(
        "The fullest days of an aircraft", header, sorted(days, key=lambda row: (-row[3], row[1]))[:5]
    )
    print(f"\n{corrections:,} hours were corrected by flights that left after them")
    return sum(row[2] for row in hourly) + len(late) + len(cancelled)
