"""The last steps of a job or of one of its attempts: each is done, whatever has become of those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from firesteel.common.job_id import JobID
from firesteel.common.logs import logger

log = logger(__name__)


def close_all(closing: Iterable[Callable[[], None]], job_id: JobID) -> None:
    for close in closing:
        try:
            close()
        except BaseException:  # of a user's close()
            log.exception("closing failed job=%s", job_id)
