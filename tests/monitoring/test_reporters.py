"""Reporters: what a real job looks like to Prometheus, OpenTelemetry, in a file and in the log."""

from __future__ import annotations

import json
import logging
import re
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.jobmanager.executor import Executor
from firesteel.monitoring import application
from firesteel.monitoring.reporter import REPORTERS, Read, ReporterKind, ReporterSettings, configured
from firesteel.program.execution import get_executor
from tests.monitoring.support import start
from tests.waiting import patience, until

SHARED = Path(__file__).parent / "prometheus.json"


def executor() -> Executor:
    found = get_executor()
    assert isinstance(found, Executor)
    return found


def reporter(name: str, factory: str, **more: str) -> dict[str, str]:
    options = {"factory.class": factory, **{k.replace("__", "."): v for k, v in more.items()}}
    return {f"metrics.reporter.{name}.{key}": value for key, value in options.items()}


def scraped(port: int) -> dict[str, list[tuple[dict[str, str], float]]]:
    """What Prometheus makes of the answer: by name, the labels and values."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=patience(10)) as answer:
        assert answer.headers["content-type"].startswith("text/plain")
        text = answer.read().decode()
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


@pytest.mark.row("S-METR-12", "S-METR-13")
def test_prometheus_reads_a_job_under_the_names_of_flink() -> None:
    recorded = json.loads(SHARED.read_text())
    latency = {"metrics.latency.interval": "10 ms"}
    client = start(**reporter("prom", recorded["factory"], port="0"), **latency)
    (prom,) = application.report(executor(), Configuration()).reporters
    port = prom.port  # type: ignore[attr-defined]
    last = "flink_taskmanager_job_task_busyTimeMsPerSecond"
    found = until(lambda: (s := scraped(port)) and last in s and s)
    client.cancel().result()
    for group in recorded["groups"]:
        for name in group["names"]:
            if name in recorded["not_here"]:
                assert name not in found, f"{name} is there: take it off the list"
                continue
            assert name in found, name
            for labels, _ in found[name]:
                assert sorted(labels) == group["labels"], name
    operator = found["flink_taskmanager_job_task_operator_tenant_orders_rate"]
    assert {labels["tenant"] for labels, _ in operator} == {"acme"}
    assert {labels["operator_name"] for labels, _ in operator} == {"running_total"}
    assert {labels["subtask_index"] for labels, _ in operator} == {"0", "1"}
    quantiles = found["flink_taskmanager_job_task_operator_cost_of_one"]
    assert {labels["quantile"] for labels, _ in quantiles} >= {"0.5", "0.99"}
    assert sum(v for _, v in found["flink_taskmanager_job_task_operator_orders"]) > 0
    assert "flink_taskmanager_job_task_operator_broken" not in found, "a gauge that raises has no value"
    assert all(v > 1e18 for _, v in found["flink_taskmanager_job_task_operator_now"])
    pending = found["flink_taskmanager_job_task_operator_currentFetchEventTimeLag"]
    assert all(400 <= v < 30_000 for _, v in pending), "records are half a second old when they are made"


def test_nobody_is_told_of_a_job_that_has_ended() -> None:
    client = start(**reporter("prom", "prometheus", port="0"))
    (prom,) = application.report(executor(), Configuration()).reporters
    name = "flink_jobmanager_job_numRestarts"
    assert until(lambda: name in scraped(prom.port))  # type: ignore[attr-defined]
    client.cancel().result()
    until(lambda: name not in scraped(prom.port))  # type: ignore[attr-defined]


class Receiver(BaseHTTPRequestHandler):
    """A collector of OpenTelemetry, as far as OTLP over HTTP asks for one."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        assert self.path == "/v1/metrics"
        assert self.headers["content-type"] == "application/x-protobuf"
        self.server.requests.append(ExportMetricsServiceRequest.FromString(body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def collector() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.requests = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_collector_of_opentelemetry_gets_sums_and_gauges(collector: ThreadingHTTPServer) -> None:
    requests: list[Any] = collector.requests  # type: ignore[attr-defined]
    client = start(
        **reporter(
            "otel",
            "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory",
            exporter__endpoint=f"http://127.0.0.1:{collector.server_port}/v1/metrics",
            interval="200 ms",
            service__name="shop",
        )
    )
    name = "flink.taskmanager.job.task.operator.orders"

    def points() -> Any:
        found = [
            (resource, metric)
            for request in list(requests)
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return found if len(found) > 2 else None

    found = until(points)
    client.cancel().result()
    resource, metric = found[-1]
    attributes = {a.key: a.value.string_value for a in resource.resource.attributes}
    assert attributes["service.name"] == "shop"
    assert metric.sum.aggregation_temporality == 2, "cumulative"
    totals = [sum(p.as_int for p in m.sum.data_points) for _, m in found]
    assert totals == sorted(totals)
    assert totals[-1] > 0
    labels = {a.key: a.value.string_value for a in metric.sum.data_points[0].attributes}
    assert (labels["operator_name"], labels["job_name"]) == ("running total", "orders")
    application.stop(executor())


def test_a_file_has_a_line_for_each_metric_and_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    options = reporter(
        "file",
        "json-lines",
        path=str(path),
        interval="100 ms",
        max_size__x="",
        filter__includes="*.operator*:orders*;jobmanager.job:numRestarts",
        filter__excludes="*:orders_rate",
        scope__variables__excludes="tm_id;<task_attempt_id>",
        scope__variables__additional__team="green",
    )
    del options["metrics.reporter.file.max_size.x"]
    client = start(**options, **{"metrics.reporter.file.max-size": "20 kb"})
    kept = Path(f"{path}.1")
    until(kept.exists)
    client.cancel().result()
    application.stop(executor())
    lines = [json.loads(line) for file in (kept, path) for line in file.read_text().splitlines()]
    assert {line["name"] for line in lines} == {"orders", "numRestarts"}
    metrics = {line["metric"] for line in lines if line["name"] == "orders"}
    assert any(metric.endswith(".orders.running total.0.orders") for metric in metrics)
    assert all(line["variables"]["team"] == "green" and "tm_id" not in line["variables"] for line in lines)
    times = [line["time"] for line in lines]
    assert times == sorted(times)
    assert kept.stat().st_size < 40_000


def test_the_log_has_a_report(caplog: pytest.LogCaptureFixture) -> None:
    factory = "org.apache.flink.metrics.slf4j.Slf4jReporterFactory"
    with caplog.at_level(logging.INFO, "firesteel.monitoring.log"):
        client = start(**reporter("slf4j", factory, interval="50 ms", scope__delimiter="-"))
        until(lambda: any("cost-of_one_p99" in record.getMessage() for record in caplog.records))
        client.cancel().result()
        application.stop(executor())
    text = next(m for r in caplog.records if "cost-of_one_p99" in (m := r.getMessage()))
    assert "metrics report reporter=slf4j" in text
    assert re.search(r"-jobmanager-orders-numRestarts: 0", text)
    assert re.search(r"-running total-0-cost-of_one_p99: \d", text)


class Own:
    """A reporter of another package."""

    opened: list[Own] = []

    def open(self, settings: ReporterSettings, read: Read) -> None:
        self.settings, self.read, self.reports = settings, read, 0
        self.opened.append(self)

    def report(self) -> None:
        self.reports += 1
        raise RuntimeError("nobody listens")

    def close(self) -> None:
        self.closed = True


def test_others_bring_reporters_and_a_failing_one_harms_nobody() -> None:
    Own.opened.clear()
    client = start(**reporter("mine", f"{__name__}:Own", interval="10 ms", anything="x"))
    (own,) = Own.opened
    until(lambda: own.reports > 2)
    assert own.settings.options.to_dict()["anything"] == "x"
    client.cancel().result()
    application.stop(executor())
    assert own.closed


def configuration(**options: str) -> Configuration:
    found = Configuration()
    for key, value in options.items():
        found.set_string(key, value)
    return found


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metrics.reporters": "prom"}, "has no factory.class"),
        (reporter("x", "nagios"), "no metric reporter 'nagios'"),
        (reporter("x", "nowhere:Class"), "cannot be made"),
        (reporter("x", "prometheus", prot="9249"), "has no option prot"),
        (reporter("x", "prometheus", interval="soon"), "interval"),
        (reporter("x", "log", filter__includes="a:b:c:d"), "filter"),
        (reporter("x", "log", filter__includes="*:*:timer"), "filter"),
        ({"metrics.reporter.x": "y"}, "not an option"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        configured(configuration(**options))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (reporter("x", "json-lines"), "needs a path"),
        (reporter("x", "json-lines", path="/no/such/place"), "cannot write"),
        (reporter("x", "otlp"), "exporter.endpoint"),
        (reporter("x", "otlp", exporter__endpoint="http://h", exporter__protocol="gRPC"), "one of http"),
    ],
)
def test_a_job_does_not_start_with_a_reporter_that_cannot(options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        start(**options)


def test_a_port_that_is_taken_is_said_and_a_range_goes_on() -> None:
    client = start(**reporter("prom", "prometheus", port="0"))
    (prom,) = application.report(executor(), Configuration()).reporters
    taken = prom.port  # type: ignore[attr-defined]
    client.cancel().result()
    other = configured(configuration(**reporter("x", "prometheus", port=str(taken))))
    with pytest.raises(ConfigurationError, match="no port that is free"):
        other[0][1].reporter().open(other[0][0], list)
    (settings, kind) = configured(configuration(**reporter("x", "prometheus", port=f"{taken}, 0")))[0]
    second: Any = kind.reporter()
    second.open(settings, list)
    assert second.port not in (0, taken)
    second.close()


def test_kinds_of_reporters_are_registered() -> None:
    assert REPORTERS.names() == ["json-lines", "log", "otlp", "prometheus"]
    kind = ReporterKind("mine", Own)
    assert isinstance(kind.reporter(), Own)
