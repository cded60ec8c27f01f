"""The archives of a program, unpacked where its workers run."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from firesteel.common.errors import ConfigurationError
from firesteel.storage.process_directory import new_directory, process_directory

_ZIPPED: Final = (".zip", ".jar", ".whl", ".egg")


def unpacked(archives: Sequence[str]) -> str:
    """A directory with what is in *archives* (``path`` or ``path#target``), under the target or their names.

    It is made once per process for the same archives. Raises ConfigurationError for a file that is not an
    archive.
    """
    stats = [(entry, os.stat(entry.partition("#")[0])) for entry in archives]
    content = repr([(entry, stat.st_mtime_ns, stat.st_size) for entry, stat in stats])
    directory = process_directory() / f"archives-{hashlib.md5(content.encode()).hexdigest()}"
    if not directory.is_dir():
        building = new_directory()
        for entry in archives:
            path, _, target = entry.partition("#")
            _unpack(path, building / (target or os.path.basename(path)))
        building.rename(directory)
    return str(directory)


def _unpack(path: str, target: Path) -> None:
    if target.exists():
        raise ConfigurationError(
            f"Two archives have the same target directory {target.name}.",
            detail=path,
            hint="give them target directories of their own: path#directory",
        )
    try:
        if path.endswith(_ZIPPED):
            _unzip(path, target)
        else:
            shutil.unpack_archive(path, target, filter="tar")
    except (shutil.ReadError, zipfile.BadZipFile, OSError, ValueError) as e:
        raise ConfigurationError(
            f"The archive {path} cannot be unpacked.",
            detail=f"{type(e).__name__}: {e}",
            hint="zip, jar, whl, tar, tar.gz, tar.bz2 and tar.xz can be",
        ) from e


def _unzip(path: str, target: Path) -> None:
    """With the permissions of the files: programs stay programs."""
    with zipfile.ZipFile(path) as archive:
        target.mkdir(parents=True)
        for member in archive.infolist():
            written = archive.extract(member, target)
            mode = member.external_attr >> 16 & 0o777
            if mode and not member.is_dir():
                os.chmod(written, mode)
