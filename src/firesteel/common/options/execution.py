"""Options of how a job is run: mode, buffers, sinks, the Spark that runs it."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, text, word

RUNTIME_MODE: Final = word(
    "execution.runtime-mode",
    "STREAMING",
    ("STREAMING", "BATCH", "AUTOMATIC"),
    "How the job is run. BATCH: as one epoch, by key; AUTOMATIC: BATCH when all sources are bounded.",
)
MODE: Final = word(
    "execution.mode",
    "auto",
    ("epochs", "real-time", "auto"),
    "How a STREAMING job is run. epochs: as a row of Spark jobs, which gives the highest throughput; "
    "real-time: as one Spark job whose tasks go on, which gives latencies of milliseconds and takes a slot "
    "for each task of all levels; auto: real-time for a job without end where that is possible.",
)
_IN_EPOCHS: Final = "in epoch mode buffers are handed on at the end of each epoch (execution.mode)"
BUFFER_TIMEOUT: Final = duration(
    "execution.buffer-timeout.interval",
    100,
    "Real-time mode: how long records may wait in a buffer that is not full; 5 ms where nothing is set.",
    older_names=("execution.buffer-timeout",),
    no_effect=_IN_EPOCHS,
)
BUFFER_TIMEOUT_ENABLED: Final = boolean(
    "execution.buffer-timeout.enabled",
    True,
    "Real-time mode: whether buffers that are not full are handed on after a time.",
    no_effect=_IN_EPOCHS,
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
HEARTBEAT_INTERVAL: Final = duration(
    "heartbeat.interval",
    10_000,
    "On a cluster: how often an executor says that it lives: `spark.executor.heartbeatInterval`, where that "
    "is not set.",
    scope="process",
    bounds=Bounds(1),
)
HEARTBEAT_TIMEOUT: Final = duration(
    "heartbeat.timeout",
    50_000,
    "On a cluster: after how long without a word an executor is lost and its work is done elsewhere: "
    "`spark.storage.blockManagerHeartbeatTimeoutMs`, where neither that nor `spark.network.timeout` is set.",
    scope="process",
    bounds=Bounds(1),
)
