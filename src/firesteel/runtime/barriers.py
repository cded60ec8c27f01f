"""Barriers between the epochs of tasks that go on: rows of several producers, cut where all have cut.

A source task sends a barrier to every task of the next level when it ends an epoch, and each task does the
same when the barriers of all its producers have come (Flink: aligned checkpoints). Rows of a producer that is
ahead are held until the others are there, so that an epoch has of each producer exactly what came before its
barrier.
"""

from __future__ import annotations

import pickle
import tempfile
from collections import deque
from collections.abc import Iterator
from typing import IO, Final

from firesteel.runtime.wire import RowKind, WireRow

HELD_BYTES: Final = 32 << 20  # of one producer in memory; what is more waits in a file
_ROW_BYTES: Final = 200  # of a row beside its body


class HeldRows:
    """A queue of rows that keeps at most *limit_bytes* in memory and the rest in a temporary file."""

    def __init__(self, limit_bytes: int = HELD_BYTES) -> None:
        self._limit = limit_bytes
        self._rows: deque[WireRow] = deque()
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._spilled = 0  # rows in the file that were not read back
        self._read_at = 0

    def __len__(self) -> int:
        return len(self._rows) + self._spilled

    @property
    def memory_bytes(self) -> int:
        return self._bytes

    def append(self, row: WireRow) -> None:
        size = len(row.body) + _ROW_BYTES
        if self._spilled or self._bytes + size > self._limit:
            self._spill(row)
        else:
            self._rows.append(row)
            self._bytes += size

    def popleft(self) -> WireRow:
        if not self._rows:
            return self._read_back()
        row = self._rows.popleft()
        self._bytes -= len(row.body) + _ROW_BYTES
        return row

    def _spill(self, row: WireRow) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="firesteel-held-")  # noqa: SIM115 - closed when it is empty
        self._file.seek(0, 2)
        pickle.dump(tuple(row), self._file, 5)
        self._spilled += 1

    def _read_back(self) -> WireRow:
        if self._file is None:
            raise IndexError("no row is held")
        self._file.seek(self._read_at)
        row = WireRow(*pickle.load(self._file))
        self._read_at = self._file.tell()
        self._spilled -= 1
        if not self._spilled:
            self.clear()
        return row

    def clear(self) -> None:
        """Forget everything, and remove the file."""
        self._rows.clear()
        self._bytes = self._spilled = self._read_at = 0
        if self._file is not None:
            self._file.close()
            self._file = None


class BarrierAligner:
    """Puts the rows of several producers in an order in which epochs follow each other.

    :param producers: how many send rows and barriers; each has a number from 0.
    """

    def __init__(self, producers: int, limit_bytes: int = HELD_BYTES) -> None:
        self._held = [HeldRows(limit_bytes) for _ in range(producers)]
        self._waits = [False] * producers  # its barrier has come, those of others have not
        self._missing = producers
        self._last: WireRow  # the barrier that has come last

    @property
    def is_waiting(self) -> bool:
        """Whether a barrier of some producer has come and not those of all."""
        return self._missing < len(self._held)

    def feed(self, producer: int, row: WireRow) -> Iterator[WireRow]:
        """Take a row, or a barrier, of a producer.

        :returns: what may be processed now, in this order; a barrier, of any producer, where an epoch ends.
        """
        if self._waits[producer]:
            self._held[producer].append(row)
        elif row.kind != RowKind.BARRIER:
            yield row
        else:
            self._arrived(producer, row)
            while not self._missing:
                yield self._last
                yield from self._release()

    def _arrived(self, producer: int, barrier: WireRow) -> None:
        self._last = barrier
        self._waits[producer] = True
        self._missing -= 1

    def _release(self) -> Iterator[WireRow]:
        """The rows of the next epoch that were held: those of each producer up to its next barrier."""
        self._waits = [False] * len(self._held)
        self._missing = len(self._held)
        for producer, held in enumerate(self._held):
            while held:
                row = held.popleft()
                if row.kind == RowKind.BARRIER:
                    self._arrived(producer, row)
                    break
                yield row

    def close(self) -> None:
        """Forget what is held; the task ends here."""
        for held in self._held:
            held.clear()
