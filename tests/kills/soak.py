"""The long form of the kill tests: RUNS runs of each kind, Kafka's included, and a report.

    python -m tests.kills.soak [--runs N] [--seed S] [--report FILE] [--anew] [--allow-missing] [KIND ...]

Each run is recorded as it ends, in a file of JSON lines beside the report. Started again, the soak goes on
with the runs that are missing; a run that was broken off counts as none. The runs of a kind are of one
commit: a kind that is complete stays, whatever its commit is, the others begin anew at another commit.

The exit status is 1 when a run has failed, and 3 when a kind cannot run on this machine, unless
--allow-missing is given.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.jvms import for_short_lives
from tests.kills.campaign import FAMILIES, Campaign
from tests.kills.outcomes import Journal, Outcome, Provenance
from tests.kills.report import report
from tests.kills.strikes import hindrance
from tests.servers.kafka import kills as kafka

SPARKS: Final = tuple(kind for family in FAMILIES for kind in family.kinds)
KINDS: Final = (*SPARKS, *kafka.KINDS)
REPORT: Final = Path("docs/design/kills.md")


def hindrances(kinds: tuple[str, ...] = KINDS) -> dict[str, str]:
    """Why which kinds cannot run on this machine."""
    found = {kind: kafka.hindrance() if kind in kafka.KINDS else hindrance(kind) for kind in kinds}
    return {kind: reason for kind, reason in found.items() if reason}


def outcomes(work: Path, kinds: list[str], runs: int, seed: int, journal: Journal) -> Iterator[Outcome]:
    """The runs that are missing. One campaign for each family of kinds that can share their drivers."""
    for number, family in enumerate(FAMILIES):
        wanted = [kind for kind in family.kinds if kind in kinds and journal.missing(kind, runs, seed)[0]]
        if wanted:
            with Campaign(_made(work / str(number)), family.hosts, family.mode) as campaign:
                yield campaign.undisturbed(seed)
                for kind in wanted:
                    yield from campaign.runs_of(kind, *journal.missing(kind, runs, seed))
    wanted = [kind for kind in kafka.KINDS if kind in kinds and journal.missing(kind, runs, seed)[0]]
    if wanted:
        with kafka.KafkaCampaign(_made(work / "kafka")) as campaign_of_kafka:
            for kind in wanted:
                yield from campaign_of_kafka.runs_of(kind, *journal.missing(kind, runs, seed))


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def soak(kinds: list[str], runs: int, seed: int, file: Path, journal: Journal) -> None:
    """Make the missing runs of *kinds*, and write the report anew after each."""
    missing = hindrances()
    for kind in kinds:
        if kind in missing:
            print(f"*** THE KILL TEST {kind!r} CANNOT RUN HERE: {missing[kind]}", file=sys.stderr, flush=True)

    def write() -> None:
        file.write_text(report(journal.entries, KINDS, runs, missing, _journal_of(file).name))

    write()
    begun = time.monotonic()
    runnable = [kind for kind in kinds if kind not in missing]
    with tempfile.TemporaryDirectory(prefix="firesteel-soak-", ignore_cleanup_errors=True) as work:
        for outcome in outcomes(Path(work), runnable, runs, seed, journal):
            print(f"{time.monotonic() - begun:7.1f} s  {outcome}", flush=True)
            if outcome.kind in KINDS or outcome.failure:  # an undisturbed run is there to warm up
                journal.add(outcome)
                write()


def exit_status(kinds: list[str], journal: Journal, *, allow_missing: bool) -> int:
    if any(outcome.failure for outcome in journal):
        return 1
    return 0 if allow_missing or not hindrances().keys() & set(kinds) else 3


def _journal_of(file: Path) -> Path:
    return file.with_suffix(".jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=None, help="of the first run of each kind")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--anew", action="store_true", help="forget what is recorded of these kinds")
    parser.add_argument("--allow-missing", action="store_true", help="kinds that cannot run are no failure")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], metavar="KIND", help=", ".join(KINDS))
    arguments = parser.parse_args()
    os.environ.update(for_short_lives())
    file: Path = arguments.report
    kinds: list[str] = arguments.kinds or list(KINDS)
    journal = Journal(_journal_of(file), Provenance.of_this_tree([file, _journal_of(file)]))
    if arguments.anew:
        journal.forget(kinds)
    seed = random.randrange(1 << 20) if arguments.seed is None else arguments.seed
    soak(kinds, arguments.runs, seed, file, journal)
    print(file.read_text())
    sys.exit(exit_status(kinds, journal, allow_missing=arguments.allow_missing))


if __name__ == "__main__":
    main()
