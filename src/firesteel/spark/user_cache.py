"""Where the things are that are made once for each user and used again by later programs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from firesteel.storage.held_directories import remove_when_older

#: What no program has used for so long is removed.
UNUSED_DAYS: Final = 14


def cache_directory() -> Path:
    """Firesteel's part of the user's cache directory (``XDG_CACHE_HOME``); it may not be there yet."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "firesteel"


def mark_used(path: Path) -> None:
    """Note that a program uses this file or directory of the cache now."""
    with suppress(OSError):
        os.utime(path)


def remove_unused(directory: Path, pattern: str) -> None:
    """Remove what matches a glob pattern in *directory* and was not used for `UNUSED_DAYS`."""
    for path in directory.glob(pattern):
        remove_when_older(path, UNUSED_DAYS)
