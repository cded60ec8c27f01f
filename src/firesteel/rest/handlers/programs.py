"""Programs that are handed in, and started from here: what Flink's dashboard submits."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from firesteel.common.options import pipeline, recovery
from firesteel.rest.answers.plan import plan_of
from firesteel.rest.cluster import ProgramRun, Programs
from firesteel.rest.credentials import Role
from firesteel.rest.errors import NO_FILE, RestError, bad_request, not_one_file, takes_no_programs
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.jobs import JobPlan
from firesteel.rest.messages.programs import (
    ApplicationAnswer,
    PlanQuery,
    PlanRequest,
    ProgramEntry,
    ProgramFile,
    ProgramList,
    ProgramUploaded,
    RunAnswer,
    RunQuery,
    RunRequest,
)
from firesteel.rest.multipart import files_of
from firesteel.rest.routes import Call, Route

_DRIVER: Final = "org.apache.flink.client.python.PythonDriver"
_OF_A_MODULE: Final = ("-pym", "--pyModule")
_OF_A_FILE: Final = ("-py", "--python")


def programs_of(call: Call) -> Programs:
    found = call.context.programs
    if found is None:
        raise takes_no_programs()
    if not call.context.settings.submit:
        raise RestError(403, "Programs cannot be handed in here: web.submit.enable is false.")
    return found


def program_list(call: Call) -> ProgramList:
    files = [
        ProgramFile(
            id=program.id,
            name=program.name,
            uploaded=program.uploaded_ms,
            entry=[ProgramEntry(name=entry, description=None) for entry in program.entries],
        )
        for program in programs_of(call).all()
    ]
    return ProgramList(address=call.base_url, files=files)


async def upload(call: Call) -> ProgramUploaded:
    """The body is a form with one file, as of a browser."""
    programs = programs_of(call)
    found = None
    async for name, parts in files_of(call.headers.get("content-type", ""), call.parts):
        if found is not None:
            raise not_one_file("more")
        found = await programs.upload(name, parts)
    if found is None:
        raise not_one_file(NO_FILE)
    return ProgramUploaded(filename=f"programs/{found}", status="success")


def delete(call: Call) -> Empty:
    programs_of(call).delete(call.parameters["jarid"])
    return Empty()


async def plan_by_query(call: Call) -> JobPlan:
    query: PlanQuery = call.query
    asked = RunRequest(
        entry_class=query.entry_class, program_args=query.program_args, parallelism=query.parallelism
    )
    return await _plan(call, asked)


async def plan(call: Call) -> JobPlan:
    asked: PlanRequest = call.body
    return await _plan(call, asked)


async def _plan(call: Call, asked: PlanRequest) -> JobPlan:
    programs = programs_of(call)
    return JobPlan(plan=plan_of(await programs.plan(call.parameters["jarid"], program_run(asked))))


async def run(call: Call) -> RunAnswer:
    job_id = await _run(call)
    return RunAnswer(jobid=job_id, application_id=job_id)


async def run_application(call: Call) -> ApplicationAnswer:
    return ApplicationAnswer(applicationid=await _run(call))


async def _run(call: Call) -> str:
    programs = programs_of(call)
    asked: RunRequest = call.body
    wanted = program_run(asked, call.query.entry_class, call.query.parallelism)
    return await programs.run(call.parameters["jarid"], wanted)


def program_run(asked: PlanRequest, entry: str | None = None, parallelism: int | None = None) -> ProgramRun:
    """What a request wants. Raises RestError."""
    arguments = asked.program_args_list or _words(asked.program_args or "")
    entry = asked.entry_class or entry or None
    if entry == _DRIVER:  # as people start programs of PyFlink by Flink's API
        entry, arguments = _of_driver(arguments)
    settings = dict(asked.flink_configuration or {})
    settings.update(_settings(asked, parallelism))
    return ProgramRun(entry, tuple(arguments), settings, asked.job_id)


def _settings(asked: PlanRequest, parallelism: int | None) -> Iterator[tuple[str, str]]:
    if (wanted := asked.parallelism or parallelism) is not None:
        yield pipeline.PARALLELISM.key, str(wanted)
    if isinstance(asked, RunRequest):
        for option, value in (
            (recovery.PATH, asked.savepoint_path),
            (recovery.IGNORE_UNCLAIMED, asked.allow_non_restored_state),
            (recovery.CLAIM_MODE, asked.claim_mode),
        ):
            if value:
                yield option.key, str(value).lower() if value is True else str(value)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as e:
        raise bad_request(f"programArgs cannot be read: {e}. programArgsList takes them one by one.") from e


def _of_driver(arguments: list[str]) -> tuple[str, list[str]]:
    """The program that arguments of Flink's PythonDriver name, and what is left for it."""
    for position, word in enumerate(arguments[:-1]):
        if word in (*_OF_A_FILE, *_OF_A_MODULE):
            rest = arguments[:position] + arguments[position + 2 :]
            return arguments[position + 1].rpartition("/")[2], rest
    raise bad_request(f"{_DRIVER} needs -py FILE or -pym MODULE among its arguments.")


_JAR: Final = "/jars/{jarid}"
_SUBMIT: Final[dict[str, Any]] = {"role": Role.SUBMIT}
ROUTES: Final = (
    Route("GET", "/jars", program_list, ProgramList, "The programs that were handed in."),
    Route(
        "POST",
        "/jars/upload",
        upload,
        ProgramUploaded,
        "Hand a program in: a file .py, .zip, .whl or .tar.gz.",
        upload="multipart/form-data",
        **_SUBMIT,
    ),
    Route("DELETE", _JAR, delete, Empty, "Remove a program.", **_SUBMIT),
    Route(
        "GET",
        f"{_JAR}/plan",
        plan_by_query,
        JobPlan,
        "The plan of the first job of a program.",
        query=PlanQuery,
        changes=True,  # it runs the program's code
        **_SUBMIT,
    ),
    Route(
        "POST",
        f"{_JAR}/plan",
        plan,
        JobPlan,
        "The plan of the first job of a program.",
        body=PlanRequest,
        **_SUBMIT,
    ),
    Route(
        "POST",
        f"{_JAR}/run",
        run,
        RunAnswer,
        "Run a program; answers when its first job is submitted.",
        query=RunQuery,
        body=RunRequest,
        **_SUBMIT,
    ),
    Route(
        "POST",
        f"{_JAR}/run-application",
        run_application,
        ApplicationAnswer,
        "The same, as Flink's applications.",
        status=202,
        query=RunQuery,
        body=RunRequest,
        **_SUBMIT,
    ),
)
