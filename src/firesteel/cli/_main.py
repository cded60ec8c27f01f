"""``firesteel run``, ``firesteel info``, ``firesteel doctor`` and ``firesteel savepoint``."""

from __future__ import annotations

import atexit
import logging
import os
import re
import signal
import sys
from contextlib import suppress

import click

from firesteel.cli._cluster import FLINK_UI, cluster
from firesteel.cli._history import history_server
from firesteel.cli._jobs import COMMANDS, SavepointGroup, savepoint_of_job
from firesteel.cli._memory import memory
from firesteel.cli._rescale import rescale
from firesteel.cli._scripts import become_pyflink, interrupt, run_script
from firesteel.cli._settings import DEFINE, set_defaults
from firesteel.cli._sql import sql
from firesteel.cli._state import state
from firesteel.cli._talking import JOBMANAGER
from firesteel.cli._top import top
from firesteel.common.errors import FiresteelError, JobExecutionError
from firesteel.common.masking import masked
from firesteel.datastream._uncaught import mask_uncaught
from firesteel.version import __version__

_SCRIPT = click.argument("script", type=click.Path(exists=True, dir_okay=False))
_ARGS = click.argument("args", nargs=-1, type=click.UNPROCESSED)
_PYFLINK = click.option("--pyflink", is_flag=True, help="The script imports pyflink: give it firesteel.")
_PARALLELISM = click.option("-p", "--parallelism", type=click.IntRange(min=1), help="Default parallelism.")
_ADDRESS = re.compile(r"(\S+:)?\d+")
_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="firesteel")
def main() -> None:
    """Flink's model for Python programs, run by Apache Spark."""
    mask_uncaught()


class _WithAddress(click.Command):
    """A command whose option --rest has a value only if an address follows it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        valued = {
            name for option in self.params if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }  # fmt: skip
        position = 0
        while position < len(args) and args[position].startswith("-"):  # up to the script
            following = args[position + 1] if position + 1 < len(args) else ""
            if args[position] == "--rest" and not _ADDRESS.fullmatch(following):
                args[position] = "--rest="
            position += 2 if args[position] in valued else 1
        return super().parse_args(ctx, args)


@main.command(cls=_WithAddress, context_settings=_CONTEXT)
@click.option("--master", help="The Spark master; local[*,4] when it is left out.")
@_PARALLELISM
@DEFINE
@_PYFLINK
@click.option(
    "--rest",
    metavar="[[HOST:]PORT]",
    help="Serve the REST API while the program runs; without an address: as rest.* says, or at "
    "127.0.0.1:8081.",
)
@FLINK_UI
@JOBMANAGER
@click.option(
    "-d", "--detached", is_flag=True, help="With -m: print the id of the job, and do not wait for it."
)
@click.option(
    "-sae",
    "--shutdownOnAttachedExit",
    "shutdown",
    is_flag=True,
    help="With -m: the job is cancelled when this command ends, also when it is killed.",
)
@click.option("-pyfs", "--pyFiles", "--py-files", "py_files", help="python.files: modules to import.")
@click.option(
    "-pyarch", "--pyArchives", "--archives", "archives", help="python.archives: archives to unpack."
)
@click.option(
    "-pyreq",
    "--pyRequirements",
    "--requirements",
    "requirements",
    help="python.requirements: packages to install.",
)
@click.option("-pyclientexec", "--pyClientExecutable", "python", help="With -m: the Python of the job.")
@click.option("--quiet", is_flag=True, help="No line for a job that starts, and no progress line.")
@click.option("--spark-log", is_flag=True, help="Show Spark's own log, instead of writing it to a file.")
@click.option(
    "-s",
    "--from-checkpoint",
    "--from-savepoint",
    "recovery",
    metavar="latest|PATH",
    help="Go on from a checkpoint or savepoint; latest: from the newest checkpoint of the job, "
    "and from its start when there is none.",
)
@click.option(
    "-n",
    "--allow-non-restored-state",
    is_flag=True,
    help="Drop state of operators that the program does not have any more.",
)
@click.option(
    "--claim-mode",
    type=click.Choice(["claim", "no_claim", "legacy"], case_sensitive=False),
    help="Whose the savepoint or checkpoint at PATH is from now on; no_claim: yours, and free to be removed "
    "after the first checkpoint of the job.",
)
@click.option(
    "--restore-untrusted",
    is_flag=True,
    help="The checkpoint or savepoint may come from anybody: refuse what could run code (docs/security.md).",
)
@_SCRIPT
@_ARGS
def run(
    master: str | None,
    parallelism: int | None,
    definitions: tuple[str, ...],
    pyflink: bool,
    rest: str | None,
    flink_ui: str | None,
    jobmanager: str | None,
    detached: bool,
    shutdown: bool,
    py_files: str | None,
    archives: str | None,
    requirements: str | None,
    python: str | None,
    quiet: bool,
    spark_log: bool,
    recovery: str | None,
    allow_non_restored_state: bool,
    claim_mode: str | None,
    restore_untrusted: bool,
    script: str,
    args: tuple[str, ...],
) -> None:
    """Run the program SCRIPT with ARGS: here, or with -m on a session cluster."""
    from firesteel.common.options import python as files, recovery as options
    from firesteel.common.options.firesteel import SPARK_LOG

    if recovery is not None:
        definitions = (*definitions, f"{options.PATH.key}={recovery}")
    if claim_mode is not None:
        definitions = (*definitions, f"{options.CLAIM_MODE.key}={claim_mode.upper()}")
    if restore_untrusted:
        definitions = (*definitions, f"{options.UNTRUSTED.key}=true")
    if allow_non_restored_state:
        definitions = (*definitions, f"{options.IGNORE_UNCLAIMED.key}=true")
    if spark_log:
        definitions = (*definitions, f"{SPARK_LOG.key}=console")
    for option, value in (
        (files.FILES, py_files),
        (files.ARCHIVES, archives),
        (files.REQUIREMENTS, requirements),
        (files.CLIENT_EXECUTABLE, python),
    ):
        definitions = definitions if value is None else (*definitions, f"{option.key}={value}")
    if jobmanager is not None:
        from firesteel.cli._remote import run_remotely

        if master is not None or rest is not None or flink_ui is not None:
            raise click.UsageError(
                "The cluster at -m has its Spark and its REST API: leave --master, --rest and --flink-ui out."
            )
        _configure(None, parallelism, definitions)
        run_remotely(
            jobmanager, script, args, detached=detached, shutdown=shutdown, pyflink=pyflink, quiet=quiet
        )
        return
    if detached or shutdown:
        raise click.UsageError("-d and -sae are for a job on a cluster: say where it is by -m HOST:PORT.")
    if rest is not None:
        definitions = (*definitions, *_rest_options(rest, flink_ui))
    elif flink_ui is not None:
        raise click.UsageError("--flink-ui is served by the REST API: say --rest, too.")
    _configure(master, parallelism, definitions)
    if pyflink:
        become_pyflink()
    _serve_rest(quiet)
    from firesteel.cli._progress import announce_jobs, progress_line

    start_jvm()
    if not quiet:
        announce_jobs()

    signal.signal(signal.SIGTERM, interrupt)  # as Ctrl-C: cancels the job, leaves no workers behind
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # the terminal closes; with nohup it may
        signal.signal(signal.SIGHUP, interrupt)
    try:
        with progress_line(enabled=not quiet):
            run_script(script, args)
    except JobExecutionError as e:
        raise _failure(e) from e
    except FiresteelError as e:
        raise click.ClickException(str(e)) from e
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # a second signal does not wait for cleanup
        click.echo("cancelled", err=True)
        sys.exit(130)


@main.command(context_settings=_CONTEXT)
@_PARALLELISM
@DEFINE
@_PYFLINK
@click.option("--json", "as_json", is_flag=True, help="All graphs as JSON.")
@_SCRIPT
@_ARGS
def info(
    parallelism: int | None,
    definitions: tuple[str, ...],
    pyflink: bool,
    as_json: bool,
    script: str,
    args: tuple[str, ...],
) -> None:
    """Show the graphs of the program SCRIPT without running its job, and without starting Spark."""
    _configure(None, parallelism, definitions)
    if pyflink:
        become_pyflink(workers=False)
    from firesteel.cli._planning import PlanningExecutor
    from firesteel.program.execution import set_executor

    previous = set_executor(PlanningExecutor(as_json))
    try:
        run_script(script, args)
    except FiresteelError as e:
        raise click.ClickException(str(e)) from e
    finally:
        set_executor(previous)


@main.command()
@click.option(
    "--extra",
    "extras",
    multiple=True,
    metavar="NAME",
    help="An extra of Firesteel that must be installed, such as kafka; may be repeated.",
)
@click.argument("endpoints", nargs=-1)
def doctor(extras: tuple[str, ...], endpoints: tuple[str, ...]) -> None:
    """Check for missing requirements and say how to fix them. The exit code is 1 if something must be fixed.

    ENDPOINTS must be reachable from here: jdbc:postgresql://host/db?user=..., kafka://host:9092,
    redis://host, amqp://host, or any host:port.
    """
    from firesteel.cli._doctor import examine
    from firesteel.cli._findings import Level

    logging.getLogger("firesteel").addHandler(logging.NullHandler())  # the findings contain what clients log
    failures = 0
    for finding in examine(endpoints, extras):
        click.echo(masked(str(finding)))
        failures += finding.level is Level.FAIL
    sys.exit(1 if failures else 0)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.argument("key", required=False)
def config(key: str | None, as_json: bool) -> None:
    """List the configuration options, or explain KEY. The exit code is 1 if KEY is unknown."""
    import json

    from firesteel.common.options import OPTIONS
    from firesteel.common.options.document import described

    found = [described(key)] if key is not None else [described(name) for name in sorted(OPTIONS)]
    if as_json:
        click.echo(json.dumps(found if key is None else found[0], indent=2))
    elif key is None:
        for option in found:
            click.echo(f"{option['key']} ({option['kind']}): {option['description']}")
    else:
        for name, value in found[0].items():
            click.echo(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
    sys.exit(1 if found[0]["verdict"] in ("misspelt", "unknown") else 0)


@main.group(cls=SavepointGroup)
def savepoint() -> None:
    """Take, inspect and remove savepoints: `savepoint JOB [DIRECTORY]` takes one, `savepoint -d PATH` removes
    one by the cluster."""


savepoint.add_command(savepoint_of_job, "trigger")


@savepoint.command()
@click.argument("path")
@DEFINE
def inspect(path: str, definitions: tuple[str, ...]) -> None:
    """Show the contents of the savepoint or checkpoint at PATH."""
    from firesteel.cli._inspection import describe

    set_defaults(definitions, {})
    try:
        click.echo(describe(path))
    except FiresteelError as e:
        raise click.ClickException(str(e)) from e


@savepoint.command()
@click.argument("path")
@DEFINE
def dispose(path: str, definitions: tuple[str, ...]) -> None:
    """Remove the savepoint at PATH: its manifest and the files that it names. Other files in its directory
    are kept, and so is PATH if it is a symbolic link."""
    from firesteel.jobmanager.checkpoints.removal import dispose_savepoint

    set_defaults(definitions, {})
    try:
        left = dispose_savepoint(path)
    except (FiresteelError, OSError) as e:
        raise click.ClickException(masked(str(e))) from e
    click.echo(f"Savepoint {path!r} is removed.")
    if left:
        click.echo("Left, because they are not files of the savepoint:")
    for file in left:
        click.echo(f"  {file}")
    if os.path.islink(path):
        click.echo(f"Left: the symbolic link {path}")


for _command in (*COMMANDS, top, rescale, cluster, memory, history_server, sql, state):
    main.add_command(_command)


def _configure(master: str | None, parallelism: int | None, definitions: tuple[str, ...]) -> None:
    from firesteel.common.options import execution, pipeline

    named = {pipeline.PARALLELISM.key: parallelism, execution.SPARK_MASTER.key: master}
    set_defaults(definitions, {key: str(value) for key, value in named.items() if value is not None})


def _rest_options(address: str, flink_ui: str | None) -> tuple[str, ...]:
    """``8081``, ``HOST:8081`` or ``[::1]:8081`` as options; nothing: what is configured, or the default."""
    from firesteel.common.options import rest

    found = _address_options(address)
    return found if flink_ui is None else (*found, f"{rest.FLINK_UI.key}={flink_ui}")


def _address_options(address: str) -> tuple[str, ...]:
    from firesteel.common.options import rest
    from firesteel.datastream._session_defaults import session_defaults

    if not address:
        known = session_defaults()
        return () if known.contains(rest.BIND_PORT) else (f"{rest.PORT.key}={known.get(rest.PORT)}",)
    if not _ADDRESS.fullmatch(address):
        raise click.BadParameter(f"--rest={address}: write it as PORT or HOST:PORT")
    host, _, port = address.rpartition(":")
    options = (f"{rest.PORT.key}={port}", f"{rest.BIND_PORT.key}={port}")
    return (*options, f"{rest.BIND_ADDRESS.key}={host.strip('[]')}") if host else options


def _serve_rest(quiet: bool) -> None:
    """Before the program begins, so that a port that is taken is known at once."""
    from firesteel.common.options import rest
    from firesteel.datastream._session_defaults import session_defaults

    configuration = session_defaults()
    if not (configuration.contains(rest.PORT) or configuration.contains(rest.BIND_PORT)):
        return
    from firesteel.jobmanager.executor import executor
    from firesteel.rest.application import serve

    try:
        url = serve(executor, configuration)
    except FiresteelError as e:
        raise click.ClickException(str(e)) from e
    if not quiet:
        click.echo(f"REST API: {url}", err=True)


def start_jvm() -> None:
    """Start the JVM while the program is imported. It is dropped if the program cannot use it."""
    from firesteel.datastream._session_defaults import session_defaults
    from firesteel.spark.launch import drop_early, start_early
    from firesteel.spark.settings import session_settings, settings_of

    atexit.register(drop_early)
    with suppress(FiresteelError, OSError):  # the job, if any, will report it
        start_early(session_settings(settings_of(session_defaults())))


def _failure(error: JobExecutionError) -> click.ClickException:
    return click.ClickException(str(error))
