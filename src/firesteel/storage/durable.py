"""Files that must be there after a power cut.

A write and a rename are in the memory of the operating system at first, and may reach the disk in any order.
What another file will refer to is synced before that file gets its name. This costs some milliseconds for
each file, so it is done where something becomes a promise: for a checkpoint, not for each epoch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def sync_file(path: str) -> None:
    """Wait until the content of a file is on disk, whoever has written it."""
    _sync(path, os.O_RDONLY)


def sync_names(paths: Iterable[str], root: str) -> None:
    """Wait until the names of files, and of their directories below ``root``, are on disk."""
    directories: set[Path] = set()
    for path in paths:
        for directory in Path(path).parents:
            directories.add(directory)
            if directory == Path(root):
                break
    for directory in sorted(directories, reverse=True):  # what is within first
        _sync(str(directory), os.O_RDONLY | os.O_DIRECTORY)


def replace_durably(temporary: str, path: str) -> None:
    """Give a complete file its name, for good."""
    sync_file(temporary)
    os.replace(temporary, path)
    sync_names((path,), os.path.dirname(path))


def _sync(path: str, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
