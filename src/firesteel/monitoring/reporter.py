"""What a reporter of metrics is, and where reporters are found (Flink: ``MetricReporter``).

A reporter is named in ``metrics.reporters``, and its options begin with ``metrics.reporter.NAME.``. What
makes it is ``factory.class``: a short name, the factory that Flink has for the same, or ``module:name`` of a
class of somebody else. Packages may also register a record in ``REPORTERS``, or declare an entry point in the
group ``firesteel.metric_reporters``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, TypeAlias

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.options import metrics
from firesteel.monitoring import options
from firesteel.monitoring.filters import Filter
from firesteel.monitoring.samples import Sample
from firesteel.monitoring.scopes import ScopeFormats
from firesteel.program.registry import Registry, load

GROUP: Final = "firesteel.metric_reporters"

#: Reads all metrics as they are now, those that the reporter is to leave out left out.
Read: TypeAlias = Callable[[], list[Sample]]


@dataclass(frozen=True, slots=True)
class ReporterSettings:
    """What the configuration says of one reporter.

    :param options: those that are the reporter's own, without ``metrics.reporter.NAME.``.
    :param excluded: scope variables that are not written.
    :param additional: variables that are written beside those of the scope.
    """

    name: str
    options: Configuration
    interval_ms: int
    scopes: ScopeFormats
    filter: Filter
    excluded: frozenset[str] = frozenset()
    additional: Mapping[str, str] = field(default_factory=dict)

    def variables(self, sample: Sample) -> dict[str, str]:
        """The variables of a sample as they are to be written."""
        found = {k: v for k, v in sample.variables.items() if k not in self.excluded}
        return found | dict(self.additional)


class Reporter(Protocol):
    """Gives metrics to somebody. One thread calls it."""

    def open(self, settings: ReporterSettings, read: Read) -> None:
        """Begin. A reporter that is asked by others keeps ``read``.

        :raises ConfigurationError: the settings are wrong, or something is missing that it needs.
        """

    def report(self) -> None:
        """Called each ``interval``."""

    def close(self) -> None:
        """End; what is left to be sent is sent."""


@dataclass(frozen=True, slots=True)
class ReporterKind:
    """A kind of reporter.

    :param name: what ``factory.class`` may say in short.
    :param make: makes a reporter; or the place of what does, as ``"module:name"``.
    :param own_options: the options that it reads, beside those of all reporters; None: any.
    :param flink: the class of Flink that ``factory.class`` names for the same.
    """

    name: str
    make: str | Callable[[], Reporter]
    own_options: tuple[ConfigOption[Any], ...] | None = None
    flink: str | None = None

    def reporter(self) -> Reporter:
        found: Reporter = (load(self.make) if isinstance(self.make, str) else self.make)()
        return found


REPORTERS: Final = Registry("metric reporter", ReporterKind)

_OF_ALL: Final[tuple[ConfigOption[Any], ...]] = (
    options.FACTORY,
    options.INTERVAL,
    options.DELIMITER,
    options.EXCLUDES,
    options.ADDITIONAL,
    options.FILTER_INCLUDES,
    options.FILTER_EXCLUDES,
)


def configured(configuration: Configuration) -> list[tuple[ReporterSettings, ReporterKind]]:
    """The reporters of a configuration.

    :raises ConfigurationError: it names one that cannot be made, or an option that is not one.
    """
    found: dict[str, dict[str, str]] = {}
    for key, value in configuration.get(metrics.REPORTER).items():
        name, dot, option = key.partition(".")
        if not dot:
            raise ConfigurationError(
                f"{metrics.REPORTER.key}.{key} is not an option of a metric reporter",
                hint=f"write {metrics.REPORTER.key}.NAME.{options.FACTORY.key}",
            )
        found.setdefault(name, {})[option] = value
    chosen = [
        name.strip() for name in (configuration.get(metrics.REPORTERS) or "").split(",") if name.strip()
    ]
    for name in chosen:
        if options.FACTORY.key not in found.get(name, {}):
            raise ConfigurationError(
                f"The metric reporter {name!r} has no {options.FACTORY.key}",
                hint=f"set {metrics.REPORTER.key}.{name}.{options.FACTORY.key} to one of "
                f"{', '.join(REPORTERS.names())}, or to module:Class",
            )
    return [
        _settings(name, found[name], configuration) for name in sorted(found) if not chosen or name in chosen
    ]


def _settings(
    name: str, values: Mapping[str, str], configuration: Configuration
) -> tuple[ReporterSettings, ReporterKind]:
    own = Configuration()
    for key, value in values.items():
        own.set_string(key, value)
    kind = kind_named(own.get(options.FACTORY) or "", name)
    _check_keys(name, kind, values)
    scopes = ScopeFormats.of(configuration, own.get(options.DELIMITER))
    try:
        filter_ = Filter.of(own.get(options.FILTER_INCLUDES), own.get(options.FILTER_EXCLUDES))
    except ValueError as error:
        raise ConfigurationError(f"The filter of the metric reporter {name!r} is wrong: {error}") from error
    settings = ReporterSettings(
        name,
        own,
        own.get(options.INTERVAL),
        scopes,
        filter_,
        frozenset(variable.strip("<> ") for variable in own.get(options.EXCLUDES)),
        {key: str(value) for key, value in own.get(options.ADDITIONAL).items()},
    )
    return settings, kind


def _check_keys(name: str, kind: ReporterKind, keys: Iterable[str]) -> None:
    if kind.own_options is None:
        return
    known = [option.key for option in (*_OF_ALL, *kind.own_options)]
    for key in keys:
        if key not in known and not key.startswith(f"{options.ADDITIONAL.key}."):
            near = get_close_matches(key, known, 2, 0.6)
            raise ConfigurationError(
                f"The metric reporter {name!r} has no option {key}",
                detail=f"a {kind.name} reporter has {', '.join(sorted(known))}",
                hint=f"did you mean {' or '.join(near)}?" if near else None,
            )


def kind_named(factory: str, reporter: str) -> ReporterKind:
    """The kind that ``factory.class`` names.

    :raises ConfigurationError: there is none.
    """
    for name in REPORTERS.names():
        kind = REPORTERS.named(name)
        if factory in (name, kind.flink):
            return kind
    for entry in entry_points(group=GROUP, name=factory):
        return ReporterKind(factory, entry.load())
    if ":" in factory:
        try:
            return ReporterKind("own", load(factory))
        except FiresteelError as error:
            raise ConfigurationError(
                f"The metric reporter {reporter!r} cannot be made: {error.message}", detail=error.detail
            ) from error
    raise ConfigurationError(
        f"There is no metric reporter {factory!r}, which {reporter!r} is to be",
        detail=f"known are {', '.join(REPORTERS.names())}",
        hint="name one of these, or the place of a class as module:Class",
    )


_HERE: Final = "firesteel.monitoring."
for _kind in (
    ReporterKind(
        "prometheus",
        _HERE + "prometheus:PrometheusReporter",
        (options.PORT, options.HOST, options.FILTER_LABELS),
        "org.apache.flink.metrics.prometheus.PrometheusReporterFactory",
    ),
    ReporterKind(
        "otlp",
        _HERE + "otlp:OtlpReporter",
        (
            options.ENDPOINT, options.PROTOCOL, options.EXPORTER_TIMEOUT,
            options.SERVICE_NAME, options.SERVICE_VERSION,
        ),
        "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory",
    ),
    ReporterKind("json-lines", _HERE + "json_lines:JsonLinesReporter", (options.PATH, options.MAX_SIZE)),
    ReporterKind(
        "log", _HERE + "log:LogReporter", (), "org.apache.flink.metrics.slf4j.Slf4jReporterFactory"
    ),
):  # fmt: skip
    REPORTERS.register(_kind)
