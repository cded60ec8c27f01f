"""Where tests find what they need on this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

import psutil

from tests.waiting import until

#: What scripts/test-servers has downloaded.
CACHE: Final = Path(os.environ.get("FIRESTEEL_TEST_CACHE", Path.home() / ".cache/firesteel-tests"))
#: Names the process that downloads it still, if there is one: ``make test`` does not wait for its end.
FETCHER: Final = "FIRESTEEL_TEST_FETCHER"
_PATIENCE_S: Final = 600.0


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
    """Return a port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
