"""What tasks hear of the checkpoints of their job, with each epoch, and how they pass it on to functions.

A checkpoint is taken between two epochs. So the news of it is there when an epoch begins, in both modes: in a
descriptor, or with the barrier that ends the epoch before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple


class CheckpointEnd(NamedTuple):
    """A checkpoint is complete, or has failed."""

    id: int
    completed: bool


class CheckpointNews(NamedTuple):
    """
    :param next_id: of the checkpoint that is to cover the epoch. If it fails, a later one does.
    :param ended: the checkpoints of which the tasks have not heard, oldest first.
    :param none_to_come: no checkpoint or savepoint will be taken of a job all of whose input has ended.
    """

    next_id: int = 1
    ended: tuple[CheckpointEnd, ...] = ()
    none_to_come: bool = False


NO_NEWS: Final = CheckpointNews()


def _hook_of(function: Any, completed: bool) -> Callable[[int], Any] | None:
    name = "notify_checkpoint_complete" if completed else "notify_checkpoint_aborted"
    hook = getattr(function, name, None)
    return hook if callable(hook) else None


def listens(function: Any) -> bool:
    """Return whether a function of the user's wants to be told of checkpoints."""
    return _hook_of(function, True) is not None or _hook_of(function, False) is not None


def tell(function: Any, end: CheckpointEnd, call: Callable[..., None]) -> None:
    """Tell a function of the end of a checkpoint, if it wants to know of such an end.

    :param call: calls the method, with its argument.
    """
    hook = _hook_of(function, end.completed)
    if hook is not None:
        call(hook, end.id)
