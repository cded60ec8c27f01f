"""``firesteel-python``: what Flink's client starts in the place of Python.

    flink run -m HOST:PORT -pyclientexec firesteel-python -py program.py

The client gives its whole configuration by a gateway; the program then does what ``firesteel run -m`` does.
"""

from __future__ import annotations

import os
import sys
from typing import Final

import click

from firesteel.common.options import cluster, python, recovery, rest

_VALUED: Final = ("-W", "-X")
#: What of the client's configuration is Flink's own, and nothing to a job here.
_NOT_OURS: Final = (
    "pipeline.jars", "pipeline.classpaths", "execution.target", "jobmanager.", "taskmanager.", "env.",
    python.CLIENT_EXECUTABLE.key, "rest.", "$internal.", "classloader.", python.EXECUTABLE.key,
)  # fmt: skip


def main() -> None:
    """The program of the console script."""
    from firesteel.spark.flink_gateway import is_started_by_flink

    if not is_started_by_flink():
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    try:
        _run(sys.argv[1:])
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)


def _run(words: list[str]) -> None:
    from firesteel.cli._remote import run_remotely
    from firesteel.cli._settings import set_defaults
    from firesteel.common.errors import FiresteelError
    from firesteel.spark.flink_gateway import settings_of_flink

    try:
        settings = settings_of_flink()
    except FiresteelError as error:
        raise click.ClickException(str(error)) from error
    script, arguments = _program(words)
    scheme = "https" if settings.get(rest.SSL.key) == "true" else "http"
    host, port = settings.get(rest.ADDRESS.key, "127.0.0.1"), settings.get(rest.PORT.key, "8081")
    address = f"{scheme}://{host}:{port}"
    kept = {key: value for key, value in settings.items() if not key.startswith(_NOT_OURS)}
    set_defaults((), kept)
    run_remotely(
        address,
        script,
        tuple(arguments),
        detached=settings.get(cluster.ATTACHED.key, "false") != "true",
        shutdown=settings.get(cluster.SHUTDOWN_ON_EXIT.key) == "true",
        pyflink=True,
        quiet=False,
        job_id=settings.get(recovery.JOB_ID.key),
    )


def _program(words: list[str]) -> tuple[str, list[str]]:
    """The file and its arguments, of a command line of Python: ``-u program.py x``, or ``-u -m module x``."""
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] != "-m":
        position += 2 if words[position] in _VALUED else 1
    left = words[position:]
    if left[:1] == ["-m"] and len(left) > 1:
        return _file_of_module(left[1]), left[2:]
    if not left:
        raise click.UsageError("Flink's client has named no program.")
    return left[0], left[1:]


def _file_of_module(module: str) -> str:
    from importlib.util import find_spec

    for place in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        sys.path.insert(0, place)
    found = find_spec(module)
    if found is None or found.origin is None:
        raise click.UsageError(f"There is no module {module}.")
    return found.origin
