"""Options of the Python workers."""

from __future__ import annotations

from typing import Final

from firesteel.common.options._declare import boolean, integer, text

FILES: Final = text(
    "python.files", None, "Modules, packages and archives that workers can import, separated by commas."
)
ARCHIVES: Final = text(
    "python.archives",
    None,
    "Archives that are unpacked in the working directory of the workers, separated by commas: "
    "`path` or `path#directory`.",
)
REQUIREMENTS: Final = text(
    "python.requirements",
    None,
    "Packages that the workers get: `file` or `file#directory`, a requirements file and a directory with "
    "downloaded packages.",
)
EXECUTABLE: Final = text(
    "python.executable",
    None,
    "The Python of the workers. It must be the one that runs the program; Spark's is set by "
    "`spark.pyspark.python`.",
)
CLIENT_EXECUTABLE: Final = text(
    "python.client.executable",
    None,
    "The Python of the driver. It must be the one that runs the program.",
)
LOG_LEVEL: Final = text(
    "firesteel.user-log.level",
    "INFO",
    "The level of what functions log that reaches the log of the driver; what is below stays in the worker.",
    older_names=("python.logging.default.level",),
)
CHAINING: Final = boolean(
    "python.operator-chaining.enabled",
    True,
    "false: declared types hold for records between functions of one task too.",
)
STATE_CACHE: Final = integer(
    "python.state.cache-size", 1000, "0: declared types hold for what state gives back too."
)
