"""``firesteel run -m``: the program builds its graphs here, and a session cluster runs them."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from firesteel.cli._talking import INTERRUPTED, UNREACHABLE, CommandFailed
from firesteel.common.errors import FiresteelError

if TYPE_CHECKING:
    from firesteel.cluster.client import RestClient

_AFTER_S: Final = 3.0
_EVERY_S: Final = 2.0


def run_remotely(
    jobmanager: str,
    script: str,
    args: tuple[str, ...],
    *,
    detached: bool,
    shutdown: bool,
    pyflink: bool,
    quiet: bool,
    job_id: str | None = None,
) -> None:
    from firesteel.cli._scripts import become_pyflink, interrupt, run_script
    from firesteel.cluster.client import ClusterUnreachableError, RestClient, address_of
    from firesteel.cluster.remote import RemoteExecutor, RestDoor
    from firesteel.common.options import cluster as options, pipeline
    from firesteel.datastream._session_defaults import session_defaults, set_session_defaults
    from firesteel.program.execution import set_executor

    settings = session_defaults()
    defaults = {} if settings.contains(pipeline.PARALLELISM) else {pipeline.PARALLELISM.key: "1"}  # as Flink
    if shutdown:
        defaults[options.SHUTDOWN_ON_EXIT.key] = "true"
    set_session_defaults({**settings.to_dict(), **defaults})
    shutdown = session_defaults().get(options.SHUTDOWN_ON_EXIT)
    submitted: list[str] = []

    def announce(job: str, name: str) -> None:
        submitted.append(job)
        if not quiet or detached:  # as Flink says it
            click.echo(f"Job has been submitted with JobID {job}", err=not detached)

    try:
        address = address_of(jobmanager, settings)
        RestClient(address, patience=2).get("/v1/config")  # who has mistyped the address need not wait
        client = RestClient(address)
        executor = RemoteExecutor(
            RestDoor(client), client, detached=detached, job_id=job_id, on_submit=announce
        )
        set_executor(executor)
        if pyflink:
            become_pyflink()
        signal.signal(signal.SIGTERM, interrupt)
        with _progress(client, submitted, enabled=not (quiet or detached)):
            run_script(script, args)
    except ClusterUnreachableError as error:
        raise CommandFailed(str(error), UNREACHABLE) from error
    except FiresteelError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # a second signal does not wait
        _leave(client, submitted, cancels=shutdown)
        sys.exit(INTERRUPTED)


def _leave(client: RestClient, submitted: list[str], *, cancels: bool) -> None:
    """The user does not want to wait any more. As in Flink the job goes on unless it was to end with its
    client."""
    for job in submitted[-1:]:
        if not cancels:
            click.echo(f"Job {job} goes on; `firesteel cancel {job}` ends it.", err=True)
            continue
        try:
            client.send("PATCH", f"/v1/jobs/{job}?mode=cancel")
            click.echo("cancelled", err=True)
        except FiresteelError as error:
            click.echo(f"Job {job} could not be cancelled: {error}", err=True)


@contextmanager
def _progress(client: RestClient, submitted: list[str], *, enabled: bool) -> Iterator[None]:
    """A line about the newest job: on a terminal always the same one."""
    if not enabled:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_show, args=(client, submitted, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(2)


def _show(client: RestClient, submitted: list[str], over: threading.Event) -> None:
    begun_s = time.monotonic()
    on_terminal = sys.stderr.isatty()
    shown = False
    while not over.wait(_EVERY_S if on_terminal else 5 * _EVERY_S):
        if time.monotonic() - begun_s < _AFTER_S or not submitted:
            continue
        try:
            line = _line(client, submitted[-1])
        except FiresteelError:  # the program hears of it
            continue
        if line is not None:
            sys.stderr.write(f"\r\x1b[K{line}" if on_terminal else f"{line}\n")
            sys.stderr.flush()
            shown = True
    if shown and on_terminal:
        sys.stderr.write("\r\x1b[K")


def _line(client: RestClient, job: str) -> str | None:
    status = client.get(f"/v1/jobs/{job}/status")["status"]
    epochs = client.get(f"/firesteel/v1/jobs/{job}/epochs", last=1)
    lag = sum(sum(source["splits"].values()) for source in epochs["lag"])
    behind = f", {lag:,} behind" if lag else ""
    return f"{job[:8]}: {status}, epoch {epochs['epoch']:,}, {epochs['records_read']:,} records read{behind}"
