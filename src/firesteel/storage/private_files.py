"""Local files that hold users' data: accessible to their owner only, with errors that say what is wrong and
where.

New directories get the mode 0700 and new files 0600; existing directories keep their mode. A directory with
the set-group-id bit is meant to be shared, so below it the group may also read and remove new files.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from firesteel.common.errors import StorageError

_SHARED_DIRECTORY: Final = 0o2770
_SHARED_FILE: Final = 0o640

#: Errors of a file system that accepts no more data until space is freed.
NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS))

_HINTS: Final = {
    errno.ENOSPC: "make room there, or name a directory on a larger disk",
    errno.EDQUOT: "the quota of the user is used up: make room, or name a directory elsewhere",
    errno.EROFS: "the file system can only be read: name a directory elsewhere",
    errno.EACCES: "let the user of this process write there, or name another directory",
    errno.EPERM: "let the user of this process write there, or name another directory",
    errno.ENOTDIR: "a part of this path is a file: name another directory",
    errno.EEXIST: "a part of this path is a file: name another directory",
}


def make_directories(path: str) -> None:
    """Create a directory and its missing parents, accessible to their owner only."""
    if not path or os.path.isdir(path):
        return
    parent = os.path.dirname(path.rstrip("/"))
    make_directories(parent)
    with suppress(FileExistsError):  # by another process, meanwhile
        os.mkdir(path, 0o700)
        if _is_shared(parent):
            os.chmod(path, _SHARED_DIRECTORY)
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


def private_opener(path: str, flags: int) -> int:
    """For ``open(..., opener=private_opener)``: a new file is accessible to its owner only."""
    return os.open(path, flags, _SHARED_FILE if _is_shared(os.path.dirname(path)) else 0o600)


def _is_shared(directory: str) -> bool:
    return bool(os.stat(directory or ".").st_mode & stat.S_ISGID)


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Convert file system errors in the block, which writes ``path``, to a StorageError that names the
    path."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise storage_error(path, error) from error


def storage_error(path: str, error: OSError) -> StorageError:
    """Return the error for a failure to write ``path``."""
    made = StorageError(
        f"{path} cannot be written: {error.strerror or error}.",
        detail=_room(path),
        hint=_HINTS.get(error.errno or 0),
    )
    made.errno, made.strerror = error.errno, error.strerror
    return made


def _room(path: str) -> str | None:
    """Describe the free space in the file system of a local path."""
    if "://" in path:
        return None
    place = path
    while not os.path.isdir(place) and place not in ("", "/"):
        place = os.path.dirname(place)
    try:
        usage = shutil.disk_usage(place or ".")
    except OSError:
        return None
    return f"the file system of {place} has {usage.free:,} of {usage.total:,} bytes free"
