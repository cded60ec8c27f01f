"""Temporary files of this process and of those that it starts: below one directory, which ends with it.

A process that ends normally removes its directory. That of one that was killed is removed by the next process
that makes one.
"""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from pathlib import Path
from typing import Final

from firesteel.storage.held_directories import HeldDirectory

PREFIX: Final = "firesteel-"  # of the directories, in the directory for temporary files

_made: dict[int, HeldDirectory] = {}  # by process: a fork has one of its own
_kept: set[Path] = set()  # what stays when the process ends
_one_at_a_time = threading.Lock()


def process_directory() -> Path:
    """The directory of this process; made when it is asked for first."""
    with _one_at_a_time:
        found = _made.get(os.getpid())
        if found is None:
            found = _made[os.getpid()] = HeldDirectory(Path(tempfile.gettempdir()), PREFIX)
            atexit.register(_remove, found, os.getpid())
        return found.path


def named_directory(name: str) -> Path:
    """The directory of this name in that of this process."""
    directory = process_directory() / name
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def new_directory() -> Path:
    """A new directory in that of this process."""
    return Path(tempfile.mkdtemp(dir=process_directory()))


def keep(file: Path) -> None:
    """Let a file of the directory of this process stay for some days when that ends, for users to read."""
    _kept.add(file)


def keep_no_longer(file: Path) -> None:
    """The file goes with the directory again."""
    _kept.discard(file)


def _remove(directory: HeldDirectory, owner: int) -> None:
    if os.getpid() == owner:
        directory.remove(frozenset(file for file in _kept if file.is_relative_to(directory.path)))
