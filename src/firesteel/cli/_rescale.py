"""``firesteel rescale``: another parallelism for a job that runs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

import click

from firesteel.cli._talking import (
    ENDED,
    FAILED,
    JOB,
    JOBMANAGER,
    JSON,
    CommandFailed,
    as_job_id,
    client_of,
    span,
    table,
    talking,
)

if TYPE_CHECKING:
    from firesteel.cluster.client import RestClient

_LOOK_S: Final = 0.2
_PATIENCE_S: Final = 300.0


@click.command()
@JOB
@click.argument("parallelism", type=click.IntRange(1), required=False)
@click.option(
    "--vertex",
    "vertices",
    multiple=True,
    metavar="ID=N",
    help="The parallelism of one vertex; its id may be cut short. May be repeated.",
)
@click.option("-d", "--detached", is_flag=True, help="Do not wait until the job has changed.")
@JSON
@JOBMANAGER
@talking
def rescale(
    job: str,
    parallelism: int | None,
    vertices: tuple[str, ...],
    detached: bool,
    as_json: bool,
    jobmanager: str | None,
) -> None:
    """Give JOB another PARALLELISM while it runs: no savepoint, no restart.

    PARALLELISM is for all vertices, each as far as its max parallelism allows; those that get less are
    named. Without it, and without --vertex, the parallelism of the vertices is shown.
    """
    job, client = as_job_id(job), client_of(jobmanager)
    page = client.get(f"/v1/jobs/{job}")
    if parallelism is None and not vertices:
        _show(client, page, as_json=as_json)
        return
    wanted = client.get(f"/v1/jobs/{job}/resource-requirements")
    for vertex in page["vertices"] if parallelism is not None else ():
        number = min(int(parallelism or 1), vertex["maxParallelism"])
        if number != parallelism:
            click.echo(f"{vertex['name']}: {number}, which is its max parallelism", err=True)
        wanted[vertex["id"]] = _bounds(number)
    for text in vertices:
        vertex_id, number = _one(text, [vertex["id"] for vertex in page["vertices"]])
        wanted[vertex_id] = _bounds(number)
    known = {entry["rescaleUuid"] for entry in client.get(f"/v1/jobs/{job}/rescales/history")}
    client.send("PUT", f"/v1/jobs/{job}/resource-requirements", wanted)
    if detached:
        if not as_json:
            click.echo(f"Job {job} has been told.")
        return
    found = _outcome(client, job, known)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif found["terminalState"] == "COMPLETED":
        lasted = found["endTimestampInMillis"] - found["startTimestampInMillis"]
        click.echo(f"Job {job} has another parallelism after {span(lasted)}: {_changes(found)}.")
    elif found["terminalState"] == "IGNORED":
        click.echo(f"Job {job} has that parallelism already.")
    if found["terminalState"] == "FAILED":
        why = [state["stringifiedException"] for state in found["schedulerStates"]]
        reason = next((text for text in why if text), found["terminatedReason"])
        raise CommandFailed(f"Job {job} keeps its parallelism: {reason}", FAILED)


def _bounds(number: int) -> dict[str, Any]:
    return {"parallelism": {"lowerBound": number, "upperBound": number}}


def _one(text: str, known: list[str]) -> tuple[str, int]:
    """A vertex and its parallelism. Raises click.BadParameter."""
    short, equals, number = text.partition("=")
    if not equals or not number.isdecimal() or int(number) < 1:
        raise click.BadParameter(f"{text} is not ID=N, with a number of at least 1")
    found = [vertex_id for vertex_id in known if vertex_id.startswith(short)]
    if len(found) != 1:
        what = "no vertex" if not found else f"{len(found)} vertices"
        raise click.BadParameter(f"the job has {what} whose id begins with {short!r}")
    return found[0], int(number)


def _outcome(client: RestClient, job: str, known: set[str]) -> Any:
    """The details of the change that was asked for."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        history = client.get(f"/v1/jobs/{job}/rescales/history")
        new = [entry["rescaleUuid"] for entry in history if entry["rescaleUuid"] not in known]
        if new:
            return client.get(f"/v1/jobs/{job}/rescales/details/{new[0]}")
        status = client.get(f"/v1/jobs/{job}/status")["status"]
        if status in ENDED:
            raise CommandFailed(f"Job {job} has ended meanwhile: {status}.", FAILED)
        time.sleep(_LOOK_S)
    raise CommandFailed(f"Job {job} has not changed within {_PATIENCE_S:g} s; it still may.", FAILED)


def _changes(found: Any) -> str:
    changes = [
        f"{v['jobVertexName']} {v['preRescaleParallelism']} -> {v['postRescaleParallelism']}"
        for v in found["vertices"].values()
        if v["preRescaleParallelism"] != v["postRescaleParallelism"]
    ]
    return ", ".join(changes)


def _show(client: RestClient, page: Any, *, as_json: bool) -> None:
    wanted = client.get(f"/v1/jobs/{page['jid']}/resource-requirements")
    if as_json:
        click.echo(json.dumps(wanted, indent=2))
        return
    rows = []
    for vertex in page["vertices"]:
        bounds = wanted[vertex["id"]]["parallelism"]
        rows.append(
            (
                vertex["id"],
                str(vertex["parallelism"]),
                f"{bounds['lowerBound']}-{bounds['upperBound']}",
                str(vertex["maxParallelism"]),
                vertex["name"],
            )
        )
    click.echo(table(rows, ("VERTEX", "PARALLELISM", "WANTED", "MAX", "NAME")))
