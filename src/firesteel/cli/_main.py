"""``firesteel run`` and ``firesteel info``."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path

import click

from firesteel.common.errors import ConfigurationError, FiresteelError, JobExecutionError
from firesteel.version import __version__

_SCRIPT = click.argument("script", type=click.Path(exists=True, dir_okay=False))
_ARGS = click.argument("args", nargs=-1, type=click.UNPROCESSED)
_PYFLINK = click.option("--pyflink", is_flag=True, help="The script imports pyflink: give it firesteel.")
_PARALLELISM = click.option("-p", "--parallelism", type=click.IntRange(min=1), help="Default parallelism.")
_DEFINE = click.option(
    "-D", "definitions", multiple=True, metavar="KEY=VALUE", help="A configuration option; may be repeated."
)
_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="firesteel")
def main() -> None:
    """Flink's model for Python programs, run by Apache Spark."""


@main.command(context_settings=_CONTEXT)
@click.option("--master", help="The Spark master; local[*,4] when it is left out.")
@_PARALLELISM
@_DEFINE
@_PYFLINK
@click.option("--quiet", is_flag=True, help="No progress line.")
@_SCRIPT
@_ARGS
def run(
    master: str | None,
    parallelism: int | None,
    definitions: tuple[str, ...],
    pyflink: bool,
    quiet: bool,
    script: str,
    args: tuple[str, ...],
) -> None:
    """Run the program SCRIPT with ARGS."""
    _configure(master, parallelism, definitions)
    if pyflink:
        _become_pyflink()
    from firesteel.cli._progress import progress_line

    signal.signal(signal.SIGTERM, _interrupt)  # as Ctrl-C: the job is cancelled, no worker is left behind
    try:
        with progress_line(enabled=not quiet):
            _run_script(script, args)
    except JobExecutionError as e:
        raise _failure(e) from e
    except FiresteelError as e:
        raise click.ClickException(str(e)) from e
    except KeyboardInterrupt:
        click.echo("cancelled", err=True)
        sys.exit(130)


@main.command(context_settings=_CONTEXT)
@_PARALLELISM
@_DEFINE
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
        _become_pyflink(workers=False)
    from firesteel.cli._planning import PlanningExecutor
    from firesteel.common._executor_registry import set_executor

    previous = set_executor(PlanningExecutor(as_json))
    try:
        _run_script(script, args)
    except FiresteelError as e:
        raise click.ClickException(str(e)) from e
    finally:
        set_executor(previous)


def _configure(master: str | None, parallelism: int | None, definitions: tuple[str, ...]) -> None:
    from firesteel.datastream._session_defaults import set_session_defaults

    settings: dict[str, str] = {}
    for definition in definitions:
        key, equals, value = definition.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"-D {definition}: write it as -D key=value")
        settings[key.strip()] = value.strip()
    if parallelism is not None:
        settings["parallelism.default"] = str(parallelism)
    if master is not None:
        settings["spark.master"] = master
    try:
        set_session_defaults(settings)
    except ConfigurationError as e:
        raise click.ClickException(str(e)) from e


def _become_pyflink(workers: bool = True) -> None:
    from firesteel.common import pyflink_alias

    pyflink_alias.install()
    if workers:
        import pickle

        from firesteel.common._executor_registry import get_executor

        get_executor().add_bootstrap(pickle.dumps(pyflink_alias.install))


def _run_script(script: str, args: tuple[str, ...]) -> None:
    """As ``python SCRIPT ARGS`` would: modules beside the script can be imported."""
    path = os.path.abspath(script)
    sys.argv = [script, *args]
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(path, run_name="__main__")


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def _failure(error: JobExecutionError) -> click.ClickException:
    return click.ClickException(str(error))
