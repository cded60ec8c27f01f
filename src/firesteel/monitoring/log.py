"""The reporter that writes metrics into the log (Flink: ``Slf4jReporter``)."""

from __future__ import annotations

from firesteel.common.logs import logger
from firesteel.monitoring.reporter import Read, ReporterSettings
from firesteel.monitoring.samples import flattened

log = logger(__name__)


class LogReporter:
    """One log entry for each report, with a line for each metric."""

    def open(self, settings: ReporterSettings, read: Read) -> None:
        self._settings = settings
        self._read = read

    def report(self) -> None:
        scopes = self._settings.scopes
        lines = sorted(f"{scopes.identifier(s)}: {s.measure.value}" for s in flattened(self._read()))
        log.info("metrics report reporter=%s\n%s", self._settings.name, "\n".join(lines))

    def close(self) -> None:
        self.report()
