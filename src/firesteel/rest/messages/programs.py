"""Programs that are handed in. Flink calls them jars, whatever they are."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from firesteel.rest.messages.base import Id, Message, Text


class ProgramEntry(Message, frozen=True):
    """What of a program can be run."""

    name: str
    description: str | None


class ProgramFile(Message, frozen=True):
    id: str
    name: str
    uploaded: int
    entry: list[ProgramEntry]


class ProgramList(Message, frozen=True):
    """``address``: of this server."""

    address: str
    files: list[ProgramFile]


class ProgramUploaded(Message, frozen=True):
    """The id of the program is what ``filename`` ends in."""

    filename: str
    status: Literal["success"]


_Parallelism = Annotated[int, msgspec.Meta(ge=1, le=32_768)]


class PlanRequest(Message, frozen=True, rename="camel"):
    """``programArgs``: the arguments as a shell would read them; ``programArgsList``: one by one."""

    entry_class: Text | None = None
    program_args: Text | None = None
    program_args_list: list[Text] | None = None
    parallelism: _Parallelism | None = None
    job_id: Id | None = None
    flink_configuration: dict[str, str] | None = None


class RunRequest(PlanRequest, frozen=True, rename="camel"):
    """``savepointPath``, ``allowNonRestoredState``, ``claimMode``: what its jobs begin with."""

    savepoint_path: Text | None = None
    allow_non_restored_state: bool | None = None
    claim_mode: Literal["CLAIM", "NO_CLAIM", "LEGACY"] | None = None


class PlanQuery(
    msgspec.Struct, frozen=True, rename={"entry_class": "entry-class", "program_args": "program-args"}
):
    """The way of Flink's dashboard."""

    entry_class: str | None = None
    program_args: str | None = None
    parallelism: _Parallelism | None = None


class RunQuery(msgspec.Struct, frozen=True, rename={"entry_class": "entry-class"}):
    """What the body says counts."""

    entry_class: str | None = None
    parallelism: _Parallelism | None = None


class RunAnswer(Message, frozen=True, rename={"application_id": "applicationId"}):
    jobid: Id
    application_id: Id


class ApplicationAnswer(Message, frozen=True):
    applicationid: Id
