"""What the runs of the kill tests gave, one JSON line for each in a file beside their report: a soak of hours
can be made in pieces."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """A run of one kind of strike.

    :param strikes: how often the run was struck; 0: it ended before the strike came.
    :param seconds: of the run, without the start of its drivers where several runs share one.
    :param failure: what went wrong; empty: nothing.
    """

    kind: str
    seed: int
    strikes: int
    seconds: float
    failure: str = ""

    def __str__(self) -> str:
        return f"{self.kind}, seed {self.seed}, struck {self.strikes} times: {self.failure or 'sound'}"


@dataclass(frozen=True)
class Provenance:
    """What was tested, and on which machine.

    :param clean: whether the tree had no change beside the commit.
    """

    commit: str
    clean: bool
    cores: int

    @staticmethod
    def of_this_tree(besides: Iterable[Path] = ()) -> Provenance:
        """*besides*: files whose changes do not count."""
        unwatched = {str(path.resolve()) for path in besides}
        changed = [
            line
            for line in _git("status", "--porcelain", "--no-renames").splitlines()
            if str((ROOT / line[3:]).resolve()) not in unwatched
        ]
        return Provenance(_git("rev-parse", "HEAD").strip(), not changed, os.cpu_count() or 1)


@dataclass(frozen=True)
class Entry:
    """A line of the journal."""

    outcome: Outcome
    provenance: Provenance
    ended: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @staticmethod
    def parse(line: str) -> Entry:
        found = json.loads(line)
        return Entry(Outcome(**found["outcome"]), Provenance(**found["provenance"]), found["ended"])


class Journal:
    """The outcomes so far, in a file: of each kind those of one commit, which another commit's take over from
    unless all runs of the kind were made."""

    def __init__(self, file: Path, provenance: Provenance) -> None:
        self._file = file
        self._provenance = provenance
        lines = file.read_text().splitlines() if file.exists() else []
        self.entries = [Entry.parse(line) for line in lines]

    def forget(self, kinds: Iterable[str]) -> None:
        """Their runs are to be made anew."""
        gone = set(kinds)
        self._keep([entry for entry in self.entries if entry.outcome.kind not in gone])

    def _keep(self, entries: list[Entry]) -> None:
        self.entries = entries
        self._file.write_text("".join(json.dumps(asdict(entry)) + "\n" for entry in entries))

    def add(self, outcome: Outcome) -> None:
        outcome = replace(outcome, failure=outcome.failure.replace(f"{ROOT}/", ""))
        entry = Entry(outcome, self._provenance)
        if any(self._is_older(other, outcome.kind) for other in self.entries):
            self._keep([other for other in self.entries if not self._is_older(other, outcome.kind)])
        with self._file.open("a") as file:
            file.write(json.dumps(asdict(entry)) + "\n")
        self.entries.append(entry)

    def _is_older(self, entry: Entry, kind: str) -> bool:
        return entry.outcome.kind == kind and entry.provenance.commit != self._provenance.commit

    def of(self, kind: str) -> list[Outcome]:
        return [entry.outcome for entry in self.entries if entry.outcome.kind == kind]

    def missing(self, kind: str, runs: int, seed: int) -> tuple[int, int]:
        """How many runs of a kind are missing, and the seed of the first of them: seeds follow each other."""
        done = self.of(kind)
        if len(done) < runs:
            done = [e.outcome for e in self.entries if e.outcome.kind == kind and not self._is_older(e, kind)]
        return max(0, runs - len(done)), (done[-1].seed + 1 if done else seed)

    def __iter__(self) -> Iterator[Outcome]:
        return (entry.outcome for entry in self.entries)


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
