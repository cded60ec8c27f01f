"""Commits by subtask: what each has staged is committed in one step of the target, which also writes down
that it was done. Tasks do it, in parallel; where it is little, threads of the driver."""

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

#: Commits the committables of a subtask, in the order of their epochs: all of them or none, and nothing where
#: that was done before. ``CommitterContext.run_tasks`` says what a task must stand.
CommitSubtask: TypeAlias = Callable[[int, list[Any]], None]

#: The largest commit, in bytes, that the driver makes itself: a Spark job would take ten times as long.
SMALL_BYTES: Final = 256 << 10
_THREADS: Final = 8


class TryLaterError(ConnectorError):
    """The commit did not happen, or nobody knows: the target will tell when it is tried again."""


def commit_by_subtask(
    context: CommitterContext, requests: Sequence[CommitRequest], commit: CommitSubtask, size: int
) -> None:
    """Have tasks commit ``requests``, one for each subtask that has any, and answer them: those of a subtask
    are tried again after a ``TryLaterError``, and when Spark lost the tasks; any other error fails them.

    :param size: about how many bytes they stand for.
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
    """What became of requests that ``error`` ended."""
    later = isinstance(error, TryLaterError)
    if later:
        log.warning("commit did not happen, or nobody knows: %s", error)
    for request in requests:
        if later:
            request.retry_later()
        else:
            request.signal_failed_with_unknown_reason(error)


def _attempt(commit: CommitSubtask, argument: tuple[int, list[Any]]) -> BaseException | None:
    """In the task. An error is an answer, so that the other subtasks are heard of."""
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
