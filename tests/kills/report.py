"""The report of the kill tests, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from tests.kills.outcomes import Entry, Outcome

HEAD: Final = """\
# Kill tests

Programs with exactly-once sinks run while something that takes part in them is killed, replaced, stopped or
out of room; what they wrote is then compared with what they must write, line by line. The seed of a run
decides what is struck and when. `make soak` makes this report; beside it `{journal}` has a line for each run.

"""
_TABLE: Final = """\
| kind | runs | sound | struck | median s | seeds | commit | last run | note |
|---|---|---|---|---|---|---|---|---|
"""
_LEGEND: Final = """
*sound*: nothing was lost, doubled, or left behind. *struck*: runs in which the strike came before the job
had ended, and at its point where there is one. A run that failed without being struck did not come so
far, and says nothing about the strike. Each failure stands below with its seed.
"""


def report(
    entries: Sequence[Entry],
    kinds: Sequence[str],
    runs: int,
    hindrances: Mapping[str, str],
    journal: str,
    head: str = HEAD,
) -> str:
    """*kinds*: all that there are. *hindrances*: why kinds cannot run on this machine. *head*: what is
    tested;
    ``{journal}`` stands for the name of the journal."""
    outcomes = [entry.outcome for entry in entries]
    rows = [_row(kind, [e for e in entries if e.outcome.kind == kind], runs, hindrances) for kind in kinds]
    failed = [outcome for outcome in outcomes if outcome.failure]
    said = "".join(f"\n## {o.kind}, seed {o.seed}\n\n```\n{o.failure}\n```\n" for o in failed)
    return head.format(journal=journal) + _origin(entries) + _TABLE + "".join(rows) + _LEGEND + said


def _origin(entries: Sequence[Entry]) -> str:
    if not entries:
        return "No run has ended.\n\n"
    clean = all(entry.provenance.clean for entry in entries)
    tree = "The tree was clean" if clean else "**The tree had changes beside the commit**"
    cores = " or ".join(sorted({str(entry.provenance.cores) for entry in entries}))
    minutes = sum(entry.outcome.seconds for entry in entries) / 60
    return (
        f"{len(entries)} runs, {minutes:.0f} minutes of jobs, "
        f"from {min(e.ended for e in entries)} to {max(e.ended for e in entries)}. "
        f"{tree}. Machine: {cores} hardware threads.\n\n"
    )


def _row(kind: str, entries: Sequence[Entry], runs: int, hindrances: Mapping[str, str]) -> str:
    found = [entry.outcome for entry in entries]
    seeds = [outcome.seed for outcome in found]
    cells = (
        kind,
        len(found),
        sum(not outcome.failure for outcome in found),
        sum(outcome.strikes > 0 for outcome in found),
        f"{statistics.median(outcome.seconds for outcome in found):.1f}" if found else "",
        f"{min(seeds)} to {max(seeds)}" if found else "",
        entries[-1].provenance.commit[:10] if entries else "",
        entries[-1].ended[:10] if entries else "",
        _note(kind, found, runs, hindrances),
    )
    return "| " + " | ".join(map(str, cells)) + " |\n"


def _note(kind: str, found: Sequence[Outcome], runs: int, hindrances: Mapping[str, str]) -> str:
    if len(found) >= runs:
        return ""
    if kind in hindrances:
        return f"**CANNOT RUN HERE**: {hindrances[kind]}"
    return f"**{len(found)} of {runs} runs**" if found else "**NOT RUN**"
