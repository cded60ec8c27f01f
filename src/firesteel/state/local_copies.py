"""Copies of a job's remote state files on one host (Flink's local recovery: ``TaskLocalStateStore``).

State files never change, so a copy is as good as its original, and whoever restores on a host that has it
reads nothing remote. A copy is checked against the digest of its run when a process opens it; one that is
damaged is fetched again. A copy lives about as long as its original.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from firesteel.common.configuration import Configuration
from firesteel.common.options.checkpointing import LOCAL_BACKUP, LOCAL_BACKUP_DIRECTORIES
from firesteel.state.host_directory import hold, job_directory
from firesteel.state.line import RunRef
from firesteel.storage.private_files import make_directories, private_opener

__all__ = ["LocalCopies", "local_copies"]

#: How many copies a process makes before it looks which originals are gone.
_MADE_BETWEEN_LOOKS: Final = 64
_NAME: Final = "copies"

#: Return the names of the files in a directory of the originals.
Originals = Callable[[str], Iterable[str]]


def local_copies(configuration: Configuration, local_dir: str | None, job_id: str) -> LocalCopies | None:
    """Return the copies of a job on this host; None: none are kept.

    :param local_dir: where they are unless the configuration says so.
    """
    if not configuration.get(LOCAL_BACKUP):
        return None
    named = configuration.get(LOCAL_BACKUP_DIRECTORIES)
    directory = named[0] if named else local_dir
    return None if directory is None else LocalCopies(job_directory(directory, job_id))


class LocalCopies:
    """:param job: the directory of the job on this host."""

    def __init__(self, job: Path) -> None:
        self._job = job
        self._root = job / _NAME
        self._made = 0
        self._touched: set[str] = set()  # directories of the originals

    def __reduce__(self) -> tuple[type[LocalCopies], tuple[Path]]:
        return type(self), (self._job,)

    def view(self, ref: RunRef, fetch: Callable[[], bytes], originals: Originals) -> memoryview:
        """Return the bytes of a run: those of its copy, which is made if it is not there.

        :param fetch: reads them remotely.
        """
        path = self._path(ref.path, ref.offset)
        found = _opened(path, ref)
        if found is not None:
            return found
        data = fetch()
        with suppress(OSError):  # no room, say: the job goes on without the copy
            self._put(ref.path, path, originals, data)
            return _opened(path, ref) or memoryview(data)
        return memoryview(data)

    def take(self, name: str, temporary: str, originals: Originals) -> None:
        """Keep a local file as the copy of the file ``name``, which has its content."""
        path = self._path(name, 0)
        with suppress(OSError):
            self._prepare(path)
            os.replace(temporary, path)
            self._count(name, originals)

    def new_file(self) -> str:
        """Return the path of a file that ``take`` can take without copying it.

        :raises OSError: the directory cannot be made.
        """
        self._hold()
        make_directories(str(self._root))
        return str(self._root / f"{uuid4().hex}.tmp")

    def _put(self, name: str, path: Path, originals: Originals, data: bytes) -> None:
        temporary = self.new_file()
        try:
            with open(temporary, "wb", opener=private_opener) as file:
                file.write(data)
            self._prepare(path)
            os.replace(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
        self._count(name, originals)

    def _hold(self) -> None:
        hold(self._job)

    def _prepare(self, path: Path) -> None:
        self._hold()
        make_directories(str(path.parent))

    def _path(self, name: str, offset: int) -> Path:
        """The copy of a part of a file has the offset behind the name of the file."""
        inner = name.replace("://", "/").lstrip("/")
        return self._root / (f"{inner}@{offset}" if offset else inner)

    def _count(self, name: str, originals: Originals) -> None:
        self._made += 1
        self._touched.add(name.rpartition("/")[0])
        if self._made % _MADE_BETWEEN_LOOKS == 0:
            touched, self._touched = self._touched, set()
            for directory in touched:
                self._forget_gone(directory, originals)

    def _forget_gone(self, directory: str, originals: Originals) -> None:
        with suppress(OSError):  # the copies stay until the next look
            copies = [path for path in self._path(directory, 0).iterdir() if path.is_file()]
            there = set(originals(directory))  # after the copies: an original is there before its copy
            for copy in copies:
                if copy.name.rpartition("@")[0] not in there and copy.name not in there:
                    copy.unlink(missing_ok=True)


def _opened(path: Path, ref: RunRef) -> memoryview | None:
    """Return the run that a copy holds; None: there is no copy, or it is damaged."""
    try:
        with open(path, "rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # ValueError: it is empty
        return None
    view = mapped[: ref.length]
    digest = hashlib.blake2b(view, digest_size=16).hexdigest()
    return view if digest == ref.digest.partition("-")[0] else None
