"""Options of metrics: who gets them, and under which names. Those of a reporter come after
``metrics.reporter.NAME.``"""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import duration, integer, mapping, text, word

REPORTERS: Final = text(
    "metrics.reporters",
    None,
    "The names of the metric reporters to use, with commas between them. Without it: all that have options.",
    scope="process",
)
REPORTER: Final = mapping(
    "metrics.reporter",
    "The options of metric reporters, as `metrics.reporter.NAME.OPTION` (docs/metrics.md lists them).",
    scope="process",
)
DELIMITER: Final = text(
    "metrics.scope.delimiter", ".", "Between the parts of the identifier of a metric.", scope="process"
)
SCOPE_JM: Final = text(
    "metrics.scope.jm", "<host>.jobmanager", "The scope of metrics of the driver.", scope="process"
)
SCOPE_JM_JOB: Final = text(
    "metrics.scope.jm-job",
    "<host>.jobmanager.<job_name>",
    "The scope of metrics of a job.",
    scope="process",
    older_names=("metrics.scope.jm.job",),
)
SCOPE_TM: Final = text(
    "metrics.scope.tm",
    "<host>.taskmanager.<tm_id>",
    "The scope of metrics of an executor.",
    scope="process",
)
SCOPE_TASK: Final = text(
    "metrics.scope.task",
    "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
    "The scope of metrics of a subtask.",
    scope="process",
)
SCOPE_OPERATOR: Final = text(
    "metrics.scope.operator",
    "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
    "The scope of metrics of an operator in a subtask, those of functions among them.",
    scope="process",
)
LATENCY_INTERVAL: Final = duration(
    "metrics.latency.interval",
    0,
    "How often sources send markers that measure the latency of operators; 0: never. In epochs at most once "
    "in each.",
)
LATENCY_GRANULARITY: Final = word(
    "metrics.latency.granularity",
    "operator",
    ("single", "operator", "subtask"),
    "What latency is told apart by: nothing, the source, or the subtask of the source.",
)
LATENCY_HISTORY: Final = integer(
    "metrics.latency.history-size",
    128,
    "How many of the newest values the percentiles of a latency are of.",
    bounds=Bounds(1, 1000),
)
