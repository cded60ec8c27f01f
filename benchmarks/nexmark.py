"""Case q: the queries of Nexmark, beside Flink SQL."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.cases import by_rate, compare, progress
from benchmarks.environments import OURS, Environments
from benchmarks.measure import Comparison, System
from benchmarks.nexmark_events import write_events

EVENTS: Final = Path(__file__).parent / ".events"
#: Of the queries; Flink refuses q6.
TARGETS: Final = {f"q{number}": 0.8 for number in range(23) if number != 6} | dict.fromkeys(
    ("q4", "q5", "q7", "q8", "q11", "q12", "q15", "q16", "q17"),  # aggregates and windows
    3.0,
)
MEDIAN_TARGET: Final = 2.0
SETTINGS: Final = {
    "default": {},
    "mini-batch": {
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "2 s",
        "table.exec.mini-batch.size": "50000",
    },
}


#: What a rate is by, and its unit.
CLOCKS: Final = {"wall": ("seconds", "events/s"), "cpu": ("cpu_seconds", "events/s of CPU")}


def nexmark(
    environments: Environments,
    rounds: int,
    queries: list[str],
    settings: list[str],
    events: int,
    clock: str,
) -> list[Comparison]:
    """:param events: the smaller of the two sizes, of persons, auctions and bids together.
    :param clock: by the CPU time of all processes, pairs are comparable on a machine that others use, too;
        how well a system uses several cores does not show then.
    """
    seconds, unit = CLOCKS[clock]
    for count in (events // 10, events, 2 * events):
        _have_events(count)
    results = []
    for name in settings:
        config = [word for key, value in SETTINGS[name].items() for word in ("--config", f"{key}={value}")]
        of_setting = []
        for query in queries:
            arguments = ("--events", str(EVENTS), "--query", query, *config)
            ours = System("firesteel", OURS, "nexmark.py", events, arguments, pyflink_text=True)
            flink = System("Flink SQL", "pyflink", "nexmark.py", events, arguments)
            of_setting += compare(
                f"q: Nexmark {query}, {name}",
                unit,
                True,
                by_rate(ours, environments, seconds),
                [(by_rate(flink, environments, seconds), TARGETS[query])],
                rounds,
            )
        results += of_setting
        ratios = [result.ratio for result in of_setting if result.ratio is not None]
        if len(ratios) == len(TARGETS):
            case = f"q: Nexmark, median of the ratios, {name}"
            middle = [median(ratios)]
            results.append(Comparison(case, "firesteel", "Flink SQL", "", middle, [1.0], MEDIAN_TARGET, True))
    return results


def _have_events(count: int) -> None:
    """Write these events, once for all runs."""
    folder = EVENTS / str(count)
    if folder.exists():
        return
    progress(f"  writing {count:,} events")
    unfinished = EVENTS / f"{count}.{os.getpid()}"
    unfinished.mkdir(parents=True)
    try:
        write_events(unfinished, count)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
