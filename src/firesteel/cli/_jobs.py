"""Commands for the jobs of a cluster, with the words and options of Flink's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import click

from firesteel.cli._talking import (
    ENDED,
    EXECUTOR,
    JOB,
    JOBMANAGER,
    JSON,
    as_executor_id,
    as_job_id,
    client_of,
    jobs_of_the_cluster,
    span,
    table,
    talking,
)

_SCHEDULED: Final = ("INITIALIZING", "CREATED")
_STREAMS: Final = ("stderr", "stdout")  # of an executor: what it logs, and what it prints
_FORMAT = click.option(
    "-type",
    "--type",
    "kind",
    type=click.Choice(["canonical", "native", "default"], case_sensitive=False),
    help="The format of the savepoint. There is one, which any version reads; this makes no difference.",
)
_DETACHED = click.option(
    "-detached", "--detached", "detached", is_flag=True, help="Do not wait for it; print its trigger id."
)


@click.command("list")
@click.option("-r", "--running", "which", flag_value="running", help="Jobs that run, or are restarted.")
@click.option("-s", "--scheduled", "which", flag_value="scheduled", help="Jobs that do not run yet.")
@click.option("-a", "--all", "which", flag_value="all", help="Ended jobs, too.")
@JSON
@JOBMANAGER
@talking
def list_jobs(which: str | None, as_json: bool, jobmanager: str | None) -> None:
    """List the jobs of a cluster: without options those that have not ended."""
    found = client_of(jobmanager).get("/v1/jobs/overview")["jobs"]
    shown = [job for job in found if _is_wanted(job["state"], which)]
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    elif not shown:
        click.echo(
            "There are no jobs." if which == "all" else "There are no such jobs; -a lists ended ones, too."
        )
    else:
        rows = [
            (job["jid"], job["state"], _time(job["start-time"]), span(job["duration"]), job["name"])
            for job in shown
        ]
        click.echo(table(rows, ("JOB", "STATUS", "STARTED", "DURATION", "NAME")))


def _is_wanted(state: str, which: str | None) -> bool:
    if which == "all":
        return True
    if which == "scheduled":
        return state in _SCHEDULED
    return state not in ENDED and (which is None or state not in _SCHEDULED)


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).strftime("%Y-%m-%d %H:%M:%S")


@click.command()
@click.option(
    "-s",
    "--withSavepoint",
    "savepoint",
    is_flag=False,
    flag_value="",
    metavar="[DIRECTORY]",
    help="Take a savepoint first. `stop` is better: nothing is processed after its savepoint.",
)
@click.argument("job", metavar="[JOB]", required=False)
@JOBMANAGER
@talking
def cancel(savepoint: str | None, job: str | None, jobmanager: str | None) -> None:
    """Cancel JOB."""
    if job is None and savepoint:  # -s JOB: the directory is left out
        job, savepoint = savepoint, ""
    if job is None:
        raise click.UsageError("Which job? `firesteel list` shows them.")
    job, client = as_job_id(job), client_of(jobmanager)
    if savepoint is None:
        client.send("PATCH", f"/v1/jobs/{job}?mode=cancel")
        click.echo(f"Cancelled job {job}.")
        return
    from firesteel.cluster.remote_job import savepoint_location

    body = {"target-directory": savepoint or None, "cancel-job": True}
    path = savepoint_location(client, job, "savepoints", body)
    click.echo(f"Cancelled job {job}. Savepoint stored in {path}.")


@click.command()
@click.option(
    "-p", "--savepointPath", "directory", help="Where the savepoint goes; without it: as configured."
)
@click.option("-d", "--drain", is_flag=True, help="Send the last watermark first, so that all timers fire.")
@_FORMAT
@_DETACHED
@JOB
@JOBMANAGER
@talking
def stop(
    directory: str | None, drain: bool, kind: str | None, detached: bool, job: str, jobmanager: str | None
) -> None:
    """Stop JOB with a savepoint."""
    body = {"targetDirectory": directory, "drain": drain}
    click.echo(f'Suspending job "{as_job_id(job)}" with a savepoint.', err=True)
    _savepoint(job, "stop", body, detached, jobmanager)


def _savepoint(job: str, how: str, body: dict[str, Any], detached: bool, jobmanager: str | None) -> None:
    from firesteel.cluster.remote_job import savepoint_location

    client, job = client_of(jobmanager), as_job_id(job)
    if detached:
        number = client.post(f"/v1/jobs/{job}/{how}", body)["request-id"]
        click.echo(f"Successfully triggered, with the trigger id {number}.")
        return
    click.echo(f"Savepoint completed. Path: {savepoint_location(client, job, how, body)}")


@click.command(hidden=True)
@click.option("-d", "--dispose", "disposed", metavar="PATH", help="Remove the savepoint at PATH.")
@_FORMAT
@_DETACHED
@click.argument("job", metavar="[JOB]", required=False)
@click.argument("directory", metavar="[DIRECTORY]", required=False)
@JOBMANAGER
@talking
def savepoint_of_job(
    disposed: str | None,
    kind: str | None,
    detached: bool,
    job: str | None,
    directory: str | None,
    jobmanager: str | None,
) -> None:
    """Take a savepoint of JOB, in DIRECTORY; without it: as configured."""
    if disposed is not None:
        from firesteel.cluster.remote_job import operation_value

        client = client_of(jobmanager)
        number = client.post("/v1/savepoint-disposal", {"savepoint-path": disposed})["request-id"]
        operation_value(client, f"/v1/savepoint-disposal/{number}")
        click.echo(f"Savepoint '{disposed}' disposed.")
        return
    if job is None:
        raise click.UsageError("Which job? `firesteel list` shows them.")
    body = {"target-directory": directory, "cancel-job": False}
    _savepoint(job, "savepoints", body, detached, jobmanager)


class SavepointGroup(click.Group):
    """``savepoint inspect`` and ``savepoint dispose`` work on directories; anything else is Flink's command:
    ``savepoint JOB [DIRECTORY]``, ``savepoint -d PATH``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["trigger", *args]
        return super().parse_args(ctx, args)


@click.command()
@click.option("-full", "--full", is_flag=True, help="Flink: refer to no files of earlier ones.")
@JOB
@JOBMANAGER
@talking
def checkpoint(full: bool, job: str, jobmanager: str | None) -> None:
    """Take a checkpoint of JOB before the next one is due."""
    from firesteel.cluster.remote_job import operation_value

    job, client = as_job_id(job), client_of(jobmanager)
    number = client.post(f"/v1/jobs/{job}/checkpoints", {})["request-id"]
    value = operation_value(client, f"/v1/jobs/{job}/checkpoints/{number}")
    click.echo(f"Checkpoint {value['checkpointId']} for job {job} completed.")


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on as the log goes on, until the job has ended.")
@click.option(
    "--out", "printed", is_flag=True, help="What the job, or the executor, prints, instead of what it logs."
)
@click.option("-n", "--tail", type=click.IntRange(min=0), help="Only so many of the last bytes.")
@EXECUTOR
@click.argument("job", metavar="[JOB]", required=False, shell_complete=jobs_of_the_cluster)
@JOBMANAGER
@talking
def logs(
    follow: bool,
    printed: bool,
    tail: int | None,
    executor: str | None,
    job: str | None,
    jobmanager: str | None,
) -> None:
    """Show the log of JOB, or of an executor; without either that of the dispatcher."""
    if job is not None and executor is not None:
        raise click.UsageError("A job and an executor have logs of their own: name one of them.")
    client = client_of(jobmanager)
    if executor is not None:
        place, name = f"/v1/taskmanagers/{as_executor_id(client, executor)}", _STREAMS[printed]
    else:
        place = "/v1/jobmanager"
        name = "firesteel.log" if job is None else f"job-{as_job_id(job)}.{'out' if printed else 'log'}"
    path = f"{place}/logs/{name}"
    if not follow:
        click.echo(client.content(path, **({} if tail is None else {"tail": tail})), nl=False)
        return
    sizes = {} if tail is None else {log["name"]: log["size"] for log in client.get(f"{place}/logs")["logs"]}
    begin = max(0, sizes.get(name, 0) - (tail or 0))
    _follow(lambda offset: client.content(path, offset=offset), begin, lambda: _has_ended(client, job))


def _follow(read: Callable[[int], bytes], offset: int, has_ended: Callable[[], bool]) -> None:
    last = False
    while True:
        ends = has_ended()  # before reading: what came until then is shown
        content = read(offset)
        if content:
            click.echo(content, nl=False)
            offset += len(content)
        elif last:
            return
        last = ends
        time.sleep(0.5)


def _has_ended(client: Any, job: str | None) -> bool:
    return job is not None and client.get(f"/v1/jobs/{job}/status")["status"] in ENDED


@click.command()
@JOB
@JSON
@JOBMANAGER
@talking
def events(job: str, as_json: bool, jobmanager: str | None) -> None:
    """Show what happens to JOB, until it has ended."""
    for name, fields in client_of(jobmanager).events(f"/firesteel/v1/jobs/{as_job_id(job)}/events"):
        if as_json:
            click.echo(json.dumps({"event": name, **fields}))
            continue
        when = fields.pop("time_ms", None)
        said = ", ".join(f"{key}={value}" for key, value in fields.items() if value is not None)
        click.echo(f"{'' if when is None else _time(when)}  {name:20} {said}".strip())


COMMANDS: Final = (list_jobs, cancel, stop, checkpoint, logs, events)
