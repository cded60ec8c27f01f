"""``firesteel cluster``: start, stop and look at a session cluster of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import click

from firesteel.cli._settings import DEFINE, set_defaults
from firesteel.cli._talking import JSON, client_of, talking

_START_S: Final = 120.0
_STOP_S: Final = 60.0
NOT_RUNNING: Final = 3  # as of the scripts of services
_READY: Final = "FIRESTEEL_READY"  # the descriptor on which a cluster in the background says where it is
FLINK_UI = click.option(
    "--flink-ui",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="A jar with Flink's dashboard (flink-dist-2.3.0.jar), to be served at / too.",
)
_PORT = click.option("--port", help="The port of the REST API, 8081; or several, as 8081-8099.")


@click.group()
def cluster() -> None:
    """A session cluster of this machine, which runs the jobs that are handed in."""


@cluster.command()
@click.option("--host", help="The address of the REST API, 127.0.0.1. Any other one needs rest.auth.")
@_PORT
@click.option("--spark-master", help="Where Spark runs; local[*,4] when it is left out.")
@click.option("--foreground", is_flag=True, help="Stay in this terminal, or under this service manager.")
@FLINK_UI
@DEFINE
@talking
def start(
    host: str | None,
    port: str | None,
    spark_master: str | None,
    foreground: bool,
    flink_ui: str | None,
    definitions: tuple[str, ...],
) -> None:
    """Start a cluster, and print where it is. Its jobs of before go on."""
    from firesteel.common.options import rest

    if flink_ui is not None:
        definitions = (*definitions, f"{rest.FLINK_UI.key}={flink_ui}")
    configure(definitions, host, port, spark_master)
    if foreground:
        _be_the_cluster()
    else:
        _start_in_background()


def configure(
    definitions: tuple[str, ...], host: str | None, port: str | None, spark_master: str | None = None
) -> None:
    from firesteel.common.options import execution, rest

    named = {rest.BIND_ADDRESS.key: host, execution.SPARK_MASTER.key: spark_master}
    settings = {key: value for key, value in named.items() if value is not None}
    if port is not None:
        settings[rest.BIND_PORT.key] = port
        if port.isdecimal():
            settings[rest.PORT.key] = port
    set_defaults(definitions, settings)


def _be_the_cluster() -> None:
    from firesteel.cluster.engines import spark
    from firesteel.cluster.server import serve_cluster
    from firesteel.common.logs import log_to_stderr
    from firesteel.datastream._session_defaults import session_defaults

    log_to_stderr()
    descriptor = os.environ.pop(_READY, None)

    def ready(url: str) -> None:
        if descriptor is None:
            click.echo(f"The cluster is at {url}", err=True)
            return
        with os.fdopen(int(descriptor), "w") as told:
            told.write(url)

    serve_cluster(session_defaults(), spark, ready)


def _start_in_background() -> None:
    from firesteel.cluster.server import directory_of, who_of
    from firesteel.common.errors import ConfigurationError
    from firesteel.datastream._session_defaults import session_defaults
    from firesteel.storage.private_files import make_directories, private_opener

    configuration = session_defaults()
    directory = directory_of(configuration)
    if (who := who_of(directory)) is not None:
        raise ConfigurationError(f"The cluster runs already, at {who.url}", detail=str(directory))
    make_directories(str(directory / "logs"))
    log = directory / "logs" / "dispatcher.log"
    reading, writing = os.pipe()
    with open(log, "ab", opener=private_opener) as output:
        begun = output.tell()
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from firesteel.cli import main; main()",
                "cluster",
                "start",
                "--foreground",
            ]
            + [word for key, value in _settings().items() for word in ("-D", f"{key}={value}")],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, _READY: str(writing)},
            pass_fds=(writing,),
            start_new_session=True,
        )
    os.close(writing)
    url = _answer(reading, process, log)
    if not url:
        raise click.ClickException(f"The cluster did not start: {_complaint(log, begun)}\nIts log is {log}")
    click.echo(f"The cluster is at {url}, process {process.pid}; its files are in {directory}")


def _settings() -> dict[str, str]:
    from firesteel.datastream._session_defaults import session_defaults

    return session_defaults().to_dict()


def _answer(descriptor: int, process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the cluster is; nothing: it has ended. Raises ClickException when it is not there in time."""
    import select

    until_s = time.monotonic() + _START_S
    with os.fdopen(descriptor, "rb") as told:
        while time.monotonic() < until_s:
            if select.select([told], [], [], 0.2)[0]:
                return told.read().decode()
            if process.poll() is not None:
                return ""
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    raise click.ClickException(
        f"The cluster did not start within {_START_S:g} s, and was ended. Its log says how far it came: {log}"
    )


def _complaint(log: Path, begun: int) -> str:
    with log.open("rb") as file:
        file.seek(begun)
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return "\n".join(lines[-12:])


@cluster.command()
@click.option(
    "--cancel", "cancels", is_flag=True, help="Cancel its jobs. Else they go on when it is started again."
)
@_PORT
@DEFINE
@talking
def stop(cancels: bool, port: str | None, definitions: tuple[str, ...]) -> None:
    """Stop the cluster of this machine."""
    configure(definitions, None, port)
    who = _who()
    if who is None:
        click.echo("No cluster is running.")
        sys.exit(NOT_RUNNING)
    client = client_of(who.url)
    jobs = [job for job in client.get("/v1/jobs/overview")["jobs"] if job["end-time"] < 0]
    if cancels:
        client.send("DELETE", "/v1/cluster")
    else:
        os.kill(who.pid, signal.SIGTERM)
    until_s = time.monotonic() + _STOP_S
    while _who() is not None:
        if time.monotonic() > until_s:
            raise click.ClickException(f"The cluster has not stopped within {_STOP_S:g} s: process {who.pid}")
        time.sleep(0.1)
    left = (
        f"; {len(jobs)} jobs {'are cancelled' if cancels else 'go on when it is started again'}"
        if jobs
        else ""
    )
    click.echo(f"The cluster is stopped{left}.")


@cluster.command()
@_PORT
@DEFINE
@JSON
@talking
def status(port: str | None, definitions: tuple[str, ...], as_json: bool) -> None:
    """Say whether the cluster of this machine runs; the exit code is 3 if it does not."""
    configure(definitions, None, port)
    who = _who()
    if who is None:
        click.echo(json.dumps({"running": False}) if as_json else "No cluster is running.")
        sys.exit(NOT_RUNNING)
    overview: dict[str, Any] = client_of(who.url).get("/v1/overview")
    if as_json:
        click.echo(json.dumps({"running": True, "url": who.url, "pid": who.pid, "overview": overview}))
        return
    click.echo(
        f"The cluster is at {who.url}, process {who.pid}: {overview['slots-available']} of "
        f"{overview['slots-total']} slots are free, {overview['jobs-running']} jobs are running."
    )


def _who() -> Any:
    from firesteel.cluster.server import directory_of, who_of
    from firesteel.datastream._session_defaults import session_defaults

    return who_of(directory_of(session_defaults()))
