"""The reporter that sends metrics to a collector of OpenTelemetry, by OTLP over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from firesteel.common.logs import logger
from firesteel.monitoring import options
from firesteel.monitoring.filters import logical_scope
from firesteel.monitoring.measures import Kind
from firesteel.monitoring.reporter import Read, ReporterSettings
from firesteel.monitoring.samples import Sample, flattened
from firesteel.version import __version__

log = logger(__name__)

_SDK: Final = "opentelemetry.sdk"
_EXPORTER: Final = "opentelemetry.exporter.otlp.proto.http.metric_exporter"
_WHAT: Final = "The metric reporter for OpenTelemetry"


class OtlpReporter:
    """Counters are cumulative sums since the reporter was opened, all else are gauges.

    The names are those of Flink's own reporter: ``flink.`` and the logical scope before the name. Variables
    and the values of a user's groups are attributes.
    """

    def open(self, settings: ReporterSettings, read: Read) -> None:
        self._settings = settings
        self._read = read
        endpoint = settings.options.get(options.ENDPOINT)
        if not endpoint:
            raise ConfigurationError(
                f"The metric reporter {settings.name!r} needs an {options.ENDPOINT.key}",
                hint="such as http://localhost:4318/v1/metrics",
            )
        settings.options.get(options.PROTOCOL)  # refuses all but the one that there is
        self._data = extra(f"{_SDK}.metrics.export", _WHAT, "otlp", "opentelemetry-sdk")
        util = extra(f"{_SDK}.util.instrumentation", _WHAT, "otlp", "opentelemetry-sdk")
        resources = extra(f"{_SDK}.resources", _WHAT, "otlp", "opentelemetry-sdk")
        exporter = extra(_EXPORTER, _WHAT, "otlp", "opentelemetry-exporter-otlp-proto-http")
        version = settings.options.get(options.SERVICE_VERSION) or __version__
        self._resource = resources.Resource.create(
            {"service.name": settings.options.get(options.SERVICE_NAME), "service.version": version}
        )
        self._scope = util.InstrumentationScope("firesteel", __version__)
        timeout_s = max(1, settings.options.get(options.EXPORTER_TIMEOUT) // 1000)
        self._exporter = exporter.OTLPMetricExporter(endpoint=endpoint, timeout=timeout_s)
        self._begun_ns = time.time_ns()

    def report(self) -> None:
        result = self._exporter.export(self._message(flattened(self._read())))
        if result is not self._data.MetricExportResult.SUCCESS:
            log.warning("metrics could not be sent reporter=%s", self._settings.name)

    def _message(self, samples: Iterable[Sample]) -> Any:
        points: dict[tuple[str, bool], list[Any]] = {}
        now_ns = time.time_ns()
        for sample in samples:
            if not isinstance(sample.measure.value, str):  # texts are not numbers
                key = metric_name(sample), sample.kind is Kind.COUNTER
                points.setdefault(key, []).append(self._point(sample, now_ns))
        metrics = [self._metric(name, is_sum, found) for (name, is_sum), found in points.items()]
        data = self._data
        scoped = data.ScopeMetrics(self._scope, metrics, "")
        return data.MetricsData([data.ResourceMetrics(self._resource, [scoped], "")])

    def _point(self, sample: Sample, now_ns: int) -> Any:
        attributes = self._settings.variables(sample)
        attributes |= {group: value for group, value in sample.measure.groups if value is not None}
        value = sample.measure.value
        number = int(value) if isinstance(value, bool) else value
        return self._data.NumberDataPoint(attributes, self._begun_ns, now_ns, number)

    def _metric(self, name: str, is_sum: bool, found: list[Any]) -> Any:
        data = self._data
        if is_sum:
            return data.Metric(name, "", "", data.Sum(found, data.AggregationTemporality.CUMULATIVE, False))
        return data.Metric(name, "", "", data.Gauge(found))

    def close(self) -> None:
        self.report()
        self._exporter.shutdown()


def metric_name(sample: Sample) -> str:
    """``flink.taskmanager.job.task.operator.tenant.orders``."""
    return f"flink.{logical_scope(sample)}.{sample.name}"
