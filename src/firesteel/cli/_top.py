"""``firesteel top``: the jobs of a cluster, live."""

from __future__ import annotations

import json
import shutil
import sys
import time
from typing import Any, Final

import click

from firesteel.cli._talking import JOBMANAGER, JSON, client_of, span, table, talking

_CLEAR: Final = "\x1b[H\x1b[J"
_HEAD: Final = ("JOB", "STATUS", "DURATION", "TASKS", "EPOCH", "RECORDS", "PER SECOND", "CHECKPOINTS", "NAME")


@click.command()
@click.option("--every", type=click.FloatRange(min=0.2), default=2.0, help="Seconds between two looks.")
@click.option("--once", is_flag=True, help="Look once.")
@JSON
@JOBMANAGER
@talking
def top(every: float, once: bool, as_json: bool, jobmanager: str | None) -> None:
    """Watch the jobs of a cluster; Ctrl-C ends it."""
    client = client_of(jobmanager)
    before: dict[str, tuple[float, int]] = {}
    while True:
        seen = _look(client, before)
        if as_json:
            click.echo(json.dumps(seen))
        else:
            screen = _screen(seen)
            if once or not sys.stdout.isatty():
                click.echo(screen)
            else:
                sys.stdout.write(_CLEAR + _fitted(screen))
                sys.stdout.flush()
        if once:
            return
        time.sleep(every)


def _look(client: Any, before: dict[str, tuple[float, int]]) -> dict[str, Any]:
    """One look at the cluster. ``before``: when how many records of each job had been read."""
    overview = client.get("/v1/overview")
    jobs = []
    for job in client.get("/v1/jobs/overview")["jobs"]:
        if job["end-time"] >= 0:
            continue
        epochs = client.get(f"/firesteel/v1/jobs/{job['jid']}/epochs", last=1)
        counts = client.get(f"/v1/jobs/{job['jid']}/checkpoints")["counts"]
        now_s, records = time.monotonic(), epochs["records_read"]
        then_s, were = before.get(job["jid"], (now_s, records))
        before[job["jid"]] = now_s, records
        rate = (records - were) / (now_s - then_s) if now_s > then_s else 0.0
        jobs.append(
            {
                **{key: job[key] for key in ("jid", "name", "state", "duration")},
                "tasks": job["tasks"]["total"],
                "epoch": epochs["epoch"],
                "records": records,
                "records_per_second": max(0.0, rate),
                "checkpoints": counts["completed"],
                "failed_checkpoints": counts["failed"],
            }
        )
    return {"overview": overview, "jobs": jobs}


def _screen(seen: dict[str, Any]) -> str:
    overview = seen["overview"]
    first = (
        f"slots {overview['slots-available']} free of {overview['slots-total']}, "
        f"jobs {overview['jobs-running']} running, {overview['jobs-finished']} finished, "
        f"{overview['jobs-cancelled']} cancelled, {overview['jobs-failed']} failed"
    )
    rows = [
        (
            job["jid"][:8],
            job["state"],
            span(job["duration"]),
            str(job["tasks"]),
            f"{job['epoch']:,}",
            f"{job['records']:,}",
            f"{job['records_per_second']:,.0f}",
            f"{job['checkpoints']}"
            + (f" ({job['failed_checkpoints']} failed)" if job["failed_checkpoints"] else ""),
            job["name"],
        )
        for job in seen["jobs"]
    ]
    return f"{first}\n\n" + (table(rows, _HEAD) if rows else "no job is running")


def _fitted(screen: str) -> str:
    """As much of it as the terminal has room for."""
    size = shutil.get_terminal_size()
    return "\n".join(line[: size.columns - 1] for line in screen.splitlines()[: size.lines - 1])
