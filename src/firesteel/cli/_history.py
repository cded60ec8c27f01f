"""``firesteel history-server``: jobs that have ended, read from their archives."""

from __future__ import annotations

import signal
import threading

import click

from firesteel.cli._cluster import FLINK_UI
from firesteel.cli._settings import DEFINE, set_defaults
from firesteel.cli._talking import talking


@click.command("history-server")
@click.argument("directories", nargs=-1)
@click.option("--host", help="The address that it is bound to, 127.0.0.1. Any other one needs rest.auth.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port, 8082; 0: any free one.")
@FLINK_UI
@DEFINE
@talking
def history_server(
    directories: tuple[str, ...],
    host: str | None,
    port: int | None,
    flink_ui: str | None,
    definitions: tuple[str, ...],
) -> None:
    """Serve the dashboard and the REST API of jobs that have ended, read from the archives in DIRECTORIES
    (historyserver.archive.fs.dir), until a signal ends it."""
    from firesteel.common.logs import log_to_stderr
    from firesteel.common.options import history, rest
    from firesteel.datastream._session_defaults import session_defaults
    from firesteel.history.server import HistoryServer

    named = {
        history.DIRECTORIES.key: ",".join(directories) or None,
        history.ADDRESS.key: host,
        history.PORT.key: None if port is None else str(port),
        rest.FLINK_UI.key: flink_ui,
    }
    set_defaults(definitions, {key: value for key, value in named.items() if value is not None})
    log_to_stderr()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda signum, frame: ended.set())
    with HistoryServer(session_defaults()) as server:
        click.echo(f"The history server is at {server.url}", err=True)
        ended.wait()
