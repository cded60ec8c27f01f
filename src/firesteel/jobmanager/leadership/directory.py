"""A lease as a file in a directory that all candidates share, on one host or by NFS with working locks."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firesteel.jobmanager.leadership.lease import Lease, LeaseUnavailableError, Version, decode, encode
from firesteel.storage.filesystems import PRIVATE
from firesteel.storage.private_files import make_directories

__all__ = ["DirectoryLease"]


class DirectoryLease:
    """The file ``leader.json``; ``leader.lock`` is locked while it is replaced.

    :param directory: is made if it is not there. ``flock`` must work on its file system.
    """

    def __init__(self, directory: str) -> None:
        self._file = Path(directory) / "leader.json"
        self._lock = Path(directory) / "leader.lock"

    def read(self) -> tuple[Lease | None, Version]:
        data = self._content()
        return decode(data, str(self._file)), data

    def replace(self, lease: Lease, version: Version) -> bool:
        with self._locked():
            if self._content() != version:
                return False
            PRIVATE.write(str(self._file), encode(lease))
        return True

    def close(self) -> None: ...

    def _content(self) -> bytes:
        try:
            return self._file.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise _unavailable(self._file, error) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            make_directories(str(self._lock.parent))
            handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unavailable(self._lock, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        except OSError as error:
            raise _unavailable(self._lock, error) from error
        finally:
            os.close(handle)  # releases the lock


def _unavailable(path: Path, error: OSError) -> LeaseUnavailableError:
    return LeaseUnavailableError(f"The lease {path} cannot be read or written.", detail=str(error))
