"""Files that survive a power failure.

Writes and renames first reach the memory of the operating system and may reach the disk in any order. A file
that another file will refer to is synced before the other one gets its name. This costs some milliseconds per
file, so it is done only where durability is promised: for each checkpoint, not for each epoch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def sync_file(path: str) -> None:
    """Wait until the content of a file is on disk, whichever process wrote it."""
    _sync(path, os.O_RDONLY)


def sync_names(paths: Iterable[str], root: str) -> None:
    """Wait until the directory entries of ``paths``, and of their directories below ``root``, are on disk."""
    directories: set[Path] = set()
    for path in paths:
        for directory in Path(path).parents:
            directories.add(directory)
            if directory == Path(root):
                break
    for directory in sorted(directories, reverse=True):  # innermost first
        _sync(str(directory), os.O_RDONLY | os.O_DIRECTORY)


def replace_durably(temporary: str, path: str) -> None:
    """Rename a complete file to its final name, durably."""
    sync_file(temporary)
    os.replace(temporary, path)
    sync_names((path,), os.path.dirname(path))


def _sync(path: str, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
