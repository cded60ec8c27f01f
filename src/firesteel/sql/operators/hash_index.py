"""Where the rows of a key are, found by a hash of 64 bits: of all keys of a batch at once, in NumPy.

What is found are *runs*: some rows of a key that follow each other. The runs of a key are a chain, from the
newest to the oldest.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from firesteel.sql.operators.cells import NOTHING, Cells

__all__ = ["NOTHING", "RunIndex", "expanded", "mixed"]

Array = np.ndarray[Any, Any]
_LONG_CHAIN: Final = 32


def mixed(values: Array) -> Array:
    """Numbers of 64 bits whose bits all depend on all bits of *values*; no two are mixed into one.

    (The finaliser of splitmix64.)
    """
    bits = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


class RunIndex:
    """What is in it stays.

    :ivar hashes, starts, lengths, previous: of each run its hash, first row, number of rows, and the run of
        the same hash before it.
    """

    def __init__(self) -> None:
        self._cells = Cells()  # the newest run of each hash
        self._count = 0
        self._keys = 0
        self.hashes = np.empty(0, np.uint64)
        self.starts = np.empty(0, np.int32)
        self.lengths = np.empty(0, np.int32)
        self.previous = np.empty(0, np.int32)
        #: Rows of long chains that have been walked: of a run and of all before it.
        self._walked: dict[int, Array] = {}

    def __len__(self) -> int:
        return self._count

    def newest(self) -> Array:
        """The newest run of each hash."""
        return self._cells.numbers()

    def find(self, hashes: Array) -> Array:
        """The newest run of each of some hashes, or ``NOTHING``."""
        return self._seek(hashes)[1]

    def _seek(self, hashes: Array) -> tuple[Array, Array]:
        known = self.hashes
        return self._cells.seek(hashes, lambda runs, rows: known[runs] == hashes[rows])

    def append(self, hashes: Array, starts: Array, lengths: Array) -> None:  # hot
        """Add a run for each of some hashes, which differ."""
        first, count = self._count, len(hashes)
        self._reserve(count)
        stop = self._count = first + count
        cells, before = self._seek(hashes)
        self.hashes[first:stop] = hashes
        self.starts[first:stop] = starts
        self.lengths[first:stop] = lengths
        self.previous[first:stop] = before
        runs = np.arange(first, stop, dtype=np.int32)
        known = before >= 0
        if known.any():
            self._cells.replace(cells[known], runs[known])
            cells, runs = cells[~known], runs[~known]
        self._keys += len(runs)
        self._cells.enter(cells, runs)

    def _reserve(self, more: int) -> None:
        wanted = self._count + more
        if wanted > len(self.hashes):
            capacity = max(wanted, len(self.hashes) + len(self.hashes) // 4, 256)
            for name in ("hashes", "starts", "lengths", "previous"):
                old = getattr(self, name)
                new = np.empty(capacity, old.dtype)
                new[: self._count] = old[: self._count]
                setattr(self, name, new)
        if self._keys + more > self._cells.room:
            newest = self.newest()
            self._cells = Cells(self._keys + more)
            self._cells.enter(self._cells.first_cells(self.hashes[newest]), newest)

    def rows_of(self, runs: Array) -> tuple[Array, Array]:  # hot
        """How many rows each of some chains has, and their rows: chain after chain, the oldest first.

        :param runs: the newest run of each chain, or ``NOTHING``.
        """
        chains = np.flatnonzero(runs >= 0)
        current = runs[chains]
        walked: list[tuple[Array, Array]] = []  # chains, runs
        remembered: list[tuple[int, Array]] = []  # a chain, what was walked of it before
        while len(current):
            if self._walked:
                known = np.array([run in self._walked for run in current.tolist()], bool)
                remembered += [
                    (chain, self._walked.pop(run))
                    for chain, run in zip(chains[known].tolist(), current[known].tolist(), strict=True)
                ]
                chains, current = chains[~known], current[~known]
                if not len(current):
                    break
            walked.append((chains, current))
            before = self.previous[current]
            more = before >= 0
            chains, current = chains[more], before[more]
        if len(walked) <= 1 and not remembered:
            chains, current = walked[0] if walked else (chains, current)
            return self._counted(chains, len(runs), self.lengths[current]), self._expanded(current)
        return self._joined(runs, walked, remembered)

    def _joined(
        self, newest: Array, walked: list[tuple[Array, Array]], remembered: list[tuple[int, Array]]
    ) -> tuple[Array, Array]:
        none = np.zeros(0, np.int32)  # all is remembered
        chains = np.concatenate([none, *(chains for chains, _ in reversed(walked))])
        runs = np.concatenate([none, *(runs for _, runs in reversed(walked))])
        order = np.argsort(chains, kind="stable")
        chains, runs = chains[order], runs[order]
        counts = self._counted(chains, len(newest), self.lengths[runs])
        rows = self._expanded(runs)
        depths = np.bincount(chains, minlength=len(newest))
        long = np.flatnonzero(depths > _LONG_CHAIN).tolist()
        if not long and not remembered:
            return counts, rows
        ends = np.cumsum(counts)
        recalled = dict(remembered)
        parts, done = [], 0
        for chain in sorted({*long, *recalled}):
            start, stop = int(ends[chain] - counts[chain]), int(ends[chain])
            whole = rows[start:stop]
            if chain in recalled:
                whole = np.concatenate([recalled[chain], whole])
            self._walked[int(newest[chain])] = whole
            parts += [rows[done:start], whole]
            done = stop
            counts[chain] = len(whole)
        return counts, np.concatenate([*parts, rows[done:]])

    def empty(self, run: int) -> int:
        """Take all rows from the chain of a run; how many it had."""
        self._walked.pop(run, None)
        gone = 0
        while run != NOTHING:
            gone += int(self.lengths[run])
            self.lengths[run] = 0
            run = int(self.previous[run])
        return gone

    def _counted(self, chains: Array, count: int, lengths: Array) -> Array:
        return np.bincount(chains, weights=lengths, minlength=count).astype(np.int64)

    def _expanded(self, runs: Array) -> Array:
        """The rows of runs, one run after the other."""
        return expanded(self.starts[runs], self.lengths[runs])


def expanded(starts: Array, lengths: Array) -> Array:
    """The numbers from each start on, as many as its length."""
    lengths = lengths.astype(np.int64)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
