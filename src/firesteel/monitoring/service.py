"""Gives metrics to the reporters of a configuration, by one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

from firesteel.common.configuration import Configuration
from firesteel.common.logs import logger
from firesteel.jobmanager.job_view import JobView
from firesteel.metrics.machines import Machines
from firesteel.monitoring.rates import SAMPLE_EVERY_S, Rates
from firesteel.monitoring.reporter import Reporter, ReporterSettings, configured
from firesteel.monitoring.samples import Sample, samples
from firesteel.runtime.error_report import summary_of

log = logger(__name__)

_MACHINES_S: Final = 5.0  # how old what is known of the machines may be


class Watched(Protocol):
    """What metrics are read of. Several threads call it."""

    def jobs(self) -> Sequence[JobView]:
        """The jobs that are known, ended ones too."""

    def machines(self) -> Machines:
        """The processes that there are; it may take some milliseconds to ask."""


class Reporting:
    """The reporters of a configuration, opened.

    :raises ConfigurationError: one of them is wrong; none is open then.
    """

    def __init__(self, watched: Watched, configuration: Configuration) -> None:
        self._watched = watched
        self._rates = Rates()
        self._lock = threading.Lock()  # around the rates and what is known of the machines
        self._machines = Machines()
        self._asked_s = float("-inf")
        self._stopped = threading.Event()
        self._open: list[tuple[ReporterSettings, Reporter]] = []
        try:
            for settings, kind in configured(configuration):
                reporter = kind.reporter()
                reporter.open(settings, partial(self._read, settings))
                self._open.append((settings, reporter))
        except BaseException:
            self._close_all()
            raise
        self._thread = threading.Thread(target=self._run, name="firesteel-metrics", daemon=True)
        if self._open:
            self._thread.start()

    @property
    def reporters(self) -> list[Reporter]:
        return [reporter for _, reporter in self._open]

    def _read(self, settings: ReporterSettings) -> list[Sample]:
        views = self._watched.jobs()
        with self._lock:
            found = samples(
                views, self._known_machines(), self._rates, _now_ms(), ended=self._stopped.is_set()
            )
            return [sample for sample in found if settings.filter.takes(sample)]

    def _known_machines(self) -> Machines:
        if time.monotonic() - self._asked_s >= _MACHINES_S:
            self._asked_s = time.monotonic()
            try:
                self._machines = self._watched.machines()
            except Exception as e:  # of Spark, which may be ending
                log.warning("the executors are not known: %s", summary_of(e))
        return self._machines

    def _run(self) -> None:
        due = {settings.name: time.monotonic() + settings.interval_ms / 1000 for settings, _ in self._open}
        sample_s = 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= sample_s:
                sample_s = now_s + SAMPLE_EVERY_S
                self._sample()
            for settings, reporter in self._open:
                if now_s >= due[settings.name]:
                    due[settings.name] = now_s + settings.interval_ms / 1000
                    _quietly(reporter.report, settings.name)
            if self._stopped.wait(max(0.0, min(sample_s, *due.values()) - time.monotonic())):
                return

    def _sample(self) -> None:
        live = [view for view in self._watched.jobs() if view.ended_ms is None]
        with self._lock:
            self._rates.sample(live, _now_ms())

    def close(self) -> None:
        """Report for the last time, and end."""
        self._stopped.set()
        if self._open:
            self._thread.join(30)
        self._close_all()

    def _close_all(self) -> None:
        for settings, reporter in self._open:
            _quietly(reporter.close, settings.name)
        self._open = []


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _quietly(act: Callable[[], object], name: str) -> None:
    """A job does not suffer from those who watch it."""
    try:
        act()
    except Exception as e:
        log.warning("the metric reporter failed reporter=%s: %s", name, summary_of(e))
