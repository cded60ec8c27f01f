"""What a dispatcher and the process of a program that was handed in say to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from firesteel.cluster.messages import Message
from firesteel.jobmanager.job_view import JobInfo
from firesteel.jobmanager.reported import Failure
from firesteel.rest.messages.submission import Submission


class RunProgram(Message, frozen=True):
    """:param directory: of the cluster, whose blobs the process writes. :param place: where it works."""

    path: str
    name: str
    directory: str
    place: str
    entry: str | None
    arguments: list[str]
    settings: dict[str, str]
    job_id: str | None
    only_plan: bool


class Taken(Message, frozen=True):
    """What came of a submission."""

    refusal: Failure | None = None


class Planned(Message, frozen=True):
    info: JobInfo


class Submit(Message, frozen=True):
    submission: Submission


class Failed(Message, frozen=True):
    failure: Failure


Reply = Planned | Submit | Failed
Instruction = RunProgram | Taken
decode_reply: Final[Callable[[bytes], Reply]] = msgspec.msgpack.Decoder(Reply).decode
decode_instruction: Final[Callable[[bytes], Instruction]] = msgspec.msgpack.Decoder(Instruction).decode
