"""Options of one reporter: what comes after ``metrics.reporter.NAME.``"""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, mapping, memory, text, texts, word

FACTORY: Final = text("factory.class", None, "What makes the reporter.")
INTERVAL: Final = duration("interval", 10_000, "Between two reports.", bounds=Bounds(10, 24 * 3_600_000))
DELIMITER: Final = text("scope.delimiter", None, "As `metrics.scope.delimiter`, for this reporter.")
EXCLUDES: Final = texts("scope.variables.excludes", "Variables that are not written, as `job_id;host`.")
ADDITIONAL: Final = mapping("scope.variables.additional", "Variables that are written, too.")
FILTER_INCLUDES: Final = texts("filter.includes", "Patterns `scope:name:types` of what is reported.")
FILTER_EXCLUDES: Final = texts("filter.excludes", "The same, of what is not.")
PORT: Final = text("port", "9249", "A port, or a range of which the first that is free is taken.")
HOST: Final = text("host", "127.0.0.1", "The address that the port is bound to.")
FILTER_LABELS: Final = boolean(
    "filterLabelValueCharacters", True, "Whether characters of labels other than [a-zA-Z0-9:_] become _."
)
ENDPOINT: Final = text("exporter.endpoint", None, "Where metrics are sent: a URL.")
PROTOCOL: Final = word("exporter.protocol", "http", ("http",), "How: OTLP over HTTP.")
EXPORTER_TIMEOUT: Final = duration("exporter.timeout", 10_000, "For one report.")
SERVICE_NAME: Final = text("service.name", "firesteel", "The name of the service in what is sent.")
SERVICE_VERSION: Final = text("service.version", None, "Its version.")
PATH: Final = text("path", None, "The file that lines are appended to.")
MAX_SIZE: Final = memory("max-size", 64 << 20, "The size of the file after which it is begun anew.")
