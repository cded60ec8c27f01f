"""What a task that goes on from epoch to epoch need not wait for: written, and compacted, in threads.

- The changes of an epoch are taken when it ends; many are made into entries, and written, while the next one
  has begun.
- A piece of compaction reads committed runs alone. It begins at the end of an epoch, on the line of that
  moment, and belongs to the first epoch that ends after it is done: what was committed meanwhile lies above
  it (``Compaction.base_id``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

import msgspec

from firesteel.state._compaction import Compactor
from firesteel.state.line import Compaction, EpochDelta

__all__ = ["BackgroundCompaction", "ComingEntries", "PendingDelta"]

T = TypeVar("T")


class _Work(Generic[T]):
    """Something that is made in a thread of its own."""

    def __init__(self, name: str, make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except Exception as e:  # for the task to raise
            self._error = e

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join()

    def result(self) -> T:
        """Wait for it.

        :raises: what making it has raised.
        """
        self.wait()
        if self._error is not None:
            raise self._error
        return self._made[0]


class PendingDelta(_Work[EpochDelta]):
    """The changes of an epoch, which are being written.

    :ivar compaction: what was compacted.
    """

    def __init__(self, write: Callable[[], EpochDelta]) -> None:
        super().__init__("firesteel-delta", write)
        self.compaction: Compaction | None = None

    def result(self) -> EpochDelta:
        return msgspec.structs.replace(super().result(), compaction=self.compaction)


class ComingEntries(Mapping[bytes, bytes]):
    """The changes of an epoch, which are made when somebody looks, in its thread; others wait for that."""

    def __init__(self, make: Callable[[], dict[bytes, bytes]]) -> None:
        self._make: Callable[[], dict[bytes, bytes]] | None = make
        self._made: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def made(self) -> dict[bytes, bytes]:
        with self._lock:
            if self._make is not None:
                self._made, self._make = self._make(), None
            return self._made

    def __getitem__(self, key: bytes) -> bytes:
        return self.made()[key]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.made())

    def __len__(self) -> int:
        return len(self.made())


class BackgroundCompaction:
    """One piece at a time."""

    def __init__(self) -> None:
        self._piece: _Piece | None = None
        self._owed = 0  # entries that epochs have asked for while a piece was being made

    def step(self, compactor: Compactor) -> Compaction | None:
        """Return what has been made by now, or begin the next piece where one is due.

        :raises: what making it has raised.
        """
        piece = self._piece
        if piece is None:
            if compactor.is_due():
                self._piece = _Piece(replace(compactor, budget=compactor.budget + self._owed))
                self._owed = 0
            return None
        if not piece.is_done:
            self._owed += compactor.budget
            return None
        self._piece = None
        return piece.result()

    def stop(self) -> None:
        """Give up what is being made."""
        piece, self._piece = self._piece, None
        if piece is not None:
            piece.stop()


class _Stopped(Exception):
    """Nobody waits for the piece any more."""


class _Piece(_Work[Compaction | None]):
    def __init__(self, compactor: Compactor) -> None:
        # A task may read while this does: each has open files of its own.
        self._compactor = replace(compactor, overlay=compactor.overlay.copy(), check=self._check)
        self._wanted = True
        super().__init__("firesteel-compaction", self._compact)

    def _check(self) -> None:
        if not self._wanted:
            raise _Stopped

    def _compact(self) -> Compaction | None:
        overlay = self._compactor.overlay
        try:
            made = self._compactor.step()
            if made is None:
                return None
            return msgspec.structs.replace(made, base_id=overlay.line.manifest_id)
        finally:
            overlay.close()

    def stop(self) -> None:
        self._wanted = False
        self.wait()
