"""Commands: cancel, savepoint, stop, checkpoint, disposal, and what came of them."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from firesteel.common.job_status import JobStatus
from firesteel.rest.cluster import SavepointOrder
from firesteel.rest.errors import RestError
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.operations import (
    CheckpointTrigger,
    ClientHeartbeat,
    OperationResult,
    OperationValue,
    SavepointDisposal,
    SavepointTrigger,
    StopWithSavepoint,
    Triggered,
)
from firesteel.rest.routes import Call, Route

SAVEPOINT: Final = "savepoint"
CHECKPOINT: Final = "checkpoint"
DISPOSAL: Final = "savepoint disposal"


class Termination(Struct, frozen=True):
    mode: Literal["cancel", "stop"] = "cancel"


async def terminate(call: Call) -> Empty:
    if call.query.mode == "stop":
        raise RestError(
            308,
            'The termination mode "stop" has been removed. Use "cancel" for an end at once, and '
            f"POST /jobs/{call.id('jobid')}/stop for one with a savepoint.",
        )
    return await cancel(call)


async def cancel(call: Call) -> Empty:
    job = call.job
    if job.ended_ms is None:
        await call.cluster.cancel(job.job_id)
    elif job.status is not JobStatus.CANCELED:
        raise RestError(
            409,
            "Job cancellation failed because the job has already reached another terminal state "
            f"({job.status.name}).",
        )
    return Empty()


async def yarn_cancel(call: Call) -> Empty:
    """The way of Flink's dashboard."""
    if not call.context.settings.cancel:
        raise RestError(403, "Jobs cannot be cancelled from the dashboard: web.cancel.enable is false.")
    return await cancel(call)


def savepoint(call: Call) -> Triggered:
    asked: SavepointTrigger = call.body
    order = SavepointOrder(asked.target_directory, cancel=bool(asked.cancel_job))
    return _savepoint(call, order, asked.trigger_id)


def stop(call: Call) -> Triggered:
    asked: StopWithSavepoint = call.body
    order = SavepointOrder(asked.target_directory, stop=True, drain=bool(asked.drain))
    return _savepoint(call, order, asked.trigger_id)


def _savepoint(call: Call, order: SavepointOrder, trigger_id: str | None) -> Triggered:
    """An unknown job is a failure of the operation, as in Flink."""
    job_id = call.id("jobid")

    async def take() -> OperationValue:
        return OperationValue(location=await call.cluster.savepoint(job_id, order))

    return Triggered(request_id=call.context.operations.start(SAVEPOINT, job_id, trigger_id, take))


def savepoint_result(call: Call) -> OperationResult:
    return call.context.operations.result(SAVEPOINT, call.id("jobid"), call.id("triggerid"))


def checkpoint(call: Call) -> Triggered:
    job_id = call.id("jobid")
    asked: CheckpointTrigger = call.body

    async def take() -> OperationValue:
        return OperationValue(checkpoint_id=await call.cluster.checkpoint(job_id))

    return Triggered(request_id=call.context.operations.start(CHECKPOINT, job_id, asked.trigger_id, take))


def checkpoint_result(call: Call) -> OperationResult:
    return call.context.operations.result(CHECKPOINT, call.id("jobid"), call.id("triggerid"))


def dispose(call: Call) -> Triggered:
    path = call.body.savepoint_path

    async def remove() -> OperationValue:
        await call.cluster.dispose_savepoint(path)
        return OperationValue()

    return Triggered(request_id=call.context.operations.start(DISPOSAL, "", None, remove))


def dispose_result(call: Call) -> OperationResult:
    return call.context.operations.result(DISPOSAL, "", call.id("triggerid"))


def heartbeat(call: Call) -> Empty:
    """Some jobs are cancelled when their client is silent."""
    call.cluster.client_lives(call.job.job_id, call.body.expired_timestamp)
    return Empty()


_JOB: Final = "/jobs/{jobid}"
ROUTES: Final = (
    Route(
        "PATCH",
        _JOB,
        terminate,
        Empty,
        "Cancel a job.",
        status=202,
        query=Termination,
        refusals=((308, "The mode stop is gone, as in Flink."),),
    ),
    Route("GET", f"{_JOB}/yarn-cancel", yarn_cancel, Empty, "Cancel a job.", status=202, changes=True),
    Route(
        "POST",
        f"{_JOB}/savepoints",
        savepoint,
        Triggered,
        "Take a savepoint, and cancel the job then if asked to.",
        status=202,
        body=SavepointTrigger,
    ),
    Route(
        "POST",
        f"{_JOB}/stop",
        stop,
        Triggered,
        "End a job with a savepoint.",
        status=202,
        body=StopWithSavepoint,
    ),
    Route(
        "GET",
        f"{_JOB}/savepoints/{{triggerid}}",
        savepoint_result,
        OperationResult,
        "What came of a savepoint.",
    ),
    Route(
        "POST",
        f"{_JOB}/checkpoints",
        checkpoint,
        Triggered,
        "Take a checkpoint.",
        status=202,
        body=CheckpointTrigger,
    ),
    Route(
        "GET",
        f"{_JOB}/checkpoints/{{triggerid}}",
        checkpoint_result,
        OperationResult,
        "What came of a checkpoint.",
    ),
    Route(
        "POST",
        "/savepoint-disposal",
        dispose,
        Triggered,
        "Remove a savepoint.",
        body=SavepointDisposal,
    ),
    Route(
        "GET",
        "/savepoint-disposal/{triggerid}",
        dispose_result,
        OperationResult,
        "What came of a removal.",
    ),
    Route(
        "PATCH",
        f"{_JOB}/clientHeartbeat",
        heartbeat,
        Empty,
        "The client of a job says that it lives.",
        status=202,
        body=ClientHeartbeat,
    ),
)
