"""Turns staged chunks into part files, so that each committed record is in exactly one of them.

A journal in the sink's hidden directory lists the open part files and their lengths. Each commit appends the
new chunks, atomically writes the journal, which is the moment of the commit, and then moves and deletes
files, which is idempotent. If a crash comes before the journal is written, the data appended so far is
truncated again, to the length in the journal.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from firesteel.common.errors import FiresteelError
from firesteel.connectors.files.part_store import ChunkInfo, LocalParts, ObjectParts, Part, PartStore
from firesteel.connectors.files.partition_commit import PartitionCommit, PartitionWatch
from firesteel.connectors.files.rolling import DateTimeBuckets, Rolling
from firesteel.program.sinks import CommitRequest, Committable, Committer
from firesteel.storage.filesystems import resolve
from firesteel.storage.records import record


@record("file chunks")
@dataclass(frozen=True, slots=True)
class FileChunks:
    """What a writer hands to the committer; without chunks it still says where they would be. ``now_ms`` is
    the processing time of the epoch, which determines time buckets and the age of part files. ``watermark``
    is set if the ``subtasks`` of the sink track it."""

    staging: str
    chunks: tuple[ChunkInfo, ...]
    now_ms: int
    subtasks: int = 1
    watermark: int | None = None


@dataclass(frozen=True, slots=True)
class PartNaming:
    """Names part files. Every subtask has its own uid within a sink, as in Flink."""

    sink_id: str
    prefix: str
    suffix: str

    def name(self, subtask: int, counter: int) -> str:
        uid = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.sink_id}/{subtask}")
        return f"{self.prefix}-{uid}-{counter}{self.suffix}"


class PartFileCommitter(Committer):
    """Commits chunks to part files.

    :param size_limit: a part file of at least this many bytes is not appended to; 0: each chunk is one file.
    """

    def __init__(
        self,
        base: str,
        staging: str,
        naming: PartNaming,
        policy: Rolling,
        time_buckets: DateTimeBuckets | None,
        now_ms: Callable[[], int],
        size_limit: float,
        partition_commit: PartitionCommit | None = None,
    ) -> None:
        self._base = base
        self._own = staging
        self._naming = naming
        self._policy = policy
        self._time_buckets = time_buckets
        self._now_ms = now_ms
        self._size_limit = size_limit
        self._stagings = {staging: None}  # in the order in which they became known
        self._ledgers: dict[str, _Ledger] = {}  # those that have been read
        self._partitions = None if partition_commit is None else PartitionWatch(partition_commit)

    def snapshot(self) -> list[str]:
        """Return the hidden directories that may hold part files that are not visible yet."""
        return sorted(self._stagings)

    def restore(self, state: list[str]) -> None:
        self._stagings.update(dict.fromkeys(state))

    def open(self) -> None:
        for staging in self._stagings:
            self._ledger(staging)

    def _ledger(self, staging: str) -> _Ledger:
        self._stagings.setdefault(staging)
        ledger = self._ledgers.get(staging)
        if ledger is None:
            storage, _ = resolve(staging)
            kind = LocalParts if storage.is_local else ObjectParts
            # Parts of an earlier run keep that run's names: the counters of two runs must not clash.
            naming = replace(self._naming, sink_id=staging.rpartition("-")[2])
            ledger = self._ledgers[staging] = _Ledger(
                kind(storage, self._base, staging), naming, self._partitions
            )
        return ledger

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        try:
            self._commit(requests)
        except BaseException:
            # Only the journals know the outcome, and a replaced driver may have written to one of them: read
            # them again.
            self._ledgers.clear()
            raise

    def _commit(self, requests: Sequence[CommitRequest]) -> None:
        now_ms = self._now_ms()
        by_staging: dict[str, list[Committable]] = {}
        for request in requests:
            chunks: FileChunks = request.get_committable()
            by_staging.setdefault(chunks.staging, []).append(request.origin)
            if self._partitions is not None and chunks.watermark is not None:
                self._partitions.observe(request.origin.subtask_index, chunks.subtasks, chunks.watermark)
        for staging, group in by_staging.items():
            self._ledger(staging).take(group, self._time_buckets, self._size_limit)
        for staging in self._stagings:
            ledger = self._ledger(staging)
            # Files that an earlier run of the program left open are complete: this run writes its own.
            ledger.save(None if staging != self._own else self._policy, now_ms)

    def finish(self) -> None:
        for ledger in map(self._ledger, self._stagings):
            ledger.save(None, self._now_ms(), ended=True)

    def clean_up(self) -> None:
        """The journals go last of all: without its counters a driver that goes on would give its part files
        the names of those that are there."""
        for ledger in map(self._ledger, self._stagings):
            ledger.remove()


class _Ledger:
    """Tracks the part files of one staging directory."""

    def __init__(self, files: PartStore, naming: PartNaming, partitions: PartitionWatch | None) -> None:
        self._files = files
        self._partitions = partitions
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

    def take(
        self, committables: list[Committable], time_buckets: DateTimeBuckets | None, size_limit: float
    ) -> None:
        for committable in committables:
            chunks: FileChunks = committable.payload
            time_bucket = "" if time_buckets is None else time_buckets.bucket_at(chunks.now_ms)
            for chunk in chunks.chunks:
                if chunk.name in self._taken:
                    continue
                if not self._files.has_chunk(chunk.name):
                    # Consumed and removed before this driver started; or the directory was, after the end of
                    # the job.
                    if committable.epoch <= self._state.epoch or not self._files.exists():
                        continue
                    raise FiresteelError(
                        f"staged data of a file sink is gone: {chunk.name}",
                        detail=f"in {chunks.staging}, of epoch {committable.epoch}",
                        hint="hidden files below the sink's base path belong to the running job",
                    )
                bucket = time_bucket if chunk.bucket is None else chunk.bucket
                self._add(chunk, self._part(bucket, committable.subtask_index, chunks.now_ms, size_limit))
        if committables and self._new:
            self._state.epoch = max(self._state.epoch, max(c.epoch for c in committables))

    def _part(self, bucket: str, subtask: int, now_ms: int, size_limit: float) -> Part:
        """Return the part file to append to in a bucket: a new one if there is none, or if it is full."""
        state = self._state
        part = next((p for p in state.open if (p.bucket, p.subtask) == (bucket, subtask)), None)
        if part is not None and part.length >= size_limit:
            state.open.remove(part)
            state.closing.append(part)
            part = None
        if part is None:
            counter = state.counters.get(str(subtask), 0)
            state.counters[str(subtask)] = counter + 1
            part = Part(bucket, subtask, self._naming.name(subtask, counter), 0, now_ms, now_ms)
            state.open.append(part)
        part.written_ms = max(part.written_ms, now_ms)
        return part

    def _add(self, chunk: ChunkInfo, part: Part) -> None:
        if self._files.must_settle(part):
            self._write_journal()  # two chunks for one new file: list the first one first
            self._files.settle(part)
        self._files.append(part, chunk)
        part.length += chunk.length
        if self._partitions is not None:
            self._state.partitions.setdefault(part.bucket, part.written_ms)
        self._new.append(chunk.name)
        self._taken.add(chunk.name)
        self._dirty = True

    def save(self, policy: Rolling | None, now_ms: int, *, ended: bool = False) -> None:
        """Make the changes durable and publish complete part files; without a policy, publish all of them."""
        state = self._state
        complete = self._complete_partitions(now_ms, ended)
        full = [
            part
            for part in state.open
            if policy is None
            or part.bucket in complete
            or policy.is_full(part.length, part.created_ms, part.written_ms, now_ms)
        ]
        if not self._dirty and not full and not state.closing and not complete:
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
        self._commit_partitions(complete)

    def _complete_partitions(self, now_ms: int, ended: bool) -> list[str]:
        watch = self._partitions
        if watch is None:
            return []
        pending = self._state.partitions.items()
        return [bucket for bucket, since in pending if ended or watch.is_due(bucket, since, now_ms)]

    def _commit_partitions(self, complete: list[str]) -> None:
        """Notify about each complete partition, then forget it. In this order it may be notified again after
        a crash, but never missed."""
        if self._partitions is None or not complete:
            return
        for bucket in complete:
            self._partitions.commit(self._files.base, bucket)
            del self._state.partitions[bucket]
        self._write_journal()

    def _write_journal(self) -> None:
        self._state.taken = list(self._new)
        self._files.store(self._state)

    def remove(self) -> None:
        self._files.remove()
