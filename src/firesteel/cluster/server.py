"""The process of a session cluster: a dispatcher, the JVM of Spark, the REST server."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from firesteel.cluster.engines import Engine
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from firesteel.common.logs import logger
from firesteel.common.options import cluster as options, rest
from firesteel.rest.settings import rest_settings
from firesteel.storage.filesystems import PRIVATE
from firesteel.storage.private_files import make_directories

log = logger(__name__)

#: Who the dispatcher of a directory is.
WHO: Final = "dispatcher.json"
_LOCK: Final = "lock"
_LOOK_S: Final = 0.5


class Who(msgspec.Struct, frozen=True):
    """A dispatcher that runs."""

    pid: int
    url: str
    version: str


def directory_of(configuration: Configuration) -> Path:
    """Where the cluster keeps what it must not lose."""
    chosen = configuration.get(options.DIRECTORY)
    if chosen:
        return Path(os.path.abspath(chosen))
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    port = configuration.get(rest.BIND_PORT) or configuration.get(rest.PORT)
    return Path(state) / "firesteel" / f"cluster-{port}"


def who_of(directory: Path) -> Who | None:
    """The dispatcher that runs; None: there is none."""
    if not _is_locked(directory):
        return None
    try:
        return msgspec.json.decode((directory / WHO).read_bytes(), type=Who)
    except (OSError, msgspec.MsgspecError):  # it starts
        return None


def _is_locked(directory: Path) -> bool:
    try:
        with open(directory / _LOCK, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


class _OneAtATime:
    """The right to be the dispatcher of a directory; ends with the process."""

    def __init__(self, directory: Path) -> None:
        make_directories(str(directory))
        self._file = open(directory / _LOCK, "ab")  # noqa: SIM115 - as long as the process lives
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = who_of(directory)
            raise ConfigurationError(
                "There is a cluster with this directory already.",
                detail=f"{directory}" + ("" if who is None else f", at {who.url}, process {who.pid}"),
                hint=f"stop it by `firesteel cluster stop`, or name another one by {options.DIRECTORY.key}",
            ) from None


def serve_cluster(
    configuration: Configuration,
    make_engine: Callable[[Configuration], Engine],
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Be a cluster until a signal or a request ends it. Called in the main thread.

    :raises ConfigurationError: the settings contradict each other, or no port is free.
    """
    for module in ("starlette", "uvicorn", "httptools", "python_multipart"):
        extra(module, "The session cluster", "server", "python-multipart" if "_" in module else None)
    from firesteel.cluster.reign import Reign
    from firesteel.cluster.standby import Standby, shared_directory

    settings = rest_settings(configuration)
    directory = directory_of(configuration)
    right = _OneAtATime(directory)
    make_directories(str(directory / "logs"))
    shared = shared_directory(configuration)
    stop = threading.Event()
    _listen_for_signals(stop)
    at_work: Reign | Standby
    if shared is None:
        at_work = Reign(configuration, settings, directory, make_engine)
    else:
        make_directories(str(shared))
        at_work = Standby(configuration, settings, shared, make_engine)
    try:
        at_work.begin()
        who = Who(os.getpid(), at_work.url, _version())
        PRIVATE.write(str(directory / WHO), msgspec.json.encode(who))
        on_ready(at_work.url)
        while not stop.wait(_LOOK_S) and not at_work.is_over:
            continue
        log.info("the cluster is stopped")
    finally:
        at_work.end()
        (directory / WHO).unlink(missing_ok=True)
        del right
    if isinstance(at_work, Standby) and at_work.failure is not None:
        raise at_work.failure


def _listen_for_signals(stop: threading.Event) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda signum, frame: stop.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _version() -> str:
    from firesteel.version import __version__

    return __version__
