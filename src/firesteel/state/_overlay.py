"""Reads through the runs of a line: for what the cache does not know.

Layers from new to old: the newest deltas in one dictionary or in the local store, older ones as runs while
they are not folded, then the segments of the key's group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final

import lmdb

from firesteel.state._merge import Slice, merged, without_tombstones
from firesteel.state._migration import Migrations
from firesteel.state.files import StateFiles
from firesteel.state.line import EMPTY, DeltaRef, RunRef, StateLine
from firesteel.state.lmdb_store import LocalStore
from firesteel.state.runs import BLOCK_ENTRIES, TOMBSTONE, Run, group_of, mark_of, prefix_end

if TYPE_CHECKING:
    from firesteel.state._ttl import Expiry

#: The maximum number and size of the delta entries that are held in one dictionary.
RECENT_ENTRIES: Final = 100_000
RECENT_BYTES: Final = 32 << 20
#: How much of that a process that joins late takes in before its first record.
FIRST_BYTES: Final = 1 << 20


class Overlay:
    """The committed state at one line. It never changes anything but the local store.

    :param recent_bytes: approximately how much of the newest deltas is held in memory; up to twice as much
        before a part of it is given up.
    """

    def __init__(
        self, files: StateFiles, store: LocalStore | None = None, recent_bytes: int = RECENT_BYTES
    ) -> None:
        self._files = files
        self._store = store
        self.recent_bytes = recent_bytes
        self._ready: LocalStore | None = None  # the store, while it is at the line
        self.use_store = False  # set when the state outgrows the cache: only then the store pays
        self.expiry: Expiry | None = None  # of the epoch
        self._migrations = Migrations({})
        self._line = EMPTY
        self._runs: dict[tuple[str, int], Run] = {}
        self._by_group: dict[int, list[Run]] = {}
        self._recent: dict[bytes, bytes] | None = None
        self._recent_at: str | None = None  # the dictionary holds the deltas after _recent_from up to here
        self._recent_from = ""
        self._recent_sorted: list[bytes] = []
        self._layers_ready = False
        self._held: Mapping[bytes, bytes] = {}
        self._held_sorted: list[bytes] = []

    def hold(self, changes: Mapping[bytes, bytes] | None) -> None:
        """Changes that are newer than the line, for as long as they are being written."""
        self._held = {} if changes is None else changes  # of those that are coming nobody asks how many
        self._held_sorted = []

    def copy(self) -> Overlay:
        """Another one at the same line, without a local store, for another thread."""
        copy = Overlay(self._files, recent_bytes=self.recent_bytes)
        copy.migrate(self._migrations)
        copy.move_to(self._line)
        return copy

    @property
    def line(self) -> StateLine:
        return self._line

    def move_to(self, line: StateLine) -> None:
        """Make this the state at ``line``; costs nothing before the first read."""
        if line is self._line:
            return
        self._line = line
        self._layers_ready = False
        self._ready = None
        self._by_group.clear()
        if self._runs:
            kept = {(ref.path, ref.offset) for ref in line.runs}
            for key in [key for key in self._runs if key not in kept]:
                del self._runs[key]

    def migrate(self, migrations: Migrations) -> None:
        """From here on all entries are read as ``migrations`` make them."""
        if migrations == self._migrations:
            return
        self._migrations = migrations
        self._runs.clear()
        self._by_group.clear()
        self._recent = self._recent_at = None
        self._layers_ready = False
        self._ready = None
        if self._store is not None:
            self._store.begin_anew(migrations.name)

    @property
    def migrations(self) -> Migrations:
        return self._migrations

    def run(self, ref: RunRef) -> Run:
        key = (ref.path, ref.offset)
        found = self._runs.get(key)
        if found is None:
            found = self._runs[key] = self._files.open_run(ref, self._migrations.of_run(ref))
        return found

    def will_open(self) -> None:
        """This process has read nothing of the line yet; it is about to."""
        self._files.will_open(self._line.live_runs)

    # ---- layers

    def _prepare(self) -> None:
        """Bring the local store, or the dictionary of the deltas, up to the line."""
        self._layers_ready = True
        line = self._line
        if self._store is not None and self.use_store:
            if self._store.catch_up(line, self._delta_slices, self.expiry):
                self._ready = self._store
                self._recent = self._recent_at = None
                return
            self._ready = None
        start = line.position(self._recent_at) if self._recent_at is not None else None
        recent = self._recent
        size = min(FIRST_BYTES, self.recent_bytes) if start is None else self.recent_bytes
        most = min(RECENT_ENTRIES, size // line.entry_bytes)
        missing = sum(d.run.entries for d in line.deltas[start or 0 :] if d.run is not None)
        if start is None or recent is None or len(recent) + missing > 2 * most:
            start, recent = line.newest(most), {}
            self._recent_from = line.deltas[start - 1].manifest_id if start else line.base_id
        for delta in line.deltas[start:]:
            for keys, values in self._delta_slices(delta):
                recent.update(zip(keys, values, strict=True))
        self._recent = recent
        self._recent_at = line.manifest_id
        self._recent_sorted = []

    def _delta_slices(self, delta: DeltaRef) -> Iterator[Slice]:
        return self.slices(delta.run) if delta.run is not None else iter(())

    def slices(self, ref: RunRef) -> Iterator[Slice]:
        """Keys and values of a view, a block at a time."""
        return self.run(ref).scan_groups(ref.first_group, ref.last_group)

    def _layers(self, group: int) -> list[Run]:
        """The runs to ask for a key of ``group``, newest first."""
        layers = self._by_group.get(group)
        if layers is None:
            line = self._line
            stop = 0  # older than what the dictionary or the store holds
            if self._recent is not None:
                stop = line.position(self._recent_from) or 0
            elif self._ready is not None:
                stop = line.position(self._ready.base_id) or 0
            above = (d.run for d in reversed(line.deltas[line.folded : stop]) if d.run is not None)
            refs = chain(above, reversed(line.segments))
            layers = [self.run(ref) for ref in refs if ref.first_group <= group <= ref.last_group]
            self._by_group[group] = layers
        return layers

    # ---- reads

    def get(self, key: bytes) -> bytes | None:  # hot
        """The value of ``key``, None when there is none."""
        value = self._held.get(key)
        if value is not None:
            return None if value == TOMBSTONE else value
        if not self._layers_ready:
            self._prepare()
        if self._recent is not None:
            value = self._recent.get(key)
        elif self._ready is not None:
            try:
                value = self._ready.get(key)
            except lmdb.Error:
                self._give_store_up()
                return self.get(key)
            if value is None and self._ready.complete:
                return None
        if value is None:
            mark = mark_of(key)
            for run in self._layers(key[0] << 8 | key[1]):
                if run.may_hold(mark):
                    value = run.get(key)
                    if value is not None:
                        break
        return None if value == TOMBSTONE else value

    def scan(self, prefix: bytes) -> dict[bytes, bytes]:
        """All entries whose key begins with ``prefix`` (at least its key group), in order."""
        return {key: value for slice in self.stream(prefix) for key, value in zip(*slice, strict=True)}

    def stream(self, prefix: bytes) -> Iterator[Slice]:
        """The same, some at a time: they are read as they are asked for. Good for this line only."""
        return self._stream(prefix, lambda run: True)

    def entries_of(self, head: bytes) -> Iterator[Slice]:
        """The same of the entries of one key in one column, whose keys begin with *head*."""
        mark = mark_of(head)
        return self._stream(head, lambda run: run.may_hold_head(mark))

    def _stream(self, prefix: bytes, may_hold: Callable[[Run], bool]) -> Iterator[Slice]:
        if not self._layers_ready:
            self._prepare()
        start, stop = prefix, prefix_end(prefix)
        while True:
            try:
                for slice in merged(self._slices_of(start, stop, may_hold)):
                    start = slice[0][-1] + b"\0"
                    yield from without_tombstones((slice,))
                return
            except lmdb.Error:
                self._give_store_up()

    def _slices_of(
        self, start: bytes, stop: bytes | None, may_hold: Callable[[Run], bool]
    ) -> list[Iterator[Slice]]:
        """What each layer holds from ``start`` on and before ``stop``, the oldest first; tombstones too.

        :param may_hold: whether a run may hold any of it.
        """
        found = []
        if self._ready is None or not self._ready.complete:
            # A complete store keeps no tombstones: what was deleted must not shine through from below.
            layers = reversed(self._layers(start[0] << 8 | start[1]))
            found = [run.slices(start, stop) for run in layers if may_hold(run)]
        if self._recent is not None:
            found.append(self._recent_slices(start, stop))
        elif self._ready is not None:
            found.append(self._ready.slices(start, stop))
        if self._held:
            if not self._held_sorted:
                self._held_sorted = sorted(self._held)
            found.append(_slices_of(self._held, self._held_sorted, start, stop))
        return found

    def _give_store_up(self) -> None:
        """The local store is damaged. It is only a cache: go on without it."""
        self._ready = None
        self.use_store = False
        self._by_group.clear()
        self._prepare()

    def rest(self) -> None:
        """The epoch is over: hold nothing that others wait for."""
        if self._ready is not None:
            self._ready.rest()
            self._ready = None
            self._layers_ready = False
            self._by_group.clear()

    def _recent_slices(self, start: bytes, stop: bytes | None) -> Iterator[Slice]:
        recent = self._recent
        assert recent is not None
        if len(self._recent_sorted) != len(recent):
            self._recent_sorted = sorted(recent)
        return _slices_of(recent, self._recent_sorted, start, stop)

    def scan_all(self, first: int, last: int) -> dict[bytes, bytes]:
        """All entries of the key groups ``first``..``last``."""
        found: dict[bytes, bytes] = {}
        for ref in self._line.live_runs:
            if ref.first_group <= last and ref.last_group >= first:
                view = ref.view(first, last)
                for keys, values in self.slices(view):
                    found.update(zip(keys, values, strict=True))
        found.update((key, value) for key, value in self._held.items() if first <= group_of(key) <= last)
        return {key: value for key, value in found.items() if value != TOMBSTONE}

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
        self._ready = None
        self._layers_ready = False
        self._runs.clear()
        self._by_group.clear()
        self._recent = self._recent_at = None


def _slices_of(
    entries: Mapping[bytes, bytes], order: list[bytes], start: bytes, stop: bytes | None
) -> Iterator[Slice]:
    """Those from ``start`` on and before ``stop``. ``order``: all keys, sorted."""
    high = len(order) if stop is None else bisect_left(order, stop)
    for low in range(bisect_left(order, start), high, BLOCK_ENTRIES):
        keys = order[low : min(low + BLOCK_ENTRIES, high)]
        yield keys, list(map(entries.__getitem__, keys))
