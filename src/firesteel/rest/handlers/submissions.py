"""Jobs that a client hands in, and what it asks for of them later. Not of Flink's API."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from firesteel.rest.cluster import Submissions
from firesteel.rest.credentials import Role
from firesteel.rest.errors import bad_request, takes_no_programs
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.submission import Collected, JobEnd, Missing, Submission, Submitted, Wanted
from firesteel.rest.routes import Call, Route

_LONGEST_WAIT_S: Final = 20.0


def submissions_of(call: Call) -> Submissions:
    found = call.context.submissions
    if found is None:
        raise takes_no_programs()
    return found


class Waiting(Struct, frozen=True):
    """``wait``: for how many seconds the answer may wait for news."""

    wait: float = 0.0

    @property
    def seconds(self) -> float:
        return min(max(0.0, self.wait), _LONGEST_WAIT_S)


class From(Waiting, frozen=True):
    """``first``: the number of the first batch, of the process ``generation``; those before are not needed
    any more."""

    generation: int = 0
    first: int = 0


def missing(call: Call) -> Missing:
    asked: Wanted = call.body
    return Missing(digests=submissions_of(call).missing(asked.digests))


async def blob(call: Call) -> Empty:
    await submissions_of(call).receive(call.parameters["digest"], call.parts)
    return Empty()


async def submit(call: Call) -> Submitted:
    submission: Submission = call.body
    await submissions_of(call).submit(submission)
    return Submitted(jobid=submission.job_id)


async def end(call: Call) -> JobEnd:
    submissions = submissions_of(call)
    view = call.job
    if view.ended_ms is None and call.query.seconds:
        await _news(call, view.version)
    return submissions.end_of(view.job_id)


async def _news(call: Call, version: int) -> None:
    """Wait for the end of a job, at most as long as its client wants."""
    left_s = call.query.seconds
    while left_s > 0:
        newer = await call.cluster.newer(call.job.job_id, version, min(1.0, left_s))
        if newer is not None and newer.ended_ms is not None:
            return
        version = version if newer is None else newer.version
        left_s -= 1.0


async def collected(call: Call) -> Collected:
    if call.query.first < 0:
        raise bad_request("Batches are counted from 0.")
    job = call.job
    sink = call.id("sinkid")
    query: From = call.query
    return await submissions_of(call).collected(
        job.job_id, sink, query.generation, query.first, query.seconds
    )


_SUBMIT: Final[dict[str, Any]] = {"role": Role.SUBMIT}
_CONFLICT: Final = ((409, "The job is there already, or files of it are not."),)
ROUTES: Final = (
    Route("POST", "/blobs", missing, Missing, "Which files have to be handed in.", body=Wanted, **_SUBMIT),
    Route(
        "PUT",
        "/blobs/{digest}",
        blob,
        Empty,
        "Hand a file in, by its SHA-256.",
        upload="application/octet-stream",
        **_SUBMIT,
    ),
    Route(
        "POST",
        "/jobs",
        submit,
        Submitted,
        "Submit a job; answers when it cannot be lost any more.",
        status=202,
        body=Submission,
        refusals=_CONFLICT,
        **_SUBMIT,
    ),
    Route("GET", "/jobs/{jobid}/end", end, JobEnd, "How a job has ended.", query=Waiting),
    Route(
        "GET",
        "/jobs/{jobid}/collected/{sinkid}",
        collected,
        Collected,
        "What execute_and_collect() gives.",
        query=From,
        changes=True,  # what has been fetched is dropped
    ),
)
