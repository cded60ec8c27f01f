"""Removing snapshots: exactly what their manifests name, and directories once nothing is left in them.

A directory of a checkpoint or savepoint may hold files of its user, and a name in a manifest may come from
somebody else. So nothing is removed because of where it lies, and nothing outside the directory of its
snapshot because a savepoint says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from firesteel.common.errors import StateError
from firesteel.jobmanager.checkpoints.storage import METADATA, is_absolute, load_manifest, snapshot_directory
from firesteel.storage.filesystems import Storage, join, resolve


def dispose_savepoint(path: str) -> list[str]:
    """Remove a savepoint with the files that its manifest names; the paths of what is left in its directory,
    which goes too when there is nothing. A symbolic link is followed and stays.

    :raises PathNotFoundError: there is none.
    :raises StateError: it is a checkpoint, which belongs to its job.
    """
    storage, where = resolve(snapshot_directory(path))
    where = os.path.realpath(where) if storage.is_local else where
    manifest = load_manifest(where)
    if not manifest.savepoint:
        raise StateError(
            f"{path} is a checkpoint; other checkpoints may need its files.",
            hint="remove the directory of its job when the job is not needed any more",
        )
    storage.delete(join(where, METADATA))  # first: what is left is not a savepoint any more
    named = [join(where, name) for name in manifest.files if not is_absolute(name)]
    inside = [file for file in named if _lies_in(where, file, storage)]
    for file in inside:
        storage.delete(file)
    for directory in sorted(_parents(inside, where), reverse=True):  # what is within first
        storage.delete_empty(directory)
    return [] if storage.delete_empty(where) else sorted(_files_below(storage, where))


def _lies_in(directory: str, file: str, storage: Storage) -> bool:
    """Not where the name leads out of the directory over a link."""
    if not storage.is_local:
        return True
    return f"{os.path.realpath(os.path.dirname(file))}/".startswith(directory + "/")


def _parents(files: Iterable[str], root: str) -> set[str]:
    """The directories of ``files`` below ``root``."""
    found = set()
    for file in files:
        directory = file.rpartition("/")[0]
        while directory.startswith(root + "/"):
            found.add(directory)
            directory = directory.rpartition("/")[0]
    return found


def _files_below(storage: Storage, directory: str) -> Iterator[str]:
    for info in storage.list_dir(directory):
        inner = [*_files_below(storage, info.path)] if info.is_dir else []
        yield from inner or [info.path]
