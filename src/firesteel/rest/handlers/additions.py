"""What Flink's API does not have: epochs of a job, and its events as they happen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError
from firesteel.jobmanager.job_view import JobView
from firesteel.rest.answers.machines import slots as held_slots
from firesteel.rest.cached import encode
from firesteel.rest.errors import bad_request
from firesteel.rest.messages.additions import (
    Epoch,
    Epochs,
    JobStates,
    KeyState,
    Lag,
    Slots,
    StateBackend,
)
from firesteel.rest.routes import Call, Encoded, EventStream, Route
from firesteel.state.backends import backend_of, state_limits

_SILENCE_S: Final = 15.0  # after which a comment keeps the connection open


class Since(Struct, frozen=True):
    """``since``: only epochs after this one; ``last``: at most so many of the newest, at least one."""

    since: int = 0
    last: int = 1000


async def epochs(call: Call) -> Epochs:
    view, ui = call.job, (await call.cluster.machines()).ui
    found = [report for report in view.reports if report.epoch > call.query.since]
    return Epochs(
        jid=view.job_id,
        epoch=view.epoch,
        records_read=view.records_read,
        epochs=[
            Epoch(
                epoch=report.epoch,
                started_ms=report.started_ms,
                elapsed_ms=report.elapsed_ms,
                records=report.records,
                attempts=report.attempts,
                overhead_ms=report.overhead_ms,
                stages=list(report.stages),
                links=[] if ui is None else [f"{ui}/stages/stage/?id={n}&attempt=0" for n in report.stages],
            )
            for report in found[-max(1, call.query.last) :]
        ],
        lag=[Lag(source=source, splits=dict(splits)) for source, splits in view.lag],
    )


def state_backend(call: Call) -> StateBackend:
    configuration = Configuration.from_dict(dict(call.job.info.settings))
    backend = backend_of(configuration)
    limits = state_limits(configuration, batch=call.job.info.batch)
    memory = limits.cache_bytes if limits.managed is None else limits.managed.size
    return StateBackend(backend.name, backend.flink_class, list(backend.stores), memory)


class OfKey(Struct, frozen=True):
    """``operator``: its uid or id; ``key``: JSON, a list for a tuple, or plain text."""

    operator: str
    state: str
    key: str


@contextmanager
def _told() -> Iterator[None]:
    """What a job cannot answer, as the request is, is said to the client."""
    try:
        yield
    except FiresteelError as e:
        raise bad_request(str(e)) from e


async def states(call: Call) -> JobStates:
    with _told():
        return await call.cluster.states(call.job.job_id)


async def key_state(call: Call) -> KeyState:
    asked: OfKey = call.query
    with _told():
        return await call.cluster.key_state(call.job.job_id, asked.operator, asked.state, asked.key)


async def slots(call: Call) -> Slots:
    machines = await call.cluster.machines()
    return held_slots(call.parameters["taskmanagerid"], machines, call.cluster.jobs())


def events(call: Call) -> EventStream:
    """The events of a job, those that it has had first, until it has ended.

    A client that lost its connection goes on where it was by the header ``Last-Event-ID``.
    """
    last = call.headers.get("last-event-id", "")
    if last and not (last.isdecimal() and len(last) < 16):
        raise bad_request("Last-Event-ID is not the number of an event.")
    return EventStream(_events(call, call.job, int(last or 0)))


async def _events(call: Call, view: JobView, after: int) -> AsyncIterator[bytes]:
    while True:
        journal = view.journal
        for number, event in enumerate(journal.events, start=journal.dropped + 1):
            if number > after:
                after = number
                yield _sent(type(event).__name__, asdict(event), number)
        if view.ended_ms is not None:
            yield _sent("End", {"status": view.status})
            return
        newer = await call.cluster.newer(view.job_id, view.version, _SILENCE_S)
        if newer is None:
            yield b": \n\n"
        else:
            view = newer


def _sent(kind: str, fields: Mapping[str, Any], number: int | None = None) -> bytes:
    name = b"" if number is None else f"id: {number}\n".encode()
    shown = {key: value.name if isinstance(value, Enum) else value for key, value in fields.items()}
    return name + f"event: {kind}\ndata: ".encode() + encode(shown) + b"\n\n"


def openapi(call: Call) -> Encoded:
    return Encoded(call.context.openapi())


ROUTES: Final = (
    Route("GET", "/openapi.json", openapi, dict[str, Any], "This description."),
    Route("GET", "/jobs/{jobid}/epochs", epochs, Epochs, "The newest epochs of a job.", query=Since),
    Route(
        "GET", "/jobs/{jobid}/state-backend", state_backend, StateBackend, "What keeps the state of a job."
    ),
    Route("GET", "/jobs/{jobid}/states", states, JobStates, "The states of a job that runs."),
    Route(
        "GET",
        "/jobs/{jobid}/states/value",
        key_state,
        KeyState,
        "What a keyed state of a job that runs holds for a key.",
        query=OfKey,
    ),
    Route("GET", "/taskmanagers/{taskmanagerid}/slots", slots, Slots, "What each slot that is taken holds."),
    Route("GET", "/jobs/{jobid}/events", events, None, "The events of a job as they happen."),
)
