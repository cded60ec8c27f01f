"""Where tests find what they need on this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

#: What scripts/test-servers has downloaded.
CACHE: Final = Path(os.environ.get("FIRESTEEL_TEST_CACHE", Path.home() / ".cache/firesteel-tests"))


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
