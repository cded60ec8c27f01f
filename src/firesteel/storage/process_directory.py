"""Temporary files of this process and its children, below one directory that is removed when it ends.

A process that ends normally removes its directory. The directory of a killed process is removed by the next
process that creates one.
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

_made: dict[int, HeldDirectory] = {}  # by process id: a forked process has its own
_kept: set[Path] = set()  # files that stay when the process ends
_one_at_a_time = threading.Lock()


def process_directory() -> Path:
    """Return the directory of this process, created on the first call."""
    with _one_at_a_time:
        found = _made.get(os.getpid())
        if found is None:
            found = _made[os.getpid()] = HeldDirectory(Path(tempfile.gettempdir()), PREFIX)
            atexit.register(_remove, found, os.getpid())
        return found.path


def named_directory(name: str) -> Path:
    """Return the directory with this name in the directory of this process."""
    directory = process_directory() / name
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def new_directory() -> Path:
    """Create a new directory in the directory of this process."""
    return Path(tempfile.mkdtemp(dir=process_directory()))


def keep(file: Path) -> None:
    """Keep a file of this process's directory for some days after the process ends, for users to read."""
    _kept.add(file)


def keep_no_longer(file: Path) -> None:
    """Undo ``keep``: the file is removed with the directory."""
    _kept.discard(file)


def _remove(directory: HeldDirectory, owner: int) -> None:
    if os.getpid() == owner:
        directory.remove(frozenset(file for file in _kept if file.is_relative_to(directory.path)))
