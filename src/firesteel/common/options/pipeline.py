"""Options of the program: its name, parallelism, chaining and files."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.key_groups import UPPER_BOUND_MAX_PARALLELISM
from firesteel.common.options._declare import boolean, duration, integer, mapping, text, word

NAME: Final = text("pipeline.name", None, "The name of the job, where `execute()` gives none.")
PARALLELISM: Final = integer(
    "parallelism.default",
    None,
    "The parallelism of all operators that set none. Without it: the number of cores of a local Spark.",
    bounds=Bounds(1, UPPER_BOUND_MAX_PARALLELISM),
)
MAX_PARALLELISM: Final = integer(
    "pipeline.max-parallelism",
    -1,
    "The number of key groups: the upper limit of the parallelism, also of later runs. -1: it follows from "
    "the parallelism of each operator.",
    bounds=Bounds(1, UPPER_BOUND_MAX_PARALLELISM, beside=-1),
)
CHAINING: Final = boolean(
    "pipeline.operator-chaining.enabled",
    True,
    "Whether operators that follow each other without an exchange share a task.",
    older_names=("pipeline.operator-chaining",),
)
CHAINING_MAX_PARALLELISM: Final = boolean(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    True,
    "Whether operators with different numbers of key groups may share a task.",
)
AUTO_WATERMARK_INTERVAL: Final = duration(
    "pipeline.auto-watermark-interval",
    200,
    "The time between periodic watermarks. 0: there are none.",
)
AUTO_GENERATE_UIDS: Final = boolean(
    "pipeline.auto-generate-uids",
    True,
    "Whether operators without a uid get one from their place in the program. false: such an operator is an "
    "error.",
)
GLOBAL_JOB_PARAMETERS: Final = mapping(
    "pipeline.global-job-parameters",
    "Parameters of the program's own: functions read them by `RuntimeContext.get_job_parameter`.",
)
CACHED_FILES: Final = text(
    "pipeline.cached-files",
    None,
    "Files that each worker gets a copy of: `name:N,path:P,executable:false`, separated by semicolons.",
)
OBJECT_REUSE: Final = boolean(
    "pipeline.object-reuse",
    False,
    "Flink: hand records from operator to operator without a copy.",
    no_effect="records are never copied between the operators of a task",
)
CLOSURE_CLEANER: Final = word(
    "pipeline.closure-cleaner-level",
    "RECURSIVE",
    ("NONE", "TOP_LEVEL", "RECURSIVE"),
    "Flink: how references that a function does not use are removed from it.",
    no_effect="functions are pickled with what they use and nothing else",
)
CANCELLATION_INTERVAL: Final = duration(
    "task.cancellation.interval",
    30_000,
    "Flink: the time between two attempts to interrupt a task that is cancelled.",
    older_names=("task.cancellation-interval",),
    no_effect="Spark cancels the tasks",
)
CANCELLATION_TIMEOUT: Final = duration(
    "task.cancellation.timeout",
    180_000,
    "Flink: how long a task may take to be cancelled before its process is ended.",
    no_effect="Spark cancels the tasks (see spark.task.reaper.killTimeout)",
)
