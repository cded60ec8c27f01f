"""The state of one subtask of a vertex, from epoch to epoch in a worker process.

The truth is the line that the driver sends with each epoch. What a process has is a cache of it: the columns
of the states (``caches``), and below them reads through the runs of the line (``_overlay``). Here it is
decided how the cache comes to a line, and what an epoch has changed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

import msgspec

from firesteel.state._column import CanonicalKey, KeyScope
from firesteel.state._compaction import Compactor
from firesteel.state._core import CHANGES_BYTES, StateCore, StateLimits
from firesteel.state._operator import OperatorState
from firesteel.state._overlay import Overlay
from firesteel.state.background import BackgroundCompaction, ComingEntries, PendingDelta
from firesteel.state.caches import Caches
from firesteel.state.catalog import CatalogEntry
from firesteel.state.delta_writer import DeltaWriter
from firesteel.state.files import StateFiles
from firesteel.state.keys import NO_KEY
from firesteel.state.line import EpochDelta, StateLine
from firesteel.state.lmdb_store import LocalStore, LocalStoreKey
from firesteel.state.timers import TimerQueue

__all__ = [
    "CHANGES_BYTES",
    "NO_KEY",
    "KeyScope",
    "OperatorState",
    "StateLimits",
    "SubtaskState",
    "TimerQueue",
]

_GROUP_KEYS_PER_CACHE: Final = 2
#: How many entries can be loaded in bulk for the cost of one missed key.
_MISS_SHARE: Final = 100
#: How many entries may be compacted for each one that an epoch changes. A sweep to the bottom level reads 1.5
#: times the size of that level, and must be finished by the time that half its size has changed.
_COMPACTED_FOR_CHANGED: Final = 3
#: The approximate number of epochs in which a backlog of deltas is folded.
_BACKLOG_EPOCHS: Final = 48
#: Changed entries that are worth making in the background.
_MANY: Final = 4096
#: The largest entries that a local store is kept for.
LARGEST_STORED_BYTES: Final = 512


class _Pending(NamedTuple):
    """The delta that the last ``finish`` made: the cache is at ``base`` plus this."""

    base: str
    digest: str


class SubtaskState:
    """Keyed and operator state of one subtask; one for each (job, attempt, vertex, subtask) and process.

    :param key_groups: the key groups that the subtask owns.
    :param files: the job's state directory.
    :param local_dir: directory of this host for the local store, None: none is kept.
    :param states: what is stored about the states, for lines that are a part of others; None: the line says.
    """

    def __init__(
        self,
        *,
        job_id: str,
        attempt: int | str,
        vertex_id: str,
        subtask: int,
        max_parallelism: int,
        key_groups: range,
        files: StateFiles,
        local_dir: str | None = None,
        limits: StateLimits | None = None,
        states: Mapping[bytes, CatalogEntry] | None = None,
    ) -> None:
        self._given = limits or StateLimits()
        self.limits = self._given  # or what a share of managed memory makes of it
        self._fitted = self.limits.fitted(1)  # of the epoch: to the size of the entries
        self.key_groups = key_groups
        self._files = files
        self._prefix = f"{job_id}/state/{vertex_id}/{subtask}"
        store = None
        if local_dir is not None and self.limits.local_store and not self.limits.batch:
            name = LocalStoreKey(local_dir, job_id, str(attempt), vertex_id, subtask)
            store = LocalStore(name)
        overlay = Overlay(files, store, self.limits.recent_bytes)
        self._core = StateCore(self.limits, max_parallelism, key_groups, overlay)
        self._caches = Caches(self._core, key_groups, states)
        self._operators: dict[str, OperatorState] = {}
        #: How long the last epoch has compacted.
        self.compacting_ms = 0.0
        self._each_bytes = 1  # of an entry that is changed, as the last epochs were
        self._at = ""  # the manifest that the cache is at, but for what is pending
        self._pending: _Pending | None = None
        self._open = False  # between begin and finish: the cache may hold what no manifest has
        self._background: BackgroundCompaction | None = None
        self._writing: PendingDelta | None = None  # the cache is at ``_at`` plus this

    # ---- epochs

    def work_in_background(self, wanted: bool) -> None:
        """Whether this is the only process that works on the line, epoch after epoch: then an epoch may begin
        before the changes of the last one are written, and what is compacted may belong to a later one. What
        is under way does not count any more."""
        self._give_up_writing()
        if self._background is not None:
            self._background.stop()
        self._background = BackgroundCompaction() if wanted else None

    def limit_memory(self, share: int) -> None:
        """From the next epoch on, let it have *share* bytes for all that it keeps in memory."""
        self.limits = self._given.within(share)
        self._core.overlay.recent_bytes = self.limits.recent_bytes

    def move_time(self, now_ms: int) -> None:
        """Processing time has moved in the middle of an epoch."""
        self._core.move_time(now_ms)

    def begin(self, line: StateLine, now_ms: int) -> bool:
        """Bring the content up to ``line``; ``now_ms`` is the processing time at which the epoch begins. The
        changes of the last epoch may be pending: then it goes on with ``line`` and these.

        :returns: whether this process already had the newest content, having run the last epoch itself.
        """
        core = self._core
        if self._writing is not None and line.manifest_id == self._at:
            core.begin(line.sequence + 1, now_ms)
            core.overlay.expiry = self._caches.expiry
            self._open = True
            return True
        self._give_up_writing()
        core.begin(line.sequence, now_ms)
        self._fitted = self.limits.fitted(line.entry_bytes)
        position = self._position_on(line)
        core.overlay.move_to(line)
        core.overlay.expiry = self._caches.expiry
        if position is None or self._too_far(line, position) or self._migrated(line, position):
            self._start_over(line)
        else:
            for delta in line.deltas[position:]:
                if delta.run is not None:
                    for keys, values in core.overlay.slices(delta.run):
                        self._caches.load(keys, values)
                    self._shrink()  # a process that is far behind holds no more than others for it
        self._at = line.manifest_id
        self._pending = None
        self._open = True
        return position == len(line.deltas)

    def _position_on(self, line: StateLine) -> int | None:
        """How many deltas of the line the cache has; None when it is not a state of this line."""
        if self._open:
            return None  # the last epoch was left in the middle
        pending = self._pending
        if pending is None or not pending.digest:
            return line.position(self._at)  # nothing was changed, whatever became of that epoch
        base = line.position(pending.base)
        if base is None or base == len(line.deltas):
            return None
        run = line.deltas[base].run
        return base + 1 if run is not None and run.digest == pending.digest else None

    def _too_far(self, line: StateLine, position: int) -> bool:
        """Whether patching costs more than it saves, as in a process that has next to nothing."""
        missing = sum(d.run.entries for d in line.deltas[position:] if d.run is not None)
        return missing > self._fitted.warm_entries and missing > 2 * self._caches.size

    def _migrated(self, line: StateLine, position: int) -> bool:
        """Whether another process has begun to convert a state: what this one has is of the type before."""
        versions = self._core.overlay.migrations.versions
        return any(d.run is not None and d.run.versions != versions for d in line.deltas[position:])

    def _start_over(self, line: StateLine) -> None:
        core, caches = self._core, self._caches
        caches.start_over()
        core.misses = 0
        core.complete = line.entries <= self._fitted.warm_entries
        caches.load_operators()
        if core.complete:
            caches.load_all()
        else:
            caches.load_beside_keys()
            fits = self._may_fit(line)
            core.overlay.use_store = not fits and self._store_pays(line)
            core.miss_limit = max(1000, line.entries // _MISS_SHARE) if fits else sys.maxsize
        caches.load_inherited()

    def _may_fit(self, line: StateLine) -> bool:
        """Whether the whole state may fit into the cache: keys that are in several runs are counted once."""
        limit = self._fitted.cache_entries
        levels: dict[int, int] = {}
        for ref in line.segments:
            levels[ref.level] = levels.get(ref.level, 0) + ref.entries
        deltas = (d.run.entries for d in line.deltas[line.folded :] if d.run is not None)
        return max((*levels.values(), *deltas), default=0) <= 0.75 * limit and line.entries <= 4 * limit

    @staticmethod
    def _store_pays(line: StateLine) -> bool:
        """A local store is a second copy of what it holds. It spares the search for a small entry among the
        others of its block; for a large one there is next to nothing to spare."""
        return line.entry_bytes <= LARGEST_STORED_BYTES

    def finish(self) -> EpochDelta:
        """The changes of the epoch, and what was compacted. Many are written to a file."""
        delta = self.cut()
        assert isinstance(delta, EpochDelta), "who works in the background cuts epochs"
        return delta

    def cut(self) -> EpochDelta | PendingDelta:
        """The same for who may work in the background: changes that are written to a file are pending until
        that is done, and the next epoch may begin before."""
        count = self._caches.changed
        make = self._caches.take_changes()
        if self._background is not None and count >= _MANY:
            writer, coming = self._writer(), ComingEntries(make)
            changes: Mapping[bytes, bytes] = coming
            delta: EpochDelta | PendingDelta = PendingDelta(partial(_written, writer, coming))
        else:
            changes = make()
            count = len(changes)
            size = sum(map(len, changes)) + sum(map(len, changes.values()))
            delta = self._delta(changes, size)
            self._fitted = self.limits.fitted(self._entry_bytes(count, size))
            self._each_bytes = size // count if count else self._each_bytes
        self._open = False
        begun_s = time.perf_counter()
        compactor = self._compactor(count)
        compaction = compactor.step() if self._background is None else self._background.step(compactor)
        self.compacting_ms = (time.perf_counter() - begun_s) * 1000
        self._shrink()
        self._core.overlay.rest()
        if isinstance(delta, PendingDelta):
            self._writing = delta
            self._core.overlay.hold(changes)
            delta.compaction = compaction
            return delta
        self._pending = _Pending(self._at, delta.digest)
        return msgspec.structs.replace(delta, compaction=compaction)

    def _entry_bytes(self, entries: int, size: int) -> int:
        """About how many bytes an entry has; a first load has brought what the line knows nothing of yet."""
        line = self._core.overlay.line
        length = line.entry_bytes * line.entries + size
        return max(1, length // max(1, line.entries + entries))

    def _delta(self, changes: Mapping[bytes, bytes], size: int) -> EpochDelta | PendingDelta:
        if not changes:
            return EpochDelta()
        if size <= self.limits.inline_bytes:
            return self._writer().in_answer(changes)
        if self._background is None:
            return self._writer().in_file(changes)
        return PendingDelta(partial(self._writer().in_file, changes))

    def _writer(self) -> DeltaWriter:
        return DeltaWriter(self._files, self._prefix, self._core.overlay.migrations.versions)

    def settle(self, line: StateLine) -> None:
        """``line`` has the pending changes now. The epoch that has begun since goes on."""
        overlay = self._core.overlay
        overlay.move_to(line)
        overlay.hold(None)
        self._fitted = self.limits.fitted(line.entry_bytes)
        run = line.deltas[-1].run if line.deltas else None
        if run is not None:
            self._each_bytes = max(1, run.length // max(1, run.entries))
        self._at = line.manifest_id
        self._writing = None

    def _give_up_writing(self) -> None:
        """What is being written belongs to no line that there will be."""
        if self._writing is not None:
            self._writing.wait()
            self._writing = None
            self._core.overlay.hold(None)
            self._open = True  # so that the next epoch starts over

    def _compactor(self, changed: int) -> Compactor:
        overlay = self._core.overlay
        backlog = overlay.line.unfolded_entries // _BACKLOG_EPOCHS  # after a burst, such as a first load
        least = self._fitted.compaction_entries
        budget = max(least, _COMPACTED_FOR_CHANGED * changed, backlog)
        return Compactor(
            overlay,
            self._files,
            self._prefix,
            self.key_groups,
            budget,
            level_entries=4 * least,
            expiry=self._caches.expiry,
        )

    def _shrink(self) -> None:
        """Keep the caches within their limit. All changes are collected, so anything may go."""
        limit = self._fitted.cache_entries
        total = self._caches.size
        if total > limit:
            self._core.overlay.use_store = self._store_pays(self._core.overlay.line)
            self._core.miss_limit = sys.maxsize
            self._caches.evict(min(1.0, 1 - 0.75 * limit / total))
        if len(self._core.group_keys) > _GROUP_KEYS_PER_CACHE * limit:
            self._core.group_keys.clear()

    def forget(self) -> None:
        """Nobody will ask for this state: neither what it has been nor what the epoch has changed is kept."""
        self.abandon()
        self._core.overlay.rest()

    def abandon(self) -> None:
        """The epoch failed: what the cache holds belongs to no manifest. The next ``begin`` starts over."""
        self._give_up_writing()
        self._open = True
        self._pending = None

    def drop_key(self, key: CanonicalKey) -> None:
        """BATCH mode: forget everything about a key that is done."""
        self._caches.drop_key(key)
        self._core.group_keys.pop(key, None)

    @property
    def catalog(self) -> tuple[CatalogEntry, ...]:
        """The states that the committed state holds."""
        return self._caches.catalog

    @property
    def changed_entries(self) -> int:
        """About how many entries the running epoch has changed."""
        return self._caches.changed

    @property
    def is_full(self) -> bool:
        """Whether the running epoch has changed as much as it should at most."""
        return self._caches.changed * self._each_bytes > self.limits.changes_bytes

    @property
    def complete(self) -> bool:
        """Whether the cache holds the whole state."""
        return self._core.complete

    def close(self) -> None:
        """Give up the caches, the local store and open files; the object is not used any more."""
        self.work_in_background(False)
        self._caches.drop()
        self._core.group_keys.clear()
        self._core.overlay.close()

    # ---- operators

    def operator(self, uid: str, scope: KeyScope | None = None) -> OperatorState:
        """The state of the operator ``uid`` of the chain; always the same object.

        :param scope: what its keyed state is kept by, as the program says; it counts the first time.
        """
        found = self._operators.get(uid)
        if found is None:
            found = self._operators[uid] = OperatorState(self._caches, self._core, uid, scope or KeyScope())
        return found


def _written(writer: DeltaWriter, coming: ComingEntries) -> EpochDelta:
    entries = coming.made()
    return writer.in_file(entries) if entries else EpochDelta()  # what came and went in the epoch leaves none
