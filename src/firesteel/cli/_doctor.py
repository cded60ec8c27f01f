"""``firesteel doctor``: reports what is missing on this machine and how to fix it."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from firesteel.cli._endpoints import check_endpoint
from firesteel.cli._findings import Finding, fail, failed, note, ok
from firesteel.cli._packages import check_packages
from firesteel.common.errors import FiresteelError
from firesteel.spark.java import find_java, java_version

_OLDEST_PYTHON: Final = (3, 11)
_ROOM_BYTES: Final = 1 << 30
_IN_WORKERS: Final = ("pyarrow", "cloudpickle", "lmdb", "msgspec")


def examine(endpoints: Sequence[str] = (), extras: Sequence[str] = ()) -> Iterator[Finding]:
    """Run all checks in sequence; each takes a few seconds at most.

    :param endpoints: brokers and databases that must be reachable.
    :param extras: extras of Firesteel that must be installed.
    """
    yield from _check_python()
    yield _check_java()
    yield from check_packages(extras)
    yield from _check_plugins()
    yield _check_worker_python()
    yield from _check_spark_settings()
    yield from _check_machine()
    for endpoint in endpoints:
        yield check_endpoint(endpoint)


def _check_python() -> Iterator[Finding]:
    here = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        yield fail(
            f"Python {here}: 3.11 or newer is needed", "install python3.11, and Firesteel with its pip"
        )
    else:
        yield ok(f"Python {here} at {sys.executable}")


def _check_java() -> Finding:
    given = os.environ.get("JAVA_HOME")
    try:
        home = find_java()
    except FiresteelError as e:
        return failed(e)
    found = ok(f"Java {java_version(home)} at {home}")
    if given and os.path.realpath(given) != os.path.realpath(home):
        return note(
            f"JAVA_HOME={given} is not a Java installation of version 17 or newer; {home} is used",
            f"export JAVA_HOME={home}",
        )
    return found


def _check_plugins() -> Iterator[Finding]:
    from firesteel.connectors import plugins

    for what, installed, load in (
        ("connector", plugins.installed_connectors(), plugins.load_connector),
        ("format", plugins.installed_formats(), plugins.load_format),
    ):
        for name, package in installed.items():
            try:
                load(name)
                yield ok(f"{what} {name} of {package}")
            except FiresteelError as e:
                yield failed(e)


def _check_worker_python() -> Finding:
    """Check the Python that Spark's workers run on this machine with the current environment variables."""
    chosen = os.environ.get("PYSPARK_PYTHON")
    if chosen is None:
        return ok("workers run the Python that runs the program (PYSPARK_PYTHON is not set)")
    found = shutil.which(chosen)
    if found is None:
        return fail(f"PYSPARK_PYTHON={chosen} is not there", f"export PYSPARK_PYTHON={sys.executable}")
    code = f"import sys; print(*sys.version_info[:2], sep='.'); import {', '.join(_IN_WORKERS)}"
    done = subprocess.run([found, "-c", code], capture_output=True, text=True, timeout=60)
    there, here = done.stdout.strip(), "{}.{}".format(*sys.version_info[:2])
    if there != here:
        return fail(
            f"PYSPARK_PYTHON={chosen} is Python {there or 'that does not start'}, the program runs {here}",
            f"export PYSPARK_PYTHON={sys.executable}",
        )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1]
        return fail(
            f"the workers' Python {found} lacks a package: {last}", f"{found} -m pip install firesteel"
        )
    return ok(f"workers run Python {there} at {found}")


def _check_spark_settings() -> Iterator[Finding]:
    try:
        wanted = ".".join(version("pyspark").split(".")[:2])
    except PackageNotFoundError:
        return  # reported already
    home = os.environ.get("SPARK_HOME")
    if home and not glob.glob(f"{glob.escape(home)}/jars/spark-core_*-{wanted}.*.jar"):
        yield fail(f"SPARK_HOME={home} is not Spark {wanted}, but PySpark would use it", "unset SPARK_HOME")
    elif home:
        yield ok(f"Spark {wanted} at {home}")
    if os.environ.get("SPARK_REMOTE"):
        yield fail("SPARK_REMOTE is set: a Spark Connect session runs no epochs", "unset SPARK_REMOTE")
    for key, (wrong, why, right) in _WRONG_DEFAULTS.items():
        if _spark_defaults().get(key) == wrong:
            yield fail(f"spark-defaults.conf: {key} is {wrong}: {why}", f"set {key} to {right} there")


_WRONG_DEFAULTS: Final = {
    "spark.task.maxFailures": ("1", "a lost worker fails the epoch", "4"),
    "spark.python.unix.domain.socket.enabled": ("false", "each Python task waits 40 ms longer", "true"),
}


def _spark_defaults() -> dict[str, str]:
    """Parse the lines ``key value`` or ``key=value`` of Spark's defaults file."""
    home = os.environ.get("SPARK_HOME")
    directory = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    file = None if directory is None else Path(directory, "spark-defaults.conf")
    if file is None or not file.is_file():
        return {}
    lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    pairs = (line.replace("=", " ", 1).split(None, 1) for line in lines if line and line[0] != "#")
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def _check_machine() -> Iterator[Finding]:
    name = socket.gethostname()
    if "SPARK_LOCAL_IP" not in os.environ:
        try:
            socket.gethostbyname(name)
        except OSError:
            yield fail(
                f"the name of this machine, {name}, has no address: Spark does not start",
                "export SPARK_LOCAL_IP=127.0.0.1",
            )
    directory = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    for place in directory.split(","):
        if not os.access(place, os.W_OK):
            yield fail(f"{place} cannot be written", "export SPARK_LOCAL_DIRS=DIRECTORY, one of your own")
        elif shutil.disk_usage(place).free < _ROOM_BYTES:
            free = shutil.disk_usage(place).free >> 20
            yield fail(
                f"{place} has only {free} MB left for Spark's files", "export SPARK_LOCAL_DIRS=DIRECTORY"
            )
        else:
            yield ok(f"{place} has room for Spark's files")
