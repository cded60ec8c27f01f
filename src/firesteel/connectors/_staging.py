"""Passes what a writer produced to the committer: inside the committable if it is small, else as a file.

The file is named by its content. Attempts that write the same therefore agree on the name, and the
committable depends only on the records. The file stays until the job removes its directory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from firesteel.common.errors import FiresteelError
from firesteel.program.sinks import CommitRequest, Committable, Committer, WriterContext
from firesteel.storage.durable import replace_durably
from firesteel.storage.filesystems import Storage, join, resolve
from firesteel.storage.records import record

INLINE_BYTES: Final = 64 << 10
_COPY_BYTES: Final = 1 << 20
_REMEMBERED: Final = 10_000


@record("staged")
@dataclass(frozen=True, slots=True)
class Staged:
    """``data``, or the ``path`` of a file that contains it; ``size`` in bytes."""

    digest: str
    data: bytes | None
    path: str | None
    size: int

    def load(self) -> bytes:
        if self.data is not None:
            return self.data
        assert self.path is not None, "what is not inline is in a file"
        storage, inner = resolve(self.path)
        with storage.open_input(inner) as file:
            return file.read()


def stage(data: bytes, context: WriterContext) -> Staged:
    digest = hashlib.sha256(data).hexdigest()[:32]
    if len(data) <= INLINE_BYTES:
        return Staged(digest, data, None, len(data))
    storage, base = resolve(context.epoch_dir)
    path = join(base, f"staged-{digest}")
    if storage.info(path) is None:
        storage.write(path, data)
    return Staged(digest, None, path, len(data))


def settle(storage: Storage, path: str, context: WriterContext, number: int, suffix: str) -> str:
    """Rename a finished file to a name derived from its content, epoch and subtask, if the file system
    supports renaming; return the name."""
    name = path.rpartition("/")[2]
    if not storage.is_local:
        return name
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    settled = f"{context.epoch}-{context.subtask_index}-{number}-{digest}{suffix}"
    # A checkpoint will refer to it, so it must survive a power failure.
    replace_durably(path, path[: -len(name)] + ("." if name.startswith(".") else "") + settled)
    return settled


class Seen:
    """The committables that this committer has passed on; they are skipped if an epoch is committed again. A
    new driver starts empty, so it passes on again what it has to commit again."""

    def __init__(self) -> None:
        self._order: deque[tuple[int, int, str]] = deque()
        self._keys: set[tuple[int, int, str]] = set()

    def is_new(self, committable: Committable) -> bool:
        staged: Staged = committable.payload
        return (committable.epoch, committable.subtask_index, staged.digest) not in self._keys

    def add(self, committable: Committable) -> None:
        key = (committable.epoch, committable.subtask_index, committable.payload.digest)
        self._keys.add(key)
        self._order.append(key)
        if len(self._order) > _REMEMBERED:
            self._keys.discard(self._order.popleft())


class StagedFiles(Committer):
    """Publishes files of a directory. Until they are committed their names begin with a dot. A committable is
    the final name of a file, or its current path."""

    def __init__(self, directory: str) -> None:
        self._storage, self._base = resolve(directory)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            name = request.get_committable().rpartition("/")[2].removeprefix(".")
            hidden = join(self._base, f".{name}")
            if self._storage.info(hidden) is not None:
                self._show(hidden, join(self._base, name))
            elif self._storage.info(join(self._base, name)) is None:
                raise FiresteelError(f"a staged file is gone: {hidden}")

    def _show(self, hidden: str, final: str) -> None:
        if self._storage.is_local:
            os.replace(hidden, final)
            return
        if self._storage.info(final) is None:
            with tempfile.TemporaryFile() as copy, self._storage.open_input(hidden) as source:
                shutil.copyfileobj(source, copy, _COPY_BYTES)
                copy.seek(0)
                self._storage.write_whole(final, cast(BinaryIO, copy))
        self._storage.delete(hidden)
