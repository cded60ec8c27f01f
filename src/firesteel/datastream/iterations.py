"""Iterations over bounded streams: a job for each round, driven by the program (Flink ML: ``Iterations``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.datastream._cached_stream import CachedDataStream
from firesteel.datastream._data_stream import DataStream
from firesteel.program.checks import require_int
from firesteel.program.execution_mode import RuntimeExecutionMode

__all__ = ["iterate_bounded"]


def iterate_bounded(
    initial: DataStream,
    body: Callable[[DataStream, int], DataStream],
    *,
    max_rounds: int,
    unfinished: Callable[[DataStream, DataStream], DataStream] | None = None,
) -> CachedDataStream:
    """Apply *body* to a stream, to what that gives, and so on, and return the result of the last round.

    Each round is a job, which keeps its result (``DataStream.cache``); that of the round before is dropped.
    An example is in ``docs/caching.md``.

    :param initial: a bounded stream in BATCH mode.
    :param body: from the stream and the number of the round, 0 first, to the stream of the next round.
    :param max_rounds: at least 1.
    :param unfinished: from the streams before and after a round to a stream that is empty when there need be
        no other round; None: there are *max_rounds* of them.
    :raises ProgramError: the environment is not in BATCH mode.
    """
    require_int(max_rounds, "number of rounds", 1, None, "iterate_bounded")
    if initial._env.get_runtime_mode() is not RuntimeExecutionMode.BATCH:
        raise ProgramError(
            "An iteration keeps the result of each round, which only jobs in BATCH mode do.",
            operator="iterate_bounded",
            hint="env.set_runtime_mode(RuntimeExecutionMode.BATCH), over bounded sources",
        )
    before, kept = initial, None
    for number in range(max_rounds):
        after = body(before, number).cache()
        left = after.filter(_nothing) if unfinished is None else unfinished(before, after)
        goes_on = _has_records(left, f"round {number}")
        if kept is not None:
            kept.invalidate()
        before = kept = after
        if unfinished is not None and not goes_on:
            break
    assert kept is not None
    return kept


def _nothing(record: Any) -> bool:
    return False


def _has_records(stream: DataStream, job: str) -> bool:
    """Run the job to its end: all of the round is kept, however much of it is unfinished."""
    return sum(1 for _ in stream.execute_and_collect(job)) > 0
