"""What the commands share that ask a cluster for something."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from firesteel.common.job_status import JobStatus

if TYPE_CHECKING:
    from firesteel.cluster.client import RestClient

#: Exit codes; 2 is click's, for words that it does not understand.
FAILED: Final = 1
UNREACHABLE: Final = 3
UNKNOWN: Final = 4
INTERRUPTED: Final = 130

#: The statuses of a job that has ended, as the REST API writes them.
ENDED: Final = frozenset(status.name for status in JobStatus if status.is_globally_terminal_state())
_PATIENCE: Final = 2  # tries: somebody waits for the command

JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")
JOBMANAGER = click.option(
    "-m",
    "--jobmanager",
    metavar="HOST:PORT",
    help="Where the cluster is; without it: as rest.address and rest.port say, or 127.0.0.1:8081. "
    "https://HOST:PORT for TLS.",
)


def jobs_of_the_cluster(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the completion of shells."""
    try:
        found = client_of(ctx.params.get("jobmanager"), patience=1).get("/v1/jobs")["jobs"]
        return [job["id"] for job in found if job["id"].startswith(incomplete)]
    except Exception:  # a completion has nobody to complain to
        return []


def executors_of_the_cluster(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the completion of shells."""
    try:
        found = _executors(client_of(ctx.params.get("jobmanager"), patience=1))
        return [executor for executor in found if executor.startswith(incomplete)]
    except Exception:  # a completion has nobody to complain to
        return []


JOB = click.argument("job", metavar="JOB", shell_complete=jobs_of_the_cluster)
EXECUTOR = click.option(
    "--executor",
    metavar="ID",
    shell_complete=executors_of_the_cluster,
    help="The log of an executor (a task manager), by its id or the beginning of it.",
)


def client_of(jobmanager: str | None, patience: int = _PATIENCE) -> RestClient:
    from firesteel.cluster.client import RestClient, address_of
    from firesteel.datastream._session_defaults import session_defaults

    return RestClient(address_of(jobmanager, session_defaults()), patience)


def talking(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose errors end it with a sentence, and an exit code that says what kind it was."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from firesteel.cluster.client import ClusterUnreachableError, RequestRefusedError
        from firesteel.common.errors import FiresteelError

        try:
            return command(*args, **kwargs)
        except ClusterUnreachableError as error:
            raise _ended(error, UNREACHABLE) from error
        except RequestRefusedError as error:
            raise _ended(error, UNKNOWN if error.status == 404 else FAILED) from error
        except FiresteelError as error:
            raise _ended(error, FAILED) from error
        except KeyboardInterrupt:
            click.echo("", err=True)
            sys.exit(INTERRUPTED)

    return run


class CommandFailed(click.ClickException):
    """Ends a command with a sentence and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.__dict__["exit_code"] = code  # of the instance, though click declares it of the class


def _ended(error: Exception, code: int) -> click.ClickException:
    return CommandFailed(str(error), code)


def is_job_id(text: str) -> bool:
    return len(text) == 32 and set(text.lower()) <= set("0123456789abcdef")


def as_job_id(text: str) -> str:
    """Raises click.BadParameter."""
    if not is_job_id(text):
        raise click.BadParameter(f"{text} is not the id of a job: 32 hexadecimal digits")
    return text.lower()


def as_executor_id(client: RestClient, text: str) -> str:
    """The id of the executor whose id begins like that.

    :raises CommandFailed: there is none, or there are several.
    """
    known = _executors(client)
    found = [executor for executor in known if executor.startswith(text)]
    if len(found) != 1:
        how_many = "No executor has" if not found else f"{len(found)} executors have"
        listed = "".join(f"\n  {executor}" for executor in known) or " none"
        raise CommandFailed(f"{how_many} an id that begins with {text}. There are:{listed}", UNKNOWN)
    return found[0]


def _executors(client: RestClient) -> list[str]:
    return [executor["id"] for executor in client.get("/v1/taskmanagers")["taskmanagers"]]


def table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    """Columns as wide as they must be.

    >>> print(table([("1", "count")], ("ID", "NAME")))
    ID  NAME
    1   count
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def span(ms: int) -> str:
    """A duration in two units.

    >>> [span(ms) for ms in (850, 61_000, 90_061_000)]
    ['0.8 s', '1 m 1 s', '1 d 1 h']
    """
    seconds = ms // 1000
    if seconds < 60:
        return f"{ms / 1000:.1f} s"
    for size, name, below, lower in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            return f"{seconds // size} {name} {seconds % size // below} {lower}"
    return f"{seconds} s"
