"""A job as its dispatcher knows it. Belongs to the event loop."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import replace

from firesteel.cluster.process import JobProcess
from firesteel.cluster.store import EndedJob, JobRecord
from firesteel.cluster.views import new_view
from firesteel.jobmanager.job_view import JobView
from firesteel.rest.messages.submission import Submission

_decode = msgspec.msgpack.Decoder(JobView).decode


class Job:
    """:ivar process: the one that runs it; None: there is none.
    :ivar waits_since_ms: since when it waits for slots; None: it does not.
    :ivar starts: it has, or gets, a process.
    :ivar client_until_ms: it is cancelled when its client is silent beyond that; None: it needs none.
    """

    def __init__(self, record: JobRecord, *, persisted: bool = True) -> None:
        self.record = record
        self.persisted = asyncio.Event()
        if persisted:
            self.persisted.set()
        self.process: JobProcess | None = None
        self.ended: EndedJob | None = None
        self.is_cancelled = False
        self.starts = False
        self.waits_since_ms: int | None = None
        self.generation = 0
        self.has_reported = False  # of this generation
        self._view = new_view(record)
        self._news: bytes | None = None  # a newer view that nobody has asked for yet
        self._base = 0  # versions rise over the generations
        timeout_ms = record.submission.client_timeout_ms
        self.client_until_ms = None if timeout_ms is None else self._view.published_ms + timeout_ms

    @classmethod
    def that_has_ended(cls, ended: EndedJob) -> Job:
        view = ended.view
        submission = Submission(job_id=view.job_id, name=view.name, program="")
        job = cls(JobRecord(submission, ended.number, view.started_ms))
        job.end(ended)
        return job

    @property
    def id(self) -> str:
        return self.record.job_id

    @property
    def has_ended(self) -> bool:
        return self.ended is not None

    @property
    def waits(self) -> bool:
        return not self.starts

    @property
    def ended_ms(self) -> int:
        return self.view.ended_ms or self.view.published_ms

    @property
    def view(self) -> JobView:
        if self._news is not None:
            found, self._news = _decode(self._news), None
            self._view = replace(found, version=self._base + found.version)
        return self._view

    def is_of(self, submission: Submission) -> bool:
        return self.record.submission == submission

    def report(self, view: bytes) -> None:
        """Its process sends a newer view."""
        self.has_reported = True
        self._news = view

    def show(self, view: JobView) -> None:
        self._view, self._news = view, None

    def new_generation(self, now_ms: int) -> None:
        """Another process begins with it; a later one has a greater number, also after a new dispatcher."""
        self.generation = max(self.generation + 1, now_ms)
        self._base = self.view.version + 1
        self.has_reported = False

    def end(self, ended: EndedJob) -> None:
        version = max(self.view.version, ended.view.version) + 1
        self.ended = replace(ended, view=replace(ended.view, version=version))
        self.show(self.ended.view)
