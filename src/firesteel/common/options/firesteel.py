"""Options of our own."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, memory, text, word

STATE_DIR: Final = text(
    "firesteel.state.dir",
    None,
    "Where jobs keep their files: a path or URI that the driver and all workers reach. Needed on a cluster.",
)
LOCAL_DIR: Final = text(
    "firesteel.local-dir", None, "The directory of each host where the local state stores lie."
)
HOST_ID: Final = text(
    "firesteel.host-id",
    "",
    "Separates the local stores of hosts that share a machine, in tests. `{epoch}` in it gives each epoch a "
    "new host.",
)
EPOCH_TARGET: Final = duration(
    "firesteel.epoch.target",
    None,
    "In epochs: the length that they aim at while there is a backlog. Without it: 500 ms, for bounded jobs "
    "6 s.",
)
REAL_TIME_EPOCH: Final = duration(
    "firesteel.real-time.epoch",
    None,
    "Real-time mode: the length of an epoch, after which its output is committed. Without it: 5 s, or the "
    "interval of the checkpoints if that is shorter; 1 s for jobs without checkpoints. At most 200 ms in any "
    "case where somebody waits for what is printed or collected.",
    no_effect="the job runs in epochs, whose length firesteel.epoch.target is for (execution.mode)",
)
EPOCH_INTERVAL: Final = duration(
    "firesteel.epoch.interval",
    100,
    "In epochs: the time between the starts of two while there is no backlog.",
)
EPOCH_MAX_RECORDS: Final = integer(
    "firesteel.epoch.max-records", None, "In epochs: how many records of one split each takes at most."
)
EPOCH_MAX_BYTES: Final = memory(
    "firesteel.epoch.max-bytes", 512 << 20, "In epochs: how many bytes of one split each takes at most."
)
EPOCH_TIME_LIMIT: Final = boolean(
    "firesteel.epoch.time-limit",
    True,
    "In epochs: let tasks look at the clock, so that one of slow functions ends in time. One whose functions "
    "behind an exchange take several times as long as it should is then given up and run again with fewer "
    "records; switch it off where a function must not see a record a second time without a failure.",
)
EPOCH_ATTEMPTS: Final = integer(
    "firesteel.epoch.attempts", 4, "In epochs: how often one is tried that Spark cannot run."
)
PRE_AGGREGATION: Final = boolean(
    "firesteel.window.pre-aggregation",
    False,
    "Aggregate windows, and reduces of BATCH mode, before the exchange.",
)
MAX_RECORD_BYTES: Final = 64 << 20  # a JVM with Spark's default of 1 GB takes that
MAX_RECORD_SIZE: Final = memory(
    "firesteel.exchange.max-record-size",
    MAX_RECORD_BYTES,
    "The largest size, serialised, of what goes through Spark's JVM in one piece: a record in an exchange, "
    "the answer of a subtask for an epoch, what a committer gives a task.",
)
SPARK_LOG: Final = word(
    "firesteel.spark-log",
    "file",
    ("file", "console"),
    "Where Spark's own log goes.",
    scope="process",
)
HDFS_TIMEOUT: Final = duration(
    "firesteel.hdfs.timeout",
    120_000,
    "How long the client hdfs-native waits for an answer of HDFS before it is an error; the next access "
    "connects anew. It holds for a whole process: of several jobs the last one that begins decides.",
    bounds=Bounds(1),
    scope="process",
)
CEP_MAX_PARTIAL_MATCHES: Final = integer(
    "firesteel.cep.max-partial-matches-per-key",
    100_000,
    "Patterns: how many partial matches a key may have. Each of them costs time for each event of the key.",
    bounds=Bounds(1),
)
CEP_TOO_MANY_PARTIAL_MATCHES: Final = word(
    "firesteel.cep.too-many-partial-matches",
    "fail",
    ("fail", "drop-oldest"),
    "Patterns: what happens when a key has more partial matches than that. `fail`: the job fails. "
    "`drop-oldest`: those that began first are given up, and counted as `numPartialMatchesDropped`.",
)
