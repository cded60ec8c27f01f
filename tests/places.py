"""Where tests find what they need on this machine."""

from __future__ import annotations

import itertools
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from tests.waiting import until

#: What scripts/test-servers has downloaded.
CACHE: Final = Path(os.environ.get("FIRESTEEL_TEST_CACHE", Path.home() / ".cache/firesteel-tests"))
#: Names the process that downloads it still, if there is one: ``make test`` does not wait for its end.
FETCHER: Final = "FIRESTEEL_TEST_FETCHER"
_PATIENCE_S: Final = 600.0
_FIRST_PORT: Final = 20_000
_PORTS_OF_A_WORKER: Final = 1_000
_MOST_WORKERS: Final = 8


def fetched(directory: Path) -> Path:
    """Return *directory*, which a script has filled with jars; wait for that while it is being done.

    :raises AssertionError: it is not there, and is not coming.
    """
    whole = directory / ".complete"
    until(
        lambda: whole.exists() or not _are_coming(),
        f"{directory} is fetched still",
        _PATIENCE_S,
        look_s=0.2,
    )
    assert whole.exists(), f"there is nothing in {directory}: run scripts/test-servers"
    return directory


def _are_coming() -> bool:
    try:
        return bool(psutil.Process(int(os.environ[FETCHER])).status() != psutil.STATUS_ZOMBIE)
    except (KeyError, psutil.NoSuchProcess):
        return False


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on.

    It is none of those that the system gives to whoever asks for any port, as every connection does: such a
    one would be somebody's before it is used. No other worker of the tests is given it, and none twice.
    """
    while True:
        port = next(_ports)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _of_this_worker() -> Iterator[int]:
    """Ports below those that Linux and other systems give away, a part of them for each worker."""
    name = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    first = _FIRST_PORT + int(name) % _MOST_WORKERS * _PORTS_OF_A_WORKER
    ports = list(range(first, first + _PORTS_OF_A_WORKER))
    random.Random(os.getpid()).shuffle(ports)  # what a run has left behind is not met by the next
    return itertools.cycle(ports)


_ports = _of_this_worker()
