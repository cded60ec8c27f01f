"""Options of how a job is run: mode, buffers, sinks, the Spark that runs it."""

from __future__ import annotations

from typing import Final

from firesteel.common.options._declare import boolean, duration, integer, text, word

RUNTIME_MODE: Final = word(
    "execution.runtime-mode",
    "STREAMING",
    ("STREAMING", "BATCH", "AUTOMATIC"),
    "How the job is run. BATCH: as one epoch, by key; AUTOMATIC: BATCH when all sources are bounded.",
)
BUFFER_TIMEOUT: Final = duration(
    "execution.buffer-timeout.interval",
    100,
    "Flink: how long records may wait in a buffer that is not full.",
    older_names=("execution.buffer-timeout",),
    no_effect="buffers are handed on at the end of each epoch: firesteel.epoch.target says how long it is",
)
BUFFER_TIMEOUT_ENABLED: Final = boolean(
    "execution.buffer-timeout.enabled",
    True,
    "Flink: whether buffers that are not full are handed on after a time.",
    no_effect="buffers are handed on at the end of each epoch: firesteel.epoch.target says how long it is",
)
COMMIT_RETRIES: Final = integer(
    "sink.committer.retries",
    10,
    "How often a sink may ask for more time to commit before the job fails.",
)
SPARK_MASTER: Final = text(
    "spark.master",
    None,
    "The Spark master; `local[*,4]` without it. All keys that begin with `spark.` go to the Spark session.",
    scope="process",
)
