"""Stores the part files and the journal of a file sink, and hides the differences between file systems.

A replaced driver may still be in the middle of its last commit while its successor repeats that commit. Both
do the same to the same files, so each step may find itself already done, and no step may undo another's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import BinaryIO, Final, cast

from firesteel.common.errors import FiresteelError
from firesteel.storage.filesystems import Storage, join
from firesteel.storage.records import record

_JOURNAL: Final = re.compile(r"journal-\d{10}\.json")
_COPY_BYTES: Final = 1 << 20
_SPOOL_BYTES: Final = 32 << 20


@record("file chunk")
@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """A file of staged rows. If ``bucket`` is None the committer chooses it."""

    bucket: str | None
    name: str
    length: int


@dataclass(slots=True)
class Part:
    """A part file that is not visible yet. ``chunks`` are files still to be moved into it."""

    bucket: str
    subtask: int
    name: str
    length: int
    created_ms: int
    written_ms: int
    chunks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Journal:
    """The state of a ledger. ``taken`` lists chunks of the last commit, whose files may not be deleted yet.
    ``partitions`` maps buckets not known to be complete to the time they began."""

    epoch: int = -1
    counters: dict[str, int] = field(default_factory=dict)
    open: list[Part] = field(default_factory=list)
    closing: list[Part] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    partitions: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> Journal:
        fields = json.loads(data)
        for name in ("open", "closing"):
            fields[name] = [Part(**part) for part in fields.get(name, ())]
        return Journal(**fields)


class PartStore:
    """The files of a ledger; its two subclasses hold the differences between file systems."""

    def __init__(self, storage: Storage, base: str, staging: str) -> None:
        self._storage = storage
        self.base = base
        self._staging = staging
        self._version = 0

    def exists(self) -> bool:
        return self._storage.info(self._staging) is not None

    def load(self) -> Journal:
        while True:
            try:
                return self._newest()
            except FileNotFoundError:  # another driver has just written a newer one
                continue

    def _newest(self) -> Journal:
        # A crash may leave two journals. Where writes are not atomic the newer one may be broken.
        names = [info.name for info in self._storage.list_dir(self._staging)]
        for name in sorted((n for n in names if _JOURNAL.fullmatch(n)), reverse=True):
            with self._storage.open_input(join(self._staging, name)) as file:
                data = file.read()
            try:
                state = Journal.from_json(data)
            except ValueError:
                continue
            self._version = int(name[len("journal-") : -len(".json")])
            return state
        return Journal()

    def store(self, state: Journal) -> None:
        self._version += 1
        self._storage.write(self._journal(self._version), state.to_json())
        self._storage.delete(self._journal(self._version - 1))

    def _journal(self, version: int) -> str:
        return join(self._staging, f"journal-{version:010d}.json")

    def has_chunk(self, name: str) -> bool:
        return self._storage.info(join(self._staging, name)) is not None

    def remove(self) -> None:
        """Remove the directory, the journal last: who comes after a driver that dies meanwhile has to know
        that the chunks were taken."""
        for info in self._storage.list_dir(self._staging):
            if not _JOURNAL.fullmatch(info.name):
                self._storage.delete(info.path)
        self._storage.delete_tree(self._staging)

    def final(self, part: Part) -> str:
        return join(self.base, part.bucket, part.name)

    def must_settle(self, part: Part) -> bool:
        """Return true if the chunks of the part must be in it before the next one is appended."""
        return False

    def settle(self, part: Part) -> None:
        """Move the chunks into the part that the journal assigns to it."""

    def append(self, part: Part, chunk: ChunkInfo) -> None:
        raise TypeError("a part store is local or an object store")

    def publish(self, part: Part) -> None:
        """Make the part visible under its name. Does nothing if it is."""

    def publish_again(self, part: Part) -> None:
        """Publish again after a crash. The part may have been visible already, and a reader may have removed
        it."""

    def forget(self, name: str) -> None:
        """Delete a chunk that was appended to its part."""


class LocalParts(PartStore):
    """Renames the first chunk to be the part, and appends further chunks to it."""

    def _hidden(self, part: Part) -> str:
        return join(self.base, part.bucket, f".{part.name}.inprogress")

    def must_settle(self, part: Part) -> bool:
        return bool(part.chunks)

    def settle(self, part: Part) -> None:
        for name in part.chunks:  # at most one
            source = join(self._staging, name)
            if os.path.exists(source):
                os.makedirs(join(self.base, part.bucket), exist_ok=True)
                with suppress(FileNotFoundError):  # the other driver was faster
                    os.replace(source, self._hidden(part))
        part.chunks = []

    def append(self, part: Part, chunk: ChunkInfo) -> None:
        if part.length == 0:
            part.chunks = [chunk.name]  # moved once the journal says so
            return
        with open(self._hidden(part), "r+b") as target, open(join(self._staging, chunk.name), "rb") as source:
            target.seek(part.length)
            shutil.copyfileobj(source, target, _COPY_BYTES)
            target.truncate()  # not earlier: what another driver has appended is identical, and stays
            target.flush()
            os.fsync(target.fileno())  # before the journal lists it and the chunk is deleted

    def publish(self, part: Part) -> None:
        if not self._show(part) and not os.path.exists(self.final(part)):
            raise FiresteelError(
                f"a part file is gone before it was complete: {self.final(part)}",
                hint="hidden files below the sink's base path belong to the running job",
            )

    def publish_again(self, part: Part) -> None:
        self._show(part)

    def _show(self, part: Part) -> bool:
        """Return False if the part is not hidden, or another driver has just published it."""
        hidden = self._hidden(part)
        try:
            with open(hidden, "r+b") as file:
                file.truncate(part.length)
                os.fsync(file.fileno())
            os.replace(hidden, self.final(part))
        except FileNotFoundError:
            return False
        return True

    def forget(self, name: str) -> None:
        self._storage.delete(join(self._staging, name))

    def remove(self) -> None:
        """In one step, for who comes after a driver that dies meanwhile: a directory without its journal is
        one that has lost its chunks."""
        removed = f"{self._staging}.removed"
        self._storage.delete_tree(removed)  # what such a driver has left
        with suppress(FileNotFoundError):
            os.replace(self._staging, removed)
        self._storage.delete_tree(removed)


class ObjectParts(PartStore):
    """Keeps chunks until their part is complete, then uploads it as one object."""

    def append(self, part: Part, chunk: ChunkInfo) -> None:
        part.chunks.append(chunk.name)

    def publish(self, part: Part) -> None:
        final = self.final(part)
        if self._storage.info(final) is None:
            with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as whole:
                for name in part.chunks:
                    with self._storage.open_input(join(self._staging, name)) as source:
                        shutil.copyfileobj(source, whole, _COPY_BYTES)
                whole.seek(0)
                self._storage.write_whole(final, cast(BinaryIO, whole))
        self._drop(part)

    def publish_again(self, part: Part) -> None:
        if all(self.has_chunk(name) for name in part.chunks):
            self.publish(part)
        else:
            self._drop(part)  # chunks are removed only after their part exists

    def _drop(self, part: Part) -> None:
        for name in part.chunks:
            self._storage.delete(join(self._staging, name))
