"""Which ends of checkpoints the tasks of a run have not heard of."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.runtime.checkpoint_news import CheckpointEnd
from firesteel.runtime.program import Ack


class CheckpointNotices:
    """Begins anew with each run: tasks that are restarted are not told of what was before (Flink: the same).

    :ivar waiting: oldest first. Nothing waits where nobody listens.
    """

    def __init__(self) -> None:
        self.waiting: tuple[CheckpointEnd, ...] = ()
        self._has_listeners = False

    def learn(self, acks: Iterable[Ack]) -> None:
        """The subtasks say whether they have functions that want to know."""
        self._has_listeners = any(ack.listens for ack in acks)
        if not self._has_listeners:
            self.waiting = ()

    def add(self, checkpoint_id: int, completed: bool) -> None:
        if self._has_listeners:
            self.waiting += (CheckpointEnd(checkpoint_id, completed),)

    def told(self, ended: tuple[CheckpointEnd, ...]) -> None:
        """These, the oldest, are with the tasks."""
        self.waiting = self.waiting[len(ended) :]
