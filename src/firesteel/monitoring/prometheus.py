"""The Prometheus reporter: metrics are there for whoever asks, under the names of Flink's own reporter."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from firesteel.common.logs import logger
from firesteel.common.ports import ports_of
from firesteel.jobmanager.job_view import Statistics
from firesteel.monitoring import options
from firesteel.monitoring.measures import Kind
from firesteel.monitoring.reporter import Read, ReporterSettings
from firesteel.monitoring.samples import Sample, expanded

log = logger(__name__)

_PREFIX: Final = "flink"
_FORBIDDEN: Final = re.compile("[^a-zA-Z0-9:_]")


class PrometheusReporter:
    """Serves ``/metrics`` by a thread of its own."""

    def __init__(self) -> None:
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self.port = 0

    def open(self, settings: ReporterSettings, read: Read) -> None:
        what, package = "The metric reporter for Prometheus", "prometheus-client"
        client = extra("prometheus_client", what, "prometheus", package)
        core = extra("prometheus_client.core", what, "prometheus", package)
        registry = client.CollectorRegistry(auto_describe=False)
        registry.register(_Collector(core, settings, read))
        host = settings.options.get(options.HOST) or ""
        for port in ports_of(settings.options.get(options.PORT) or "", f"port of reporter {settings.name}"):
            try:
                self._server, self._thread = client.start_http_server(port, host, registry)
            except OSError:
                continue
            self.port = self._server.server_port
            log.info("metrics for Prometheus are at http://%s:%d/metrics", host, self.port)
            return
        raise ConfigurationError(
            f"The metric reporter {settings.name!r} has found no port that is free",
            detail=f"{options.PORT.key} is {settings.options.get(options.PORT)}",
            hint="name a range, such as 9250-9260",
        )

    def report(self) -> None:
        """Prometheus asks by itself."""

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._thread is not None:
            self._thread.join(5)


class _Collector:
    """What the client library asks for the metrics of the moment."""

    def __init__(self, core: Any, settings: ReporterSettings, read: Read) -> None:
        self._core = core
        self._settings = settings
        self._read = read
        self._clean = settings.options.get(options.FILTER_LABELS)

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        families: dict[str, list[tuple[dict[str, str], Sample]]] = {}
        for sample in self._read():
            for single in _as_numbers(sample):
                families.setdefault(metric_name(single), []).append((self._labels(single), single))
        for name, found in families.items():
            if any(isinstance(sample.measure.value, Statistics) for _, sample in found):
                yield self._summary(name, found)
            else:
                family = self._core.GaugeMetricFamily(name, found[0][1].name)
                for labels, sample in found:
                    value = sample.measure.value
                    assert not isinstance(value, Statistics), "metrics of one name are of one kind"
                    family.add_sample(name, labels, float(value))
                yield family

    def _summary(self, name: str, found: Iterable[tuple[dict[str, str], Sample]]) -> Any:
        family = self._core.SummaryMetricFamily(name, "quantiles of the newest values")
        for labels, sample in found:
            value = sample.measure.value
            assert isinstance(value, Statistics), "metrics of one name are of one kind"
            for quantile, number in value.quantiles:
                family.add_sample(name, {**labels, "quantile": str(quantile)}, number)
            family.add_sample(f"{name}_count", labels, float(value.count))
        return family

    def _labels(self, sample: Sample) -> dict[str, str]:
        found = self._settings.variables(sample)
        found |= {group: value for group, value in sample.measure.groups if value is not None}
        return {
            _FORBIDDEN.sub("_", key): _FORBIDDEN.sub("_", value) if self._clean else value
            for key, value in found.items()
        }


def _as_numbers(sample: Sample) -> Iterator[Sample]:
    """A histogram as it is, for a summary; a distribution as several numbers; no texts."""
    measure = sample.measure
    if isinstance(measure.value, Statistics) and measure.kind is not Kind.HISTOGRAM:
        yield from (replace(sample, measure=single) for single in expanded(measure))
    elif not isinstance(measure.value, str):
        yield sample


def metric_name(sample: Sample) -> str:
    """``flink_taskmanager_job_task_operator_tenant_orders_rate``: of a group with a value its name alone."""
    groups = (name for name, _ in sample.measure.groups)
    parts = (_PREFIX, sample.scope.value, *groups, sample.name)
    return _FORBIDDEN.sub("_", "_".join(parts))
