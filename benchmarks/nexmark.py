"""Case q: the queries of Nexmark, beside Flink SQL."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.cases import progress
from benchmarks.environments import OURS, Environments
from benchmarks.measure import Comparison, ProgramFailed, System, execute, steady_rate
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


#: What is compared: jobs of half the smaller number of events, and what each more event costs.
_WHAT: Final = ("jobs", "steady")

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
    for count in (events // 20, events // 2, events, 2 * events):
        _have_events(count)
    results = []
    for name in settings:
        config = [word for key, value in SETTINGS[name].items() for word in ("--config", f"{key}={value}")]
        of_setting: dict[str, list[Comparison]] = {what: [] for what in _WHAT}
        for query in queries:
            arguments = ("--events", str(EVENTS), "--query", query, *config)
            ours = System("firesteel", OURS, "nexmark.py", events, arguments, pyflink_text=True)
            flink = System("Flink SQL", "pyflink", "nexmark.py", events, arguments)
            names = ours.name, flink.name, unit
            cases = [f"q: Nexmark {query}, {what}, {name}" for what in _WHAT]
            found = [Comparison(case, *names, [], [], TARGETS[query], at_least=True) for case in cases]
            _measure(found, (ours, flink), environments, seconds, rounds)
            for what, comparison in zip(_WHAT, found, strict=True):
                of_setting[what].append(comparison)
        for what, comparisons in of_setting.items():
            results += comparisons
            ratios = [result.ratio for result in comparisons if result.ratio is not None]
            if len(ratios) == len(TARGETS):
                case = f"q: Nexmark, median of the ratios, {what}, {name}"
                middle = [median(ratios)]
                results.append(
                    Comparison(case, "firesteel", "Flink SQL", "", middle, [1.0], MEDIAN_TARGET, True)
                )
    return results


def _measure(
    found: list[Comparison],
    pair: tuple[System, System],
    environments: Environments,
    seconds: str,
    rounds: int,
) -> None:
    for turn in range(1, rounds + 1):
        try:
            ours, flink = (_rates(system, environments, seconds) for system in pair)
        except ProgramFailed as failure:
            for comparison in found:
                comparison.error = str(failure)
            progress(f"  {found[0].case} failed: {failure}")
            return
        for comparison, own, others in zip(found, ours, flink, strict=True):
            comparison.ours_values.append(own)
            comparison.peer_values.append(others)
            rates = f"{own:,.4g} and {others:,.4g} {comparison.unit}"
            progress(f"  round {turn}, {comparison.case}: {rates}")


def _rates(system: System, environments: Environments, seconds: str) -> tuple[float, float]:
    """Of ``_WHAT``: of the middle one of three jobs in a program that has run one before, with their starts;
    and between two larger ones, where starts cancel out."""
    n = system.records
    sizes = [n // 20, n // 2, n // 2, n // 2, n, 2 * n]
    _, *jobs, single, double = (line[seconds] for line in execute(system, environments, sizes).lines)
    return n // 2 / median(jobs), steady_rate(n, single, double)


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
