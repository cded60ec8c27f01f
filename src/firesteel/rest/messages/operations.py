"""Commands: what is asked, the id under which it is asked after, and what came of it."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Id, Message, Text
from firesteel.rest.messages.jobs import FailureCause, QueueStatus

_SAVEPOINT = {
    "target_directory": "target-directory",
    "cancel_job": "cancel-job",
    "format_type": "formatType",
    "trigger_id": "triggerId",
}


class SavepointTrigger(Message, frozen=True, rename=_SAVEPOINT):
    target_directory: Text | None = None
    cancel_job: bool | None = None
    format_type: Literal["CANONICAL", "NATIVE"] | None = None
    trigger_id: Id | None = None


class StopWithSavepoint(Message, frozen=True, rename="camel"):
    target_directory: Text | None = None
    drain: bool | None = None
    format_type: Literal["CANONICAL", "NATIVE"] | None = None
    trigger_id: Id | None = None


class CheckpointTrigger(Message, frozen=True, rename="camel"):
    """``checkpoint_type`` makes no difference: each checkpoint refers to the files of earlier ones."""

    checkpoint_type: Literal["CONFIGURED", "FULL", "INCREMENTAL"] | None = None
    trigger_id: Id | None = None


class SavepointDisposal(Message, frozen=True, rename="kebab"):
    savepoint_path: Text


class ClientHeartbeat(Message, frozen=True, rename="camel"):
    expired_timestamp: int


class Triggered(Message, frozen=True, rename={"request_id": "request-id"}):
    request_id: Id


_VALUE = {"checkpoint_id": "checkpointId", "failure_cause": "failure-cause"}


class OperationValue(Message, frozen=True, rename=_VALUE):
    """What came of a command: where a savepoint is, the number of a checkpoint, or why it failed."""

    location: str | UnsetType = UNSET
    checkpoint_id: int | UnsetType = UNSET
    failure_cause: FailureCause | UnsetType = UNSET


class OperationResult(Message, frozen=True):
    """``operation`` is null while it is in progress."""

    status: QueueStatus
    operation: OperationValue | None
