"""The rows that come to a task, taken with a time limit: between two of them time goes on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Final

from firesteel.runtime.wire import WireRow

_ROWS: Final = 32  # that wait in the process: buffers of up to 64 kB, as a rule


class InboxEnded(Exception):
    """No row will come any more."""


class Inbox:
    """Reads *rows* in a thread of its own, some ahead and no more: who sends faster has to wait.

    What reading raises is raised by ``take``.
    """

    def __init__(self, rows: Iterator[WireRow]) -> None:
        self._rows = rows
        self._queue: queue.Queue[WireRow | BaseException] = queue.Queue(_ROWS)
        self._closed = False
        threading.Thread(target=self._read, name="firesteel-inbox", daemon=True).start()

    def _read(self) -> None:
        end: BaseException = InboxEnded()
        try:
            for row in self._rows:
                self._queue.put(row)
                if self._closed:
                    return
        except BaseException as e:  # for the task to raise
            end = e
        self._queue.put(end)

    def take(self, wait_ms: float) -> WireRow | None:
        """The next row; None: none came in time.

        :raises InboxEnded: there will be none.
        """
        try:
            item = self._queue.get(timeout=wait_ms / 1000) if wait_ms > 0 else self._queue.get_nowait()
        except queue.Empty:
            return None
        if isinstance(item, BaseException):
            self._queue.put(item)
            raise item
        return item

    def close(self) -> None:
        """Nobody takes any more: the thread ends with the next row."""
        self._closed = True
        while not self._queue.empty():
            self._queue.get_nowait()
