"""Options of what a job begins with."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, text, word

PATH: Final = text(
    "execution.state-recovery.path",
    None,
    "The savepoint or checkpoint that the job begins with; `latest`: the newest checkpoint of a job of its "
    "name.",
    bounds=Bounds(1),
    older_names=("execution.savepoint.path",),
)
IGNORE_UNCLAIMED: Final = boolean(
    "execution.state-recovery.ignore-unclaimed-state",
    False,
    "Drop state of operators that the program does not have any more.",
    older_names=("execution.savepoint.ignore-unclaimed-state",),
)
UNTRUSTED: Final = boolean(
    "execution.state-recovery.untrusted",
    False,
    "What is restored may come from anybody: it may hold plain data only.",
)
CLAIM_MODE: Final = word(
    "execution.state-recovery.claim-mode",
    "NO_CLAIM",
    ("CLAIM", "NO_CLAIM", "LEGACY"),
    "Whose the snapshot is from then on: the job's, or the user's.",
    older_names=("execution.savepoint-restore-mode",),
)
JOB_ID: Final = text(
    "$internal.pipeline.job-id",
    None,
    "The id of the one job of the program: it goes on from its own newest checkpoint.",
)
