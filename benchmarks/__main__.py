"""``python -m benchmarks``: measure, print a table, write results/<date>.json and .md."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from pathlib import Path

from benchmarks import report
from benchmarks.batch import batch
from benchmarks.cases import CASES, OF_RATES, progress
from benchmarks.enrichment import enrichment
from benchmarks.environments import Environments
from benchmarks.large_state import large_state
from benchmarks.latency import latency
from benchmarks.measure import Comparison
from benchmarks.nexmark import CLOCKS, SETTINGS, TARGETS, nexmark
from benchmarks.start import start


def named_directory(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals or not (Path(path) / "bin" / "python").exists():
        raise argparse.ArgumentTypeError(f"{text}: write NAME=DIRECTORY, a virtual environment")
    return name, Path(path).absolute()


def memory_size(text: str) -> int:
    units = {"m": 20, "g": 30}
    if text[-1:].lower() not in units or not text[:-1].isdigit():
        raise argparse.ArgumentTypeError(f"{text}: write 100m or 1g")
    return int(text[:-1]) << units[text[-1].lower()]


def some_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """The type of an option that chooses among these."""

    def chosen(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"no such thing: {', '.join(unknown)}; known: {', '.join(known)}"
            )
        return names

    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", help="cases, as in a,c (default: all)")
    parser.add_argument(
        "--state", type=memory_size, default="1g", metavar="SIZE", help="of case l: 1g (default), 100m"
    )
    parser.add_argument(
        "--folder", type=memory_size, default="1g", metavar="SIZE", help="of case s: 1g (default), 100m"
    )
    parser.add_argument(
        "--keys", type=int, default=10_000_000, help="of case t: rows of the table (default: 10000000)"
    )
    parser.add_argument("--rate", type=float, default=1_000, help="of case m, in records a second")
    parser.add_argument("--seconds", type=float, default=120, help="that a run of case m lasts")
    parser.add_argument(
        "--systems",
        default="",
        metavar="PARTS",
        help="of case m: only those whose names have one of these, with commas between them",
    )
    parser.add_argument(
        "--queries",
        type=some_of(TARGETS),
        default=list(TARGETS),
        help="of case q, as in q0,q5 (default: all)",
    )
    parser.add_argument(
        "--settings", type=some_of(SETTINGS), default=list(SETTINGS), help=f"of case q: {', '.join(SETTINGS)}"
    )
    parser.add_argument(
        "--events", type=int, default=2_000_000, help="of case q: the smaller number (default: 2000000)"
    )
    parser.add_argument(
        "--clock",
        choices=[*CLOCKS, "instructions"],
        default="wall",
        help="for a busy machine: cpu in case q, instructions with --earlier (default: wall)",
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair is measured (default: 3)")
    parser.add_argument(
        "--env",
        type=named_directory,
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="use this virtual environment for firesteel, pyflink, bytewax, quix or pyspark",
    )
    parser.add_argument(
        "--earlier",
        default="",
        metavar="COMMIT",
        help=f"compare with a commit of ours instead of the peers: cases {', '.join(OF_RATES)}",
    )
    options = parser.parse_args()
    cases = CASES | {
        "l": partial(large_state, state_bytes=options.state),
        "m": partial(latency, rate=options.rate, seconds=options.seconds, systems=options.systems),
        "q": partial(
            nexmark,
            queries=options.queries,
            settings=options.settings,
            events=options.events,
            clock=options.clock,
        ),
        "s": partial(batch, size=options.folder),
        "t": partial(enrichment, keys=options.keys),
        "start": start,
    }
    possible = OF_RATES if options.earlier else tuple(cases)
    chosen = options.only.split(",") if options.only else list(possible)
    unknown = [name for name in chosen if name not in possible]
    if unknown or options.rounds < 1:
        parser.error(f"no such case: {', '.join(unknown)}" if unknown else "--rounds must be at least 1")

    counting = options.clock == "instructions"
    if counting and not options.earlier:
        parser.error("--clock instructions compares two commits: give one with --earlier")
    environments = Environments(dict(options.env), options.earlier, counting=counting)
    started = datetime.now()
    results: list[Comparison] = []
    for name in chosen:
        progress(f"case {name}")
        results += cases[name](environments, options.rounds)
    print(report.table(results))
    for path in report.write(results, started, options.rounds):
        print(f"written: {path}")
    return 0 if all(result.met for result in results) else 1


if __name__ == "__main__":
    # Otherwise brokers and programs that it has started would stay.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    raise SystemExit(main())
