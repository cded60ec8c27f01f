"""Where the epochs of a job are committed, and told of."""

from __future__ import annotations

from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.jobmanager.course import Course
from firesteel.jobmanager.job_view import EpochReport
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.sinks import JobSinks
from firesteel.runtime.program import Ack

log = logger(__name__)


class Ledger:
    """Belongs to the job's own thread."""

    def __init__(self, job_id: JobID, course: Course, sinks: JobSinks, observer: JobObserver) -> None:
        self._job_id = job_id
        self._course = course
        self._sinks = sinks
        self._observer = observer

    def commit(self, name: str, acks: list[Ack]) -> None:
        """Everything that the epoch did counts from here on; its records become visible last.

        :param name: the manifest id of the epoch.
        """
        course = self._course
        course.run.state.commit(name, acks)
        course.run.sources.commit(acks)
        course.fresh = False
        course.accumulated.add(acks)
        for ack in acks:
            for warning in ack.warnings:
                log.warning("%s", warning)
        self._sinks.epoch_done(acks, course.epoch, course.now_ms)

    def report(self, acks: list[Ack], report: EpochReport) -> None:
        """Tell of an epoch that is committed."""
        self._observer.epoch_done(acks, report, self._lag(), self._course.accumulated.by_name)

    def wait(self) -> None:
        """Tell that there is nothing to do."""
        self._observer.waits(self._lag())

    def _lag(self) -> dict[str, dict[str, int]]:
        """What sources say of records that they have not read. A failure there costs only the number."""
        try:
            return self._course.run.sources.pending_records()
        except Exception as e:
            log.warning("lag of the sources is not known job=%s: %s", self._job_id, e)
            return {}
