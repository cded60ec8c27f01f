"""The long form of the kill tests: so many runs of each kind, and a report.

    python -m tests.kills.soak [--runs N] [--seed S] [--report FILE] [KIND ...]

The exit status is 1 when a run has failed. The report is written anew after each run, so it is there when the
soak is broken off.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.kills.campaign import FAMILIES, Campaign, Outcome

_HEAD: Final = "| kind | runs | struck | failures | median s | seeds |\n|---|---|---|---|---|---|\n"


def outcomes(work: Path, kinds: list[str], runs: int, seed: int) -> Iterator[Outcome]:
    """One campaign for each family of kinds that can share their drivers."""
    for number, family in enumerate(FAMILIES):
        wanted = [kind for kind in family.kinds if kind in kinds]
        if wanted:
            place = work / str(number)
            place.mkdir()
            with Campaign(place, family.hosts) as campaign:
                yield from campaign.undisturbed(seed)
                for kind in wanted:
                    yield from campaign.runs_of(kind, runs, seed)


def table(found: list[Outcome]) -> str:
    lines = []
    for kind in dict.fromkeys(outcome.kind for outcome in found):
        of_kind = [outcome for outcome in found if outcome.kind == kind]
        seeds = [outcome.seed for outcome in of_kind]
        sound = [outcome.seconds for outcome in of_kind if not outcome.failure] or [0.0]
        cells = (
            kind,
            len(of_kind),
            sum(outcome.strikes > 0 for outcome in of_kind),
            sum(bool(outcome.failure) for outcome in of_kind),
            f"{statistics.median(sound):.1f}",
            f"{min(seeds)} to {max(seeds)}",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return _HEAD + "\n".join(lines) + "\n"


def report(found: list[Outcome], seconds: float) -> str:
    failed = [outcome for outcome in found if outcome.failure]
    said = "".join(f"\n## {o.kind}, seed {o.seed}\n\n```\n{o.failure}\n```\n" for o in failed)
    return f"# Kill tests\n\n{len(found)} runs in {seconds / 60:.0f} minutes.\n\n{table(found)}{said}"


def main() -> None:
    every = [kind for family in FAMILIES for kind in family.kinds]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--report", type=Path, default=Path("soak-report.md"))
    parser.add_argument("kinds", nargs="*", choices=[*every, []], metavar="KIND", help=", ".join(every))
    arguments = parser.parse_args()
    seed = random.randrange(1 << 20) if arguments.seed is None else arguments.seed
    found: list[Outcome] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="firesteel-soak-") as work:
        for outcome in outcomes(Path(work), arguments.kinds or every, arguments.runs, seed):
            found.append(outcome)
            print(f"{time.monotonic() - begun:7.1f} s  {outcome}", flush=True)
            arguments.report.write_text(report(found, time.monotonic() - begun))
    print(table(found))
    sys.exit(any(outcome.failure for outcome in found))


if __name__ == "__main__":
    main()
