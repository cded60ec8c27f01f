"""Where the things are that are made once for each user and used again by later programs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Firesteel's part of the user's cache directory (``XDG_CACHE_HOME``); it may not be there yet."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "firesteel"
