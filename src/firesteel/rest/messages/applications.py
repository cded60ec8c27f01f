"""Applications: Flink 2.3 has one for each job that was submitted by itself, with the id of the job."""

from __future__ import annotations

from firesteel.rest.messages.base import Id, Message
from firesteel.rest.messages.jobs import JobDetails

_APPLICATION = {"start_time": "start-time", "end_time": "end-time"}


class ApplicationOverview(Message, frozen=True, rename=_APPLICATION):
    """``jobs``: how many there are in each status."""

    id: Id
    name: str
    start_time: int
    end_time: int
    duration: int
    status: str
    jobs: dict[str, int]


class ApplicationsOverview(Message, frozen=True):
    applications: list[ApplicationOverview]


class ApplicationDetails(Message, frozen=True, rename=_APPLICATION):
    id: Id
    name: str
    status: str
    start_time: int
    end_time: int
    duration: int
    timestamps: dict[str, int]
    jobs: list[JobDetails]
