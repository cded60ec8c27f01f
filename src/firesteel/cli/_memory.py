"""The memory budget as text, as Flink's task managers print theirs."""

from __future__ import annotations

from collections.abc import Iterator

import click

from firesteel.cli._settings import DEFINE, settings_of
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.memory_budget import budget_of, executor_settings, managed_state, notices
from firesteel.common.options.checks import notices as key_notices

_UNITS = (("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10))


def report(configuration: Configuration) -> Iterator[str]:
    """Yield the lines of the report.

    :raises ConfigurationError: the sizes contradict each other.
    """
    budget = budget_of(configuration)
    if budget is None:
        yield "No total of taskmanager.memory is set: Spark's own settings count."
    else:
        for depth, name, size in budget.lines():
            yield f"{'  ' * depth}{name + ':':<{34 - 2 * depth}}{_shown(size)} ({size} bytes)"
        yield ""
        yield f"Slots: {budget.slots}, managed memory of each: {_shown(budget.managed_per_slot)}"
    managed = managed_state(configuration)
    if managed is not None:
        yield f"State of all subtasks in the memory of an executor, at most: {_shown(managed.size)} (rocksdb)"
    settings = executor_settings(configuration)
    if settings:
        yield ""
        yield "Settings of Spark's executors:"
    for key, value in settings.items():
        yield f"  {key}={value}"
    for notice in (*notices(configuration), *_without_effect(configuration)):
        yield f"Note: {notice}"


def _without_effect(configuration: Configuration) -> list[str]:
    """Return a sentence for each key about memory that nothing is made of."""
    about = {key: value for key, value in configuration.to_dict().items() if ".memory." in key}
    return key_notices(Configuration.from_dict(about))


def _shown(size: int) -> str:
    for unit, bytes_of_unit in _UNITS:
        if size >= bytes_of_unit:
            return f"{size / bytes_of_unit:.3f}{unit}"
    return f"{size} bytes"


@click.command()
@click.option("--master", help="The Spark master; with a local one there are no executors.")
@DEFINE
def memory(master: str | None, definitions: tuple[str, ...]) -> None:
    """Show the memory budget of an executor by Flink's rules, and what Spark is given for it."""
    from firesteel.common.options.execution import SPARK_MASTER
    from firesteel.datastream._session_defaults import session_defaults

    settings = settings_of(definitions, {} if master is None else {SPARK_MASTER.key: master})
    try:
        for line in report(session_defaults().add_all(Configuration.from_dict(dict(settings)))):
            click.echo(line)
    except ConfigurationError as e:
        raise click.ClickException(str(e)) from e
