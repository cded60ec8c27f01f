"""Temporary files of this process, which end with it, also when it is killed.

A process that ends normally removes its directory. Of one that was killed the directory stays, with a lock
that nobody holds: the next process that makes one finds it and removes it.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "firesteel-"
_LOCK: Final = ".lock"

_made: dict[int, Path] = {}  # by process: a fork has one of its own
_held: list[int] = []  # what keeps the locks
_kept: set[Path] = set()  # what stays when the process ends
_one_at_a_time = threading.Lock()


def process_directory() -> Path:
    """The directory of this process; made when it is asked for first."""
    with _one_at_a_time:
        found = _made.get(os.getpid())
        if found is None:
            base = Path(tempfile.gettempdir())
            _remove_abandoned(base)
            found = _made[os.getpid()] = _make(base)
            atexit.register(_remove, found, os.getpid())
        return found


def new_directory() -> Path:
    """A new directory in that of this process."""
    return Path(tempfile.mkdtemp(dir=process_directory()))


def keep(file: Path) -> None:
    """Let a file of the directory of this process stay when the process ends, for users to read."""
    _kept.add(file)


def keep_no_longer(file: Path) -> None:
    """The file goes with the directory again."""
    _kept.discard(file)


def _make(base: Path) -> Path:
    """Locked before it has a name that others look for."""
    hidden = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=base))
    lock = os.open(hidden / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    _held.append(lock)
    return hidden.rename(base / hidden.name[1:])


def _remove(directory: Path, owner: int) -> None:
    if os.getpid() != owner:
        return
    kept = {file for file in _kept if file.is_relative_to(directory) and file.exists()}
    if not kept:
        shutil.rmtree(directory, ignore_errors=True)
        return
    for path in sorted(directory.rglob("*"), reverse=True):  # what is in a directory before it
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            elif path not in kept:
                path.unlink()  # the lock too: nobody takes the directory for an abandoned one


def _remove_abandoned(base: Path) -> None:
    for directory in base.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or gone, or in use
            lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)
