"""``firesteel state``: what a job keeps for a key, as of a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import click

from firesteel.cli._talking import JOBMANAGER, as_job_id, client_of, is_job_id, talking
from firesteel.common.errors import PathNotFoundError, StateCorruptionError

#: How many checkpoints are looked into that are gone before they are read.
_CHECKPOINTS: Final = 10


@click.group()
def state() -> None:
    """Look into the state of jobs."""


@state.command()
@click.option("--untrusted", is_flag=True, help="It may come from anybody: refuse what could run code.")
@click.argument("snapshot", metavar="JOB|PATH")
@click.argument("operator")
@click.argument("name", metavar="STATE")
@click.argument("key")
@JOBMANAGER
@talking
def get(untrusted: bool, snapshot: str, operator: str, name: str, key: str, jobmanager: str | None) -> None:
    """Print what a keyed state holds for KEY, as JSON: of a running JOB as of its newest checkpoint, or
    of the checkpoint or savepoint at PATH.

    OPERATOR is the uid of the operator. KEY is JSON, a list for a tuple, or plain text.
    """
    from firesteel.state_processor import SavepointReader

    def found(path: str) -> Any:
        return SavepointReader.read(path, untrusted=untrusted).value(operator, name, _key(key))

    value = _of_the_newest(snapshot, jobmanager, found) if is_job_id(snapshot) else found(snapshot)
    click.echo(json.dumps(_shown(value)))


def _of_the_newest(job: str, jobmanager: str | None, read: Callable[[str], Any]) -> Any:
    """Read the newest checkpoint; the next one where a job has replaced it before it was read."""
    latest = _newest_checkpoint(job, jobmanager)
    for _ in range(_CHECKPOINTS):
        try:
            value = read(latest["external_path"])
        except (PathNotFoundError, StateCorruptionError):
            newer = _newest_checkpoint(job, jobmanager)
            if newer["id"] == latest["id"]:
                raise
            latest = newer
        else:
            click.echo(f"as of checkpoint {latest['id']}", err=True)
            return value
    raise click.ClickException(
        f"Job {job} replaces its checkpoints faster than one is read from here. "
        "With execution.checkpointing.num-retained it keeps more of them; a savepoint stays."
    )


def _newest_checkpoint(job: str, jobmanager: str | None) -> Any:
    latest = client_of(jobmanager).get(f"/v1/jobs/{as_job_id(job)}/checkpoints")["latest"]["completed"]
    if latest is None:
        raise click.ClickException(f"Job {job} has no checkpoint yet.")
    return latest


def _key(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return _tuple(found)


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def _shown(value: Any) -> Any:
    """As JSON has it: a map with other keys than texts is a list of pairs, any other object its ``repr``."""
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _shown(item) for key, item in value.items()}
        return [[_shown(key), _shown(item)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
