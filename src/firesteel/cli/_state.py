"""``firesteel state``: what a job keeps, and what for a key."""

from __future__ import annotations

import json
import os
from typing import Any, Final

import click
import msgspec

from firesteel.cli._settings import DEFINE, set_defaults
from firesteel.cli._talking import JOBMANAGER, JSON, as_job_id, client_of, is_job_id, table, talking

_OF_JOB_IDS: Final = frozenset("0123456789abcdef")
_UNTRUSTED = click.option(
    "--untrusted", is_flag=True, help="PATH may come from anybody: refuse what could run code."
)
_SNAPSHOT = click.argument("snapshot", metavar="JOB|PATH")


@click.group()
def state() -> None:
    """Look into the state of jobs."""


@state.command("ls")
@_UNTRUSTED
@_SNAPSHOT
@JSON
@JOBMANAGER
@DEFINE
@talking
def list_states(
    untrusted: bool, snapshot: str, as_json: bool, jobmanager: str | None, definitions: tuple[str, ...]
) -> None:
    """List the states of a running JOB as of its last epoch, or of the checkpoint or savepoint at PATH: of
    which operator each is, its kind, and the declared types of its keys and of itself."""
    set_defaults(definitions, {})
    is_job = _is_job(snapshot, untrusted)
    rows = _of_job(snapshot, jobmanager) if is_job else _at_path(snapshot, untrusted)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo("No operator has state.")
    else:
        shown = [
            (
                row["operator"] or row["operator_id"],
                row["name"],
                row["kind"] + ", TTL" * row["has_ttl"],
                row["key"] or "-",
                row["type"] or "-",
                row["operator_name"],
            )
            for row in rows
        ]
        click.echo(table(shown, ("OPERATOR", "STATE", "KIND", "KEY", "TYPE", "OPERATOR NAME")))


def _is_job(snapshot: str, untrusted: bool) -> bool:
    if set(snapshot.lower()) <= _OF_JOB_IDS and not is_job_id(snapshot) and not os.path.exists(snapshot):
        raise click.BadParameter(
            f"{snapshot} is neither the id of a job, 32 hexadecimal digits as `firesteel list` shows them, "
            "nor a path"
        )
    if is_job_id(snapshot) and untrusted:
        raise click.UsageError("--untrusted is for a PATH: the process of a JOB reads its state itself.")
    return is_job_id(snapshot)


def _of_job(job: str, jobmanager: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _asked(job, jobmanager, "states")["states"]
    return found


def _at_path(path: str, untrusted: bool) -> list[dict[str, Any]]:
    from firesteel.rest.answers.states import job_state
    from firesteel.state_processor import SavepointReader

    found = SavepointReader.read(path, untrusted=untrusted).states()
    return [msgspec.to_builtins(job_state(info)) for info in found]


@state.command()
@_UNTRUSTED
@_SNAPSHOT
@click.argument("operator")
@click.argument("name", metavar="STATE")
@click.argument("key")
@JOBMANAGER
@DEFINE
@talking
def get(
    untrusted: bool,
    snapshot: str,
    operator: str,
    name: str,
    key: str,
    jobmanager: str | None,
    definitions: tuple[str, ...],
) -> None:
    """Print what a keyed state holds for KEY, as JSON: of a running JOB as of its last epoch, or of the
    checkpoint or savepoint at PATH.

    OPERATOR is the uid or the id of the operator. KEY is JSON, a list for a tuple, or plain text.
    """
    set_defaults(definitions, {})
    if _is_job(snapshot, untrusted):
        found = _asked(snapshot, jobmanager, "states/value", operator=operator, state=name, key=key)
        click.echo(f"as of epoch {found['epoch']}", err=True)
        click.echo(json.dumps(found["value"]))
        return
    from firesteel.state_processor import OperatorIdentifier, SavepointReader
    from firesteel.state_processor.running import key_of_text, value_shown

    reader = SavepointReader.read(snapshot, untrusted=untrusted)
    value = reader.value(OperatorIdentifier.of_text(operator), name, key_of_text(key))
    click.echo(json.dumps(value_shown(value)))


def _asked(job: str, jobmanager: str | None, what: str, **query: str) -> Any:
    from firesteel.cluster.client import OURS

    return client_of(jobmanager).get(f"{OURS}/jobs/{as_job_id(job)}/{what}", **query)
