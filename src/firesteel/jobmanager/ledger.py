"""Where the epochs of a job are committed, and told of."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.jobmanager.course import Course
from firesteel.jobmanager.job_view import EpochReport
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.sinks import JobSinks
from firesteel.jobmanager.sources import Lag
from firesteel.jobmanager.spent import EpochWork
from firesteel.runtime.metrics import MetricKey
from firesteel.runtime.program import Ack
from firesteel.runtime.task_report import TaskReport

log = logger(__name__)


class Ledger:
    """Belongs to the job's own thread."""

    def __init__(self, job_id: JobID, course: Course, sinks: JobSinks, observer: JobObserver) -> None:
        self._job_id = job_id
        self._course = course
        self._sinks = sinks
        self._observer = observer
        self._gauges_told: set[MetricKey] = set()

    def commit(
        self, name: str, acks: list[Ack], reports: Sequence[TaskReport], *, leaves: bool = False
    ) -> None:
        """Everything that the epoch did counts from here on; its records become visible last.

        :param name: the manifest id of the epoch.
        :param reports: what its tasks have said beside their answers.
        :param leaves: whether tasks that nobody has answered for may have staged something for sinks.
        """
        course = self._course
        course.run.state.commit(name, acks)
        course.run.sources.commit(acks)
        course.run.notices.learn(acks)
        course.fresh = False
        course.accumulated.add(acks, reports)
        for ack in acks:
            for warning in ack.warnings:
                log.warning("%s", warning)
        self._tell_of_gauges(reports)
        self._sinks.epoch_done(acks, course.epoch, course.now_ms)
        if leaves:
            self._sinks.look_for_leftovers()

    def _tell_of_gauges(self, reports: Sequence[TaskReport]) -> None:
        for key in {key for report in reports for key in report.failed_gauges} - self._gauges_told:
            self._gauges_told.add(key)
            log.warning("a gauge has raised, and has no value operator=%s gauge=%s", key.operator, key.path)

    def report(self, acks: list[Ack], report: EpochReport, work: EpochWork) -> None:
        """Tell of an epoch that is committed."""
        report = replace(report, stages=work.stages)
        self._observer.epoch_done(acks, report, work, self._lag(), self._course.accumulated.by_name)

    def wait(self) -> None:
        """Tell that there is nothing to do."""
        self._observer.waits(self._lag())

    def _lag(self) -> Lag:
        """What sources say of records that they have not read. A failure there costs only the number."""
        try:
            return self._course.run.sources.lag()
        except Exception as e:
            log.warning("lag of the sources is not known job=%s: %s", self._job_id, e)
            return Lag({}, {})
