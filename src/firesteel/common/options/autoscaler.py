"""The autoscaler: under the keys of the autoscaler of Flink's Kubernetes operator."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, number, texts

ENABLED: Final = boolean(
    "job.autoscaler.enabled",
    False,
    "Change the parallelism of vertices by how busy they are, and how far sources lag behind "
    "(docs/scaling.md).",
)
SCALING_ENABLED: Final = boolean(
    "job.autoscaler.scaling.enabled",
    True,
    "Whether what the autoscaler finds is done; otherwise it is only logged.",
)
STABILIZATION: Final = duration(
    "job.autoscaler.stabilization.interval",
    300_000,
    "How long nothing is measured after a change of parallelism.",
)
WINDOW: Final = duration(
    "job.autoscaler.metrics.window",
    900_000,
    "How long is measured before something is decided.",
    bounds=Bounds(100, 24 * 3_600_000),
)
TARGET: Final = number(
    "job.autoscaler.utilization.target",
    0.7,
    "Which part of its time a vertex is to be busy.",
    bounds=Bounds(0, 1),
    older_names=("job.autoscaler.target.utilization",),
)
BOUNDARY: Final = number(
    "job.autoscaler.target.utilization.boundary",
    0.3,
    "How far from the target a vertex may be without a change.",
    bounds=Bounds(0, 1),
)
MAX_UTILIZATION: Final = number(
    "job.autoscaler.utilization.max",
    0,
    "Above which part of its time a vertex gets more subtasks; 0: the target and the boundary.",
    bounds=Bounds(0, 1),
)
MIN_UTILIZATION: Final = number(
    "job.autoscaler.utilization.min",
    0,
    "Below which part it gets fewer; 0: the target less the boundary.",
    bounds=Bounds(0, 1),
)
MIN_PARALLELISM: Final = integer(
    "job.autoscaler.vertex.min-parallelism",
    1,
    "The least parallelism that is chosen.",
    bounds=Bounds(1, 32768),
)
MAX_PARALLELISM: Final = integer(
    "job.autoscaler.vertex.max-parallelism",
    200,
    "The greatest; never more than a vertex may have, nor than there are slots.",
    bounds=Bounds(1, 32768),
)
SCALE_UP_FACTOR: Final = number(
    "job.autoscaler.scale-up.max-factor",
    100_000.0,
    "By which factor and one the parallelism grows at most in one change.",
    bounds=Bounds(0, 1_000_000),
)
SCALE_DOWN_FACTOR: Final = number(
    "job.autoscaler.scale-down.max-factor",
    0.6,
    "By which part the parallelism shrinks at most in one change.",
    bounds=Bounds(0, 1),
)
SCALE_DOWN_INTERVAL: Final = duration(
    "job.autoscaler.scale-down.interval",
    3_600_000,
    "How long a vertex keeps its subtasks at least after it has got more.",
)
CATCH_UP: Final = duration(
    "job.autoscaler.catch-up.duration",
    1_800_000,
    "In which time the lag of sources is to be worked off; 0: never.",
)
RESTART_TIME: Final = duration(
    "job.autoscaler.restart.time",
    0,
    "How long nothing is processed in a change. It takes an epoch here, so nothing is to be made up for.",
)
EXCLUDED: Final = texts(
    "job.autoscaler.vertex.exclude.ids", "The ids of vertices that keep their parallelism."
)
