"""From staged chunks to part files, so that each committed record is in exactly one of them.

A journal in the sink's hidden directory says which part files are open and how long they are. Each commit
appends the new chunks, writes the journal (whole or absent: that is the moment of the commit) and then does
what may be done twice: it moves and deletes files. What was appended before a crash kept the journal from
being written is cut off again, because the journal says the length.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import uuid
from dataclasses import asdict, dataclass, field, replace
from typing import BinaryIO, Final, cast

from firesteel.common.errors import FiresteelError
from firesteel.connectors._rolling import DateTimeBuckets, RollingPolicy
from firesteel.connectors._storage import Storage, join, resolve
from firesteel.connectors.base import Committable, SinkCommitter

_JOURNAL: Final = re.compile(r"journal-\d{10}\.json")
_COPY_BYTES: Final = 1 << 20
_SPOOL_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """A file of staged rows. ``bucket`` None: the committer chooses."""

    bucket: str | None
    name: str
    length: int


@dataclass(frozen=True, slots=True)
class FileChunks:
    """What a writer hands to the committer; without chunks it still tells where they would be."""

    staging: str
    chunks: tuple[ChunkInfo, ...]


@dataclass(frozen=True, slots=True)
class PartNaming:
    """Every subtask has a uid of its own within a sink, as in Flink."""

    sink_id: str
    prefix: str
    suffix: str

    def name(self, subtask: int, counter: int) -> str:
        uid = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.sink_id}/{subtask}")
        return f"{self.prefix}-{uid}-{counter}{self.suffix}"


@dataclass(slots=True)
class _Part:
    """A part file that is not visible yet. ``chunks``: files that are still to be moved into it."""

    bucket: str
    subtask: int
    name: str
    length: int
    created_ms: int
    written_ms: int
    chunks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    """The journal. ``taken``: chunks of the last commit, which may still be there though they are used."""

    epoch: int = -1
    counters: dict[str, int] = field(default_factory=dict)
    open: list[_Part] = field(default_factory=list)
    closing: list[_Part] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> _State:
        state = _State(**json.loads(data))
        state.open = [_Part(**part) for part in state.open]  # type: ignore[arg-type]
        state.closing = [_Part(**part) for part in state.closing]  # type: ignore[arg-type]
        return state


class PartFileCommitter(SinkCommitter):
    def __init__(
        self,
        base: str,
        staging: str,
        naming: PartNaming,
        policy: RollingPolicy,
        time_buckets: DateTimeBuckets | None,
    ) -> None:
        self._base = base
        self._own = staging
        self._naming = naming
        self._policy = policy
        self._time_buckets = time_buckets
        self._ledgers: dict[str, _Ledger] = {}

    def open(self) -> None:
        self._ledger(self._own)

    def _ledger(self, staging: str) -> _Ledger:
        ledger = self._ledgers.get(staging)
        if ledger is None:
            storage, _ = resolve(staging)
            kind = LocalParts if storage.is_local else ObjectParts
            # Parts of an earlier run keep that run's names: counters of two runs must not meet.
            naming = replace(self._naming, sink_id=staging.rpartition("-")[2])
            ledger = self._ledgers[staging] = _Ledger(kind(storage, self._base, staging), naming)
        return ledger

    def commit(self, committables: list[Committable], now_ms: int) -> None:
        bucket = None if self._time_buckets is None else self._time_buckets.bucket_at(now_ms)
        self._ledger(self._own)
        by_staging: dict[str, list[Committable]] = {}
        for committable in committables:
            by_staging.setdefault(committable.payload.staging, []).append(committable)
        for staging, group in by_staging.items():
            self._ledger(staging).take(group, bucket, now_ms)
        for staging, ledger in self._ledgers.items():
            # What an earlier run of the program left open is complete: this run writes files of its own.
            ledger.save(None if staging != self._own else self._policy, now_ms)

    def finish(self, now_ms: int) -> None:
        for ledger in self._ledgers.values():
            ledger.save(None, now_ms)
            ledger.remove()


class _Ledger:
    """The part files of one staging directory."""

    def __init__(self, files: PartStore, naming: PartNaming) -> None:
        self._files = files
        self._naming = naming
        self._state = files.load()
        parts = [*self._state.open, *self._state.closing]
        self._taken = set(self._state.taken).union(*(part.chunks for part in parts))
        self._new: list[str] = []
        self._dirty = False
        for part in parts:
            files.settle(part)
        for name in self._state.taken:
            files.forget(name)
        for part in self._state.closing:
            files.publish_again(part)
        self._state.closing = []

    def take(self, committables: list[Committable], time_bucket: str | None, now_ms: int) -> None:
        for committable in committables:
            chunks: FileChunks = committable.payload
            for chunk in chunks.chunks:
                if chunk.name in self._taken:
                    continue
                if not self._files.has_chunk(chunk.name):
                    # Used up and removed before this driver began; or the directory is, after the job's end.
                    if committable.epoch <= self._state.epoch or not self._files.exists():
                        continue
                    raise FiresteelError(
                        f"staged data of a file sink is gone: {chunk.name}",
                        detail=f"in {chunks.staging}, of epoch {committable.epoch}",
                        hint="hidden files below the sink's base path belong to the running job",
                    )
                self._add(chunk, committable.subtask_index, time_bucket, now_ms)
        if committables and self._new:
            self._state.epoch = max(self._state.epoch, max(c.epoch for c in committables))

    def _add(self, chunk: ChunkInfo, subtask: int, time_bucket: str | None, now_ms: int) -> None:
        bucket = chunk.bucket if chunk.bucket is not None else time_bucket or ""
        part = next((p for p in self._state.open if (p.bucket, p.subtask) == (bucket, subtask)), None)
        if part is None:
            counter = self._state.counters.get(str(subtask), 0)
            self._state.counters[str(subtask)] = counter + 1
            part = _Part(bucket, subtask, self._naming.name(subtask, counter), 0, now_ms, now_ms)
            self._state.open.append(part)
        if self._files.must_settle(part):
            self._write_journal()  # two chunks for one new file: the first has to be in it
            self._files.settle(part)
        self._files.append(part, chunk)
        part.length += chunk.length
        part.written_ms = now_ms
        self._new.append(chunk.name)
        self._taken.add(chunk.name)
        self._dirty = True

    def save(self, policy: RollingPolicy | None, now_ms: int) -> None:
        """Makes what was taken permanent and shows what is complete; all of it when there is no policy."""
        state = self._state
        full = [
            part
            for part in state.open
            if policy is None or policy.is_full(part.length, part.created_ms, part.written_ms, now_ms)
        ]
        if not self._dirty and not full and not state.closing:
            return
        state.open = [part for part in state.open if part not in full]
        state.closing += full
        self._write_journal()
        for part in (*state.open, *state.closing):
            self._files.settle(part)
        for part in state.closing:
            self._files.publish(part)
        for name in self._new:
            self._files.forget(name)
        state.closing = []
        self._new = []
        self._dirty = False

    def _write_journal(self) -> None:
        self._state.taken = list(self._new)
        self._files.store(self._state)

    def remove(self) -> None:
        self._files.remove()


class PartStore:
    """The files of a ledger; what differs between file systems is in its two kinds."""

    def __init__(self, storage: Storage, base: str, staging: str) -> None:
        self._storage = storage
        self._base = base
        self._staging = staging
        self._version = 0

    def exists(self) -> bool:
        return self._storage.info(self._staging) is not None

    def load(self) -> _State:
        # A crash may leave two journals, and where writing is not atomic the newer may be broken.
        names = [info.name for info in self._storage.list_dir(self._staging)]
        for name in sorted((n for n in names if _JOURNAL.fullmatch(n)), reverse=True):
            with self._storage.open_input(join(self._staging, name)) as file:
                data = file.read()
            try:
                state = _State.from_json(data)
            except ValueError:
                continue
            self._version = int(name[len("journal-") : -len(".json")])
            return state
        return _State()

    def store(self, state: _State) -> None:
        self._version += 1
        self._storage.write(self._journal(self._version), state.to_json())
        self._storage.delete(self._journal(self._version - 1))

    def _journal(self, version: int) -> str:
        return join(self._staging, f"journal-{version:010d}.json")

    def has_chunk(self, name: str) -> bool:
        return self._storage.info(join(self._staging, name)) is not None

    def remove(self) -> None:
        self._storage.delete_tree(self._staging)

    def final(self, part: _Part) -> str:
        return join(self._base, part.bucket, part.name)

    def must_settle(self, part: _Part) -> bool:
        """Whether the chunks of the part have to be in it before the next one is appended."""
        return False

    def settle(self, part: _Part) -> None:
        """Move chunks into the part that the journal says are in it."""

    def append(self, part: _Part, chunk: ChunkInfo) -> None:
        raise TypeError("a part store is local or an object store")

    def publish(self, part: _Part) -> None:
        """Make the part visible under its name; nothing happens when it is."""

    def publish_again(self, part: _Part) -> None:
        """The same after a crash: the part may have been visible already, and whoever reads it may have
        taken it away."""

    def forget(self, name: str) -> None:
        """Remove a chunk that was appended to its part."""


class LocalParts(PartStore):
    """The first chunk is renamed to be the part, further ones are appended to it."""

    def _hidden(self, part: _Part) -> str:
        return join(self._base, part.bucket, f".{part.name}.inprogress")

    def must_settle(self, part: _Part) -> bool:
        return bool(part.chunks)

    def settle(self, part: _Part) -> None:
        for name in part.chunks:  # one at most
            source = join(self._staging, name)
            if os.path.exists(source):
                os.makedirs(join(self._base, part.bucket), exist_ok=True)
                os.replace(source, self._hidden(part))
        part.chunks = []

    def append(self, part: _Part, chunk: ChunkInfo) -> None:
        if part.length == 0:
            part.chunks = [chunk.name]  # moved when the journal says so
            return
        with open(self._hidden(part), "r+b") as target, open(join(self._staging, chunk.name), "rb") as source:
            target.truncate(part.length)
            target.seek(part.length)
            shutil.copyfileobj(source, target, _COPY_BYTES)

    def publish(self, part: _Part) -> None:
        hidden, final = self._hidden(part), self.final(part)
        if not os.path.exists(hidden):
            if os.path.exists(final):
                return
            raise FiresteelError(
                f"a part file is gone before it was complete: {final}",
                hint="hidden files below the sink's base path belong to the running job",
            )
        with open(hidden, "r+b") as file:
            file.truncate(part.length)
            os.fsync(file.fileno())
        os.replace(hidden, final)

    def publish_again(self, part: _Part) -> None:
        if os.path.exists(self._hidden(part)):
            self.publish(part)

    def forget(self, name: str) -> None:
        self._storage.delete(join(self._staging, name))


class ObjectParts(PartStore):
    """Chunks are kept until their part is complete; then it is uploaded as one object."""

    def append(self, part: _Part, chunk: ChunkInfo) -> None:
        part.chunks.append(chunk.name)

    def publish(self, part: _Part) -> None:
        final = self.final(part)
        if self._storage.info(final) is None:
            with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as whole:
                for name in part.chunks:
                    with self._storage.open_input(join(self._staging, name)) as source:
                        shutil.copyfileobj(source, whole, _COPY_BYTES)
                whole.seek(0)
                self._storage.write_whole(final, cast(BinaryIO, whole))
        self._drop(part)

    def publish_again(self, part: _Part) -> None:
        if all(self.has_chunk(name) for name in part.chunks):
            self.publish(part)
        else:
            self._drop(part)  # chunks are removed only after their part was there

    def _drop(self, part: _Part) -> None:
        for name in part.chunks:
            self._storage.delete(join(self._staging, name))
