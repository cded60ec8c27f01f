"""``python -m benchmarks``: measure, print a table, write results/<date>.json and .md."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from benchmarks import report
from benchmarks.cases import CASES, progress
from benchmarks.environments import Environments
from benchmarks.measure import Comparison


def named_directory(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals or not (Path(path) / "bin" / "python").exists():
        raise argparse.ArgumentTypeError(f"{text}: write NAME=DIRECTORY, a virtual environment")
    return name, Path(path).absolute()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default=",".join(CASES), help="cases, as in a,c (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair is measured (default: 3)")
    parser.add_argument(
        "--env",
        type=named_directory,
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="use this virtual environment for firesteel, pyflink, bytewax or pyspark",
    )
    options = parser.parse_args()
    chosen = options.only.split(",")
    unknown = [name for name in chosen if name not in CASES]
    if unknown or options.rounds < 1:
        parser.error(f"no such case: {', '.join(unknown)}" if unknown else "--rounds must be at least 1")

    environments = Environments(dict(options.env))
    started = datetime.now()
    results: list[Comparison] = []
    for name in chosen:
        progress(f"case {name}")
        results += CASES[name](environments, options.rounds)
    print(report.table(results))
    for path in report.write(results, started, options.rounds):
        print(f"written: {path}")
    return 0 if all(result.met for result in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
