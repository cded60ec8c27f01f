"""Profiles of the server's Python process, and of the Python workers of an executor."""

from __future__ import annotations

import os
from typing import Final

from firesteel.rest.errors import unknown_worker
from firesteel.rest.messages.profiling import Profiling, ProfilingList, ProfilingRequest
from firesteel.rest.profiling import processes_here
from firesteel.rest.routes import Call, Route, TextFile

_DRIVER: Final = "JobManager"
_ELSEWHERE: Final = (
    "Which Python workers are those of executor {0} is not known: {1} executors run tasks. "
    "py-spy record --pid PID looks at one on its machine."
)


def driver_profiles(call: Call) -> ProfilingList:
    return ProfilingList(profiling_list=call.context.profiler.list(_DRIVER))


def profile_driver(call: Call) -> Profiling:
    asked: ProfilingRequest = call.body
    return call.context.profiler.start(_DRIVER, asked.mode, asked.duration, [os.getpid()])


def driver_profile(call: Call) -> TextFile:
    return _page(call, _DRIVER)


def _page(call: Call, resource: str) -> TextFile:
    name = call.parameters["filename"]
    page = call.context.profiler.page(resource, name)
    return TextFile(page, kind="text/html", saved_as=name)


async def _resource(call: Call) -> str:
    worker_id = call.parameters["taskmanagerid"]
    if (await call.cluster.machines()).worker(worker_id) is None:
        raise unknown_worker(worker_id)
    return f"TaskManager_{''.join(c if c.isalnum() else '_' for c in worker_id)}"


async def worker_profiles(call: Call) -> ProfilingList:
    return ProfilingList(profiling_list=call.context.profiler.list(await _resource(call)))


async def profile_worker(call: Call) -> Profiling:
    """Of Python workers only host and process are known, not their executor. So there must be one alone."""
    resource, asked = await _resource(call), call.body
    executors = len((await call.cluster.machines()).workers)
    why_not = None
    if executors > 1:
        why_not = _ELSEWHERE.format(call.parameters["taskmanagerid"], executors)
    views = [view for view in call.cluster.jobs() if view.ended_ms is None]
    processes = dict.fromkeys(processes_here(worker for view in views for worker in view.workers))
    if not processes and why_not is None:
        why_not = "Cannot start profiling: no Python worker of this machine runs tasks now."
    return call.context.profiler.start(resource, asked.mode, asked.duration, [*processes], why_not)


async def worker_profile(call: Call) -> TextFile:
    return _page(call, await _resource(call))


_BUSY: Final = ((409, "A profile is being taken."),)
_WORKER: Final = "/taskmanagers/{taskmanagerid}/profiler"
ROUTES: Final = (
    Route("GET", "/jobmanager/profiler", driver_profiles, ProfilingList, "Profiles of the server's Python."),
    Route(
        "POST",
        "/jobmanager/profiler",
        profile_driver,
        Profiling,
        "Take one, where rest.profiling.enabled allows it.",
        body=ProfilingRequest,
        refusals=_BUSY,
    ),
    Route("GET", "/jobmanager/profiler/{filename}", driver_profile, None, "One of them as a page."),
    Route("GET", _WORKER, worker_profiles, ProfilingList, "Profiles of the Python workers of an executor."),
    Route(
        "POST",
        _WORKER,
        profile_worker,
        Profiling,
        "Take one, where rest.profiling.enabled allows it.",
        body=ProfilingRequest,
        refusals=_BUSY,
    ),
    Route("GET", f"{_WORKER}/{{filename}}", worker_profile, None, "One of them as a page."),
)
