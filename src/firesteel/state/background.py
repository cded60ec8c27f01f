"""Compaction in the background, for tasks that go on from epoch to epoch.

A piece of compaction reads committed runs alone, so it need not stop the task. It begins at the end of an
epoch, on the line of that moment, and belongs to the first epoch that ends after it is done: what was
committed meanwhile lies above it (``Compaction.base_id``).
"""

from __future__ import annotations

import threading
from dataclasses import replace

import msgspec

from firesteel.state._compaction import Compactor
from firesteel.state.line import Compaction

__all__ = ["BackgroundCompaction"]


class BackgroundCompaction:
    """One piece at a time, each in a thread of its own."""

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
        if piece.is_alive():
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


class _Piece(threading.Thread):
    def __init__(self, compactor: Compactor) -> None:
        super().__init__(name="firesteel-compaction", daemon=True)
        # A task may read while this does: each has open files of its own.
        self._compactor = replace(compactor, overlay=compactor.overlay.copy(), check=self._check)
        self._wanted = True
        self._made: Compaction | None = None
        self._error: Exception | None = None
        self.start()

    def _check(self) -> None:
        if not self._wanted:
            raise _Stopped

    def run(self) -> None:
        overlay = self._compactor.overlay
        try:
            made = self._compactor.step()
            if made is not None:
                self._made = msgspec.structs.replace(made, base_id=overlay.line.manifest_id)
        except Exception as e:  # for the task to raise
            self._error = e
        finally:
            overlay.close()

    def result(self) -> Compaction | None:
        if self._error is not None:
            raise self._error
        return self._made

    def stop(self) -> None:
        self._wanted = False
        self.join()
