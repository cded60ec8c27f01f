"""Whether Spark still waits for what the task of this process does.

A task that Spark has given up may not know it: it stood still beside its copy, or its stage was cancelled.
What it stages has no committer; what it writes at once would be old rows behind newer ones. So sinks ask
before they write.
"""

from __future__ import annotations

from collections.abc import Callable

from firesteel.common.errors import EngineError


def _always() -> bool:
    return True


_is_waited_for: Callable[[], bool] = _always


def begin_task(is_waited_for: Callable[[], bool]) -> None:
    """The task that this process does now can ask by this function."""
    global _is_waited_for
    _is_waited_for = is_waited_for


def check_waited_for() -> None:
    """:raises EngineError: Spark has given the task up."""
    if not _is_waited_for():
        raise EngineError(
            "A task writes nothing any more",
            detail="Spark has closed its connection: it has run the task elsewhere, or has cancelled it",
        )
