"""Which of the jobs that wait for slots may start: those that came first, unless only a later one fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from firesteel.common.errors import FiresteelError

#: As Flink says it.
MESSAGE: Final = "Could not acquire the minimum required resources."


class NoResourceAvailableException(FiresteelError):
    """A job needs more slots than there were in time.

    :param total: all slots of the cluster, those that Spark may add among them.
    """

    def __init__(self, needed: int, total: int, waited_ms: int) -> None:
        super().__init__(
            MESSAGE,
            detail=f"the job needs {needed} slots, the cluster can have {total}, and not enough were free "
            f"within {waited_ms / 1000:g} s (slot.request.timeout)",
            hint="give the job a smaller parallelism, the cluster more executors, or let jobs share the "
            "cores (slot.enforce: false)",
        )


def may_start(total: int, taken: int, waiting: Sequence[tuple[str, int]]) -> list[str]:
    """The ids of the jobs that may start now.

    :param waiting: ids and the slots that each needs, in the order in which they came.

    >>> may_start(4, 1, [("a", 4), ("b", 2), ("c", 1)])
    ['b', 'c']
    """
    found = []
    free = total - taken
    for job_id, needed in waiting:
        if needed <= free:
            free -= needed
            found.append(job_id)
    return found


def expired(begun_ms: Mapping[str, int], timeout_ms: int, now_ms: int) -> list[str]:
    """The jobs that have waited for too long."""
    return [job_id for job_id, ms in begun_ms.items() if now_ms - ms >= timeout_ms]
