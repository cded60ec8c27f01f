"""The session cluster: where it keeps what it must not lose, slots, clients."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, text

DIRECTORY: Final = text(
    "firesteel.cluster.dir",
    None,
    "The directory of the session cluster: jobs, programs, logs, the archive of ended jobs. Without it: "
    "`firesteel/cluster-PORT` in `$XDG_STATE_HOME` (`~/.local/state`).",
    scope="cluster",
)
ENFORCE_SLOTS: Final = boolean(
    "slot.enforce",
    False,
    "Let a job wait in CREATED until there are as many free slots as it needs; those that dynamic allocation "
    "may add count. Otherwise jobs share the cores by time.",
    scope="cluster",
)
SLOT_TIMEOUT: Final = duration(
    "slot.request.timeout",
    300_000,
    "How long a job waits for slots before it fails (`slot.enforce`).",
    scope="cluster",
)
ATTACHED: Final = boolean(
    "execution.attached",
    False,
    "Flink's client sets it; `firesteel run -m` waits for the job unless `-d` is given.",
    scope="cluster",
)
SHUTDOWN_ON_EXIT: Final = boolean(
    "execution.shutdown-on-attached-exit",
    False,
    "A job on a session cluster is cancelled when the client ends that waits for it, also when the client is "
    "killed.",
)
HEARTBEAT_INTERVAL: Final = duration(
    "client.heartbeat.interval",
    30_000,
    "How often a client that waits says that it lives (`execution.shutdown-on-attached-exit`).",
    bounds=Bounds(1),
)
HEARTBEAT_TIMEOUT: Final = duration(
    "client.heartbeat.timeout",
    180_000,
    "After how long without a word of its client a job is cancelled (`execution.shutdown-on-attached-exit`).",
    bounds=Bounds(1),
)
