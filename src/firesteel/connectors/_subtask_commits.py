"""Commits by subtask: what a subtask has staged is committed in one atomic step of the target, which also
records that it was done. It runs in parallel tasks, or in threads of the driver if there is little data."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeAlias

from firesteel.common.errors import ConnectorError, EngineError
from firesteel.common.logs import logger
from firesteel.program.sinks import CommitRequest, CommitterContext

log = logger(__name__)

#: Commits the committables of a subtask in the order of their epochs: all or none, and nothing if that was
#: done before. ``CommitterContext.run_tasks`` describes the requirements for a task.
CommitSubtask: TypeAlias = Callable[[int, list[Any]], None]

#: Commits of at most this many bytes run on the driver: a Spark job would take ten times as long.
SMALL_BYTES: Final = 256 << 10
_THREADS: Final = 8


class TryLaterError(ConnectorError):
    """Raised if the commit did not happen or its outcome is unknown; a retry will tell."""


def commit_by_subtask(
    context: CommitterContext, requests: Sequence[CommitRequest], commit: CommitSubtask, size: int
) -> None:
    """Have tasks commit ``requests``, one task for each subtask that has any, and answer the requests. They
    are retried after a ``TryLaterError`` and if Spark lost the tasks; any other error fails them.

    :param size: their approximate size in bytes.
    """
    by_subtask: dict[int, list[CommitRequest]] = {}
    for request in requests:
        by_subtask.setdefault(request.origin.subtask_index, []).append(request)
    arguments = [(n, [r.get_committable() for r in found]) for n, found in by_subtask.items()]
    run = context.run_tasks if size > SMALL_BYTES else _in_threads
    try:
        errors = run(partial(_attempt, commit), arguments)
    except EngineError as lost:
        answer(requests, TryLaterError("The tasks of a commit were lost.", detail=str(lost)))
        return
    for found, error in zip(by_subtask.values(), errors, strict=True):
        if error is not None:
            answer(found, error)


def _in_threads(work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
    if not arguments:
        return []
    with ThreadPoolExecutor(min(len(arguments), _THREADS)) as pool:
        return list(pool.map(work, arguments))


def answer(requests: Sequence[CommitRequest], error: BaseException) -> None:
    """Answer requests that ended with ``error``."""
    later = isinstance(error, TryLaterError)
    if later:
        log.warning("commit failed, or its outcome is unknown: %s", error)
    for request in requests:
        if later:
            request.retry_later()
        else:
            request.signal_failed_with_unknown_reason(error)


def _attempt(commit: CommitSubtask, argument: tuple[int, list[Any]]) -> BaseException | None:
    """Run in the task. Errors are returned, so that the results of the other subtasks are not lost."""
    try:
        commit(*argument)
    except Exception as error:
        error.add_note(f"\nTraceback in the worker:\n{traceback.format_exc()}")
        return _that_travels(error)
    return None


def _that_travels(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error, 5))
    except Exception:
        return ConnectorError(f"{type(error).__name__}: {error}", detail="\n".join(error.__notes__))
    return error
