"""Directories that live as long as a process holds them, even if the process is killed.

The process that creates one holds a lock in it. A killed process holds no lock, so the next process that
creates a directory next to it finds and removes it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from firesteel.common.clock import SystemClock
from firesteel.storage.private_files import make_directories

_LOCK: Final = ".firesteel-lock"
_KEPT: Final = ".firesteel-kept"  # replaces the lock, next to files that outlive their process
_UNNAMED_MS: Final = 3_600_000  # a directory gets its name a moment after it is created
_DAY_MS: Final = 86_400_000

#: How long a kept file stays.
KEPT_DAYS: Final = 7

_shared: dict[Path, int] = {}  # by directory, the open lock file


class HeldDirectory:
    """A new directory ``base/prefix*``, accessible to its owner only. Abandoned directories next to it are
    removed first."""

    def __init__(self, base: Path, prefix: str) -> None:
        remove_abandoned(base, prefix)
        hidden = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=base))
        self._fd = _open_lock(hidden, os.O_CREAT)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        self.path = hidden.rename(base / hidden.name[1:])  # locked before others look for it

    def remove(self, kept: frozenset[Path] = frozenset()) -> None:
        """Remove the directory, except the *kept* files, which stay for `KEPT_DAYS`."""
        kept = frozenset(file for file in kept if file.exists())
        if kept:
            (self.path / _KEPT).touch()
        _remove_all_but(self.path, kept | {self.path / _LOCK, self.path / _KEPT})
        with suppress(OSError):
            if kept:
                (self.path / _LOCK).unlink()
            elif os.listdir(self.path) == [_LOCK]:  # otherwise still written to: leave it abandoned
                shutil.rmtree(self.path)
        os.close(self._fd)


@contextmanager
def held_directory(base: Path, prefix: str) -> Iterator[Path]:
    """Create a directory that exists for the duration of the block."""
    held = HeldDirectory(base, prefix)
    try:
        yield held.path
    finally:
        held.remove()


def remove_abandoned(base: Path, prefix: str) -> None:
    """Remove the directories of killed processes, and expired kept files."""
    for directory in base.glob(f"{prefix}*"):
        _remove_unless_held(directory)
        remove_when_older(directory, KEPT_DAYS, directory / _KEPT)
    for directory in base.glob(f".{prefix}*"):
        _remove_when_older(directory, directory, _UNNAMED_MS)


def share(directory: Path, siblings: re.Pattern[str]) -> None:
    """Hold a directory, together with other processes, for the lifetime of this process. It is created if it
    does not exist. Directories next to it with names like *siblings* that no process shares any more are
    removed."""
    if directory in _shared and (directory / _LOCK).exists():
        return
    if directory.parent.is_dir():
        for other in directory.parent.iterdir():
            if other != directory and siblings.fullmatch(other.name):
                _remove_unless_held(other)
    while True:
        make_directories(str(directory))
        fd = _open_lock(directory, os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_SH)
        if _is_still_there(directory, fd):
            break
        os.close(fd)  # it was removed meanwhile
    if directory in _shared:
        os.close(_shared[directory])
    _shared[directory] = fd


def is_held(directory: Path) -> bool:
    """Return true if a process, including this one, holds the directory."""
    try:
        fd = _open_lock(directory)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def remove_when_older(path: Path, days: float, dated_by: Path | None = None) -> None:
    """Remove a file or directory if it was last changed more than *days* ago. If *dated_by* is given, the
    time of that file counts."""
    _remove_when_older(path, dated_by or path, days * _DAY_MS)


def _remove_unless_held(directory: Path) -> None:
    with suppress(OSError):  # owned by another user, gone, or in use
        fd = _open_lock(directory)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(fd)


def _remove_when_older(path: Path, dated_by: Path, age_ms: float) -> None:
    with suppress(OSError):
        if dated_by.lstat().st_mtime * 1000 < SystemClock().now_ms() - age_ms:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def _remove_all_but(directory: Path, kept: frozenset[Path]) -> None:
    for path in sorted(directory.rglob("*"), reverse=True):  # contents before their directory
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            elif path not in kept:
                path.unlink()


def _is_still_there(directory: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(directory / _LOCK), os.fstat(fd))
    except OSError:
        return False


def _open_lock(directory: Path, flags: int = 0) -> int:
    return os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
