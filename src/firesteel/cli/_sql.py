"""``firesteel sql``: the SQL client."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firesteel.cli._scripts import become_pyflink
from firesteel.cli._settings import settings_of
from firesteel.cli._talking import FAILED, UNREACHABLE, CommandFailed
from firesteel.common.errors import FiresteelError
from firesteel.common.text_files import text_of

if TYPE_CHECKING:
    from firesteel.sql_client.client import Client
    from firesteel.sql_client.executor import Executor

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("mode", type=click.Choice(["embedded", "gateway"]), default="embedded")
@click.option(
    "-e",
    "--endpoint",
    metavar="URL",
    help="With `gateway`: where it is, HOST:PORT or https://HOST:PORT. A session cluster is one.",
)
@click.option(
    "-m",
    "--jobmanager",
    metavar="HOST:PORT",
    help="The session runs in this process, its jobs on the session cluster at HOST:PORT, where they go on.",
)
@click.option("--master", help="The Spark master of a session without -m; local[*,4] when it is left out.")
@click.option("-f", "--file", "script", type=_FILE, help="Run the statements of a file, and end.")
@click.option("-i", "--init", "init", type=_FILE, help="First run the statements of a file: no queries.")
@click.option("-hist", "--history", metavar="FILE", help="Where what is typed is kept.")
@click.option("-D", "definitions", multiple=True, metavar="KEY=VALUE", help="An option of the session.")
@click.option("-pyfs", "--pyFiles", "--py-files", "py_files", help="python.files: modules of functions.")
@click.option("-pyarch", "--pyArchives", "--archives", "archives", help="python.archives.")
@click.option("-pyreq", "--pyRequirements", "--requirements", "requirements", help="python.requirements.")
@click.option("--pyflink", is_flag=True, help="Modules of functions import pyflink: give them firesteel.")
def sql(
    mode: str,
    endpoint: str | None,
    jobmanager: str | None,
    master: str | None,
    script: Path | None,
    init: Path | None,
    history: str | None,
    definitions: tuple[str, ...],
    py_files: str | None,
    archives: str | None,
    requirements: str | None,
    pyflink: bool,
) -> None:
    """Run SQL statements: typed, of a file (-f), or of the standard input.

    The exit code is 1 if a statement of a file or of the standard input fails; those after it are not run.
    """
    from firesteel.common.options import execution, python as files

    named = {
        files.FILES.key: py_files,
        files.ARCHIVES.key: archives,
        files.REQUIREMENTS.key: requirements,
        execution.SPARK_MASTER.key: master,
    }
    settings = settings_of(definitions, {key: value for key, value in named.items() if value is not None})
    if mode == "gateway":
        if jobmanager is not None or master is not None or pyflink:
            raise click.UsageError("--jobmanager, --master and --pyflink are for sessions in this process.")
        if endpoint is None:
            raise click.UsageError("gateway needs --endpoint HOST:PORT.")
    elif endpoint is not None:
        raise click.UsageError("--endpoint is of the mode gateway: `firesteel sql gateway -e HOST:PORT`.")
    elif jobmanager is not None and master is not None:
        raise click.UsageError("The cluster at -m has its Spark: leave --master out.")
    interactive = script is None and sys.stdin.isatty() and sys.stdout.isatty()
    from firesteel.cluster.client import ClusterUnreachableError

    try:
        if interactive:
            _check_extra()
        executor = _executor(endpoint, jobmanager, settings, pyflink)
        try:
            good = _run(executor, script, init, history, interactive)
        finally:
            executor.close()
    except ClusterUnreachableError as error:
        raise CommandFailed(str(error), UNREACHABLE) from error
    except FiresteelError as error:
        raise click.ClickException(str(error)) from error
    if not good:
        sys.exit(FAILED)


def _check_extra() -> None:
    from firesteel.common.extras import extra

    extra("prompt_toolkit", "The SQL client at a terminal", "sql-client")
    extra("pygments", "The SQL client at a terminal", "sql-client")


def _executor(
    endpoint: str | None, jobmanager: str | None, settings: dict[str, str], pyflink: bool
) -> Executor:
    from firesteel.common.configuration import Configuration
    from firesteel.datastream._session_defaults import set_session_defaults
    from firesteel.sql_client.embedded import EmbeddedExecutor

    if endpoint is not None:
        from firesteel.cluster.client import RestClient, address_of
        from firesteel.sql_client.remote import GatewayExecutor

        return GatewayExecutor(RestClient(address_of(endpoint, Configuration()), patience=2), settings)
    set_session_defaults(settings)
    sys.path.insert(0, os.getcwd())  # as with `python`: modules of functions
    if jobmanager is not None:
        _hand_jobs_to(jobmanager, pyflink)
    else:
        from firesteel.cli._main import start_jvm

        if pyflink:
            become_pyflink()
        start_jvm()
    return EmbeddedExecutor(Configuration.from_dict(settings), jobs_go_on=jobmanager is not None)


def _hand_jobs_to(jobmanager: str, pyflink: bool) -> None:
    from firesteel.cluster.client import RestClient, address_of
    from firesteel.cluster.remote import RemoteExecutor, RestDoor
    from firesteel.datastream._session_defaults import session_defaults
    from firesteel.program.execution import set_executor

    client = RestClient(address_of(jobmanager, session_defaults()), patience=2)
    client.get("/v1/config")
    # As at a console: what lies beside the command is not shipped.
    vars(sys.modules["__main__"]).pop("__file__", None)
    set_executor(RemoteExecutor(RestDoor(client), client))
    if pyflink:
        become_pyflink()


def _run(
    executor: Executor, script: Path | None, init: Path | None, history: str | None, interactive: bool
) -> bool:
    from firesteel.sql_client.client import Client
    from firesteel.sql_client.statements import statements_of

    view: Any = None
    if interactive:
        from firesteel.sql_client.views import show as view
    client = Client(executor, _write, view=view, clear=click.clear)
    if init is not None and not client.initialize(statements_of(text_of(init, "The file of statements"))):
        return False
    if interactive:
        from firesteel.sql_client.prompt import WELCOME, history_file, interact

        click.echo(WELCOME)
        interact(client, history_file(history))
        return True
    if script is not None:
        _write("[INFO] Executing SQL from file.")
        good = client.run_all(statements_of(text_of(script, "The file of statements")), echo=True)
    else:
        good = _run_lines(client)
    if not good:
        # A job may have no end, and whoever waits for the exit code is to learn of the error now.
        client.warn_of_jobs()
        return False
    return client.wait_for_jobs()


def _run_lines(client: Client) -> bool:
    """Run each statement of the standard input as soon as it is complete."""
    from firesteel.sql_client.statements import complete_statements, statements_of

    text = ""
    for line in sys.stdin:
        text += line
        statements = complete_statements(text)
        if statements is not None:
            text = ""
            if not client.run_all(statements):
                return False
            if client.has_quit:
                return True
    return client.run_all(statements_of(text))


def _write(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()
