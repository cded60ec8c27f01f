"""How the parallelism of a job changes while it runs."""

from __future__ import annotations

from typing import Final

from firesteel.common.options._declare import duration, word

SCHEDULER: Final = word(
    "jobmanager.scheduler",
    "adaptive",
    ("adaptive", "default", "adaptivebatch"),
    "`adaptive`: the parallelism of a streaming job can be changed while it runs (docs/scaling.md). "
    "`default`: it cannot. A job in BATCH mode has one epoch, so nothing changes there, and `adaptivebatch` "
    "has no effect.",
)
SCHEDULER_MODE: Final = word(
    "scheduler-mode",
    None,
    ("reactive",),
    "`reactive`: a job uses all slots that there are, up to the max parallelism of its vertices, and follows "
    "when executors come and go.",
)
STABILIZATION: Final = duration(
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout",
    60_000,
    "How long further executors must have been there before a job in reactive mode uses them.",
    older_names=("jobmanager.adaptive-scheduler.scaling-interval.max",),
)
COOLDOWN: Final = duration(
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
    30_000,
    "How long a job keeps a parallelism at least that nobody has asked for.",
    older_names=("jobmanager.adaptive-scheduler.scaling-interval.min",),
)
