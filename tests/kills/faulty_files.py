"""Files whose writes fail while a marker says so: what firesteel opens for writing below the run's directory,
in the driver and in the workers."""

from __future__ import annotations

import builtins
import errno
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from firesteel.connectors.files import part_store as _part_store
from firesteel.state import files as state_files
from firesteel.storage import filesystems as _storage

_MARKER: Final = "writes-fail"
_SHARE: Final = 0.3  # of the writes fail
_ERRORS: Final = (errno.ENOSPC, errno.EIO, errno.EDQUOT)


@contextmanager
def failing(place: Path) -> Iterator[None]:
    (place / _MARKER).touch()
    try:
        yield
    finally:
        (place / _MARKER).unlink()


def install(place: str) -> None:
    """Let the modules that write open their files here. Workers call it before the job's code comes."""
    for module in (state_files, _storage, _part_store):
        module.open = partial(_open, place)  # type: ignore[attr-defined]


def _open(place: str, path: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
    file = builtins.open(path, mode, *args, **options)  # noqa: SIM115
    if mode in ("r", "rb") or not os.path.abspath(os.fspath(path)).startswith(place):
        return file
    return _Faulty(file, os.path.join(place, _MARKER))


class _Faulty:
    """A file for writing, some writes of which end in the middle."""

    def __init__(self, file: Any, marker: str) -> None:
        self._file = file
        self._marker = marker

    def write(self, data: Any) -> int:
        if os.path.exists(self._marker) and random.random() < _SHARE:
            self._file.write(data[: len(data) // 2])
            number = random.choice(_ERRORS)
            raise OSError(number, os.strerror(number))
        written: int = self._file.write(data)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Faulty:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
