"""Checkpoints and savepoints that were taken."""

from __future__ import annotations

from typing import Final

from firesteel.rest.answers.checkpoints import (
    checkpoint_config,
    checkpoint_details,
    checkpoints,
    task_details,
)
from firesteel.rest.messages.checkpoints import (
    Checkpoint,
    CheckpointConfigInfo,
    Checkpoints,
    TaskCheckpointDetails,
)
from firesteel.rest.routes import Call, Encoded, Route


def page(call: Call) -> Encoded:
    return call.once(lambda: checkpoints(call.job, call.context.settings.history))


def config(call: Call) -> CheckpointConfigInfo:
    return checkpoint_config(call.job)


def details(call: Call) -> Checkpoint:
    return checkpoint_details(call.job, call.number("checkpointid"))


def subtasks(call: Call) -> TaskCheckpointDetails:
    return task_details(call.job, call.number("checkpointid"), call.vertex)


_ALL: Final = "/jobs/{jobid}/checkpoints"
_ONE: Final = f"{_ALL}/details/{{checkpointid}}"
ROUTES: Final = (
    Route("GET", _ALL, page, Checkpoints, "The checkpoints of a job."),
    Route("GET", f"{_ALL}/config", config, CheckpointConfigInfo, "How they are taken."),
    Route("GET", _ONE, details, Checkpoint, "One checkpoint with its vertices."),
    Route(
        "GET",
        f"{_ONE}/subtasks/{{vertexid}}",
        subtasks,
        TaskCheckpointDetails,
        "A vertex in a checkpoint, with its subtasks.",
    ),
)
