"""The rows that come to a task, taken with a time limit: between two of them time goes on."""

from __future__ import annotations

from typing import Protocol

from firesteel.runtime.wire import WireRow


class InboxEnded(Exception):
    """No row will come any more."""


class Inbox(Protocol):
    """Where a task has its input from. Who sends faster than it takes has to wait."""

    def take(self, wait_ms: float) -> WireRow | None:
        """The next row; None: none came in time.

        :raises InboxEnded: there will be none.
        """
