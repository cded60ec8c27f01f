"""Compaction: deltas are folded into segments, a bounded piece of key groups in each epoch.

What a checkpoint writes beyond its delta is what compaction has written since the one before, so it is lazy.
Segments lie on levels. The deepest one, the *bottom*, holds most of the state; the one above it may hold half
as much, and each further one an eighth of the one below. Deltas wait until they have half of the bottom's
entries, or are many, and are then folded in a *sweep* over all key groups into the first level that they
fit into with all that lies above it. So where 1 % of the keys change between two checkpoints the deltas of
about 50 go straight to the bottom: each change is written four times, once as a delta and three times by
compaction. A level that has outgrown its size gives key groups to a deeper one. No epoch pays for more than
its budget, which goes by what it has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from firesteel.state._merge import merged, without_tombstones
from firesteel.state._overlay import Overlay
from firesteel.state._ttl import Expiry
from firesteel.state.files import StateFiles
from firesteel.state.line import (
    OPERATOR_GROUP,
    RETAINED_DELTAS,
    Compaction,
    CompactionPiece,
    RunRef,
    StateLine,
)
from firesteel.state.runs import RunWriter, group_of

#: The bottom of a new line: room for as many levels above it.
BOTTOM: Final = 6
BOTTOM_RATIO: Final = 2
LEVEL_RATIO: Final = 8
#: The number of deltas at which they are folded, however small they are.
MOST_DELTAS: Final = 64
#: The approximate maximum number of files of a level, whatever its size.
PIECES_PER_LEVEL: Final = 64


@dataclass(frozen=True, slots=True)
class Compactor:
    """Does the piece of compaction that is due on a line.

    :param prefix: directory of the files it writes.
    :param budget: about how many entries may be read; it is shared by what is due at the same time.
    :param level_entries: a level that would have to be smaller is not used.
    :param expiry: which entries are gone by their time to live.
    :param check: called for each block that is written; may raise, to stop.
    """

    overlay: Overlay
    files: StateFiles
    prefix: str
    key_groups: range
    budget: int
    level_entries: int
    expiry: Expiry
    check: Callable[[], None] = lambda: None

    def is_due(self) -> bool:
        """Whether there is something to compact."""
        line = self.overlay.line
        return self._sweep_is_due(line) or self._full_level(line) is not None or self._renewal_is_due(line)

    def step(self) -> Compaction | None:
        """None when nothing is due."""
        line = self.overlay.line
        sweeps, full, renews = self._sweep_is_due(line), self._full_level(line), self._renewal_is_due(line)
        due = sweeps + (full is not None) + renews
        if not due:
            return None
        shared = replace(self, budget=self.budget // due)
        sweep = shared._sweep(line) if sweeps else None
        push = shared._push(line, full, sweep) if full is not None else None
        done = [piece for piece in (sweep, push) if piece is not None]
        renewal = shared._renew(line, done) if renews else None
        pieces = (*done, renewal) if renewal is not None else tuple(done)
        return Compaction(pieces, self.key_groups.stop - 1) if pieces else None

    # ---- the deltas into level 1

    def _sweep_is_due(self, line: StateLine) -> bool:
        if line.sweep_group >= 0:
            return True
        unfolded = line.deltas[line.folded :]
        if len(unfolded) < RETAINED_DELTAS or not any(d.run is not None for d in unfolded):
            return False
        few = len(unfolded) < MOST_DELTAS
        return not few or BOTTOM_RATIO * line.unfolded_entries >= self._held(line, self._bottom(line))

    def _sweep(self, line: StateLine) -> CompactionPiece:
        under_way = line.sweep_group >= 0
        upto = line.position(line.sweep_upto) if under_way else None  # later ones are for the next sweep
        deltas = [d.run for d in line.deltas[line.folded : upto] if d.run is not None]
        first = line.sweep_group if under_way else self.key_groups.start
        target = self._target(line, deltas, first)
        sources = [ref for ref in line.segments if ref.level <= target] + deltas
        last = self._last_within(sources, first, self.key_groups.stop - 1, self._piece_size(line, target))
        end = last >= self.key_groups.stop - 1
        if end:
            last = OPERATOR_GROUP
        run = self._merge(line, sources, target, first, last)
        return CompactionPiece(0, target, first, last, run, end)

    def _target(self, line: StateLine, deltas: list[RunRef], first: int) -> int:
        """The level that the deltas fit into; looks at the groups that the sweep has still to do."""
        end = self.key_groups.stop - 1
        share = (end - first + 1) / len(self.key_groups)
        return self._fitting(line, self._count(deltas, first, end), first, end, share)

    def _fitting(
        self, line: StateLine, added: float, first: int, last: int, share: float = 1.0, above: int = 0
    ) -> int:
        """Return the first level below *above* that can hold *added* entries plus everything in between."""
        bottom = self._bottom(line)
        held = added
        for level in range(above + 1, bottom):
            held += self._count([ref for ref in line.segments if ref.level == level], first, last)
            size = share * self._size(line, level)
            if added <= size / 2 and held <= 2 * size:
                return level
        return bottom

    # ---- levels

    @staticmethod
    def _bottom(line: StateLine) -> int:
        return max((ref.level for ref in line.segments), default=BOTTOM)

    @staticmethod
    def _held(line: StateLine, level: int) -> int:
        return sum(ref.entries for ref in line.segments if ref.level == level)

    def _size(self, line: StateLine, level: int) -> float:
        """How many entries a level above the bottom should have."""
        bottom = self._bottom(line)
        size = self._held(line, bottom) / (BOTTOM_RATIO * LEVEL_RATIO ** (bottom - 1 - level))
        return size if size >= self.level_entries else 0.0

    # ---- a level into the next one

    def _full_level(self, line: StateLine) -> int | None:
        """The first one that holds more than it should."""
        levels = sorted({ref.level for ref in line.segments} - {self._bottom(line)})
        return next((level for level in levels if self._held(line, level) > self._size(line, level)), None)

    def _push(self, line: StateLine, level: int, sweep: CompactionPiece | None) -> CompactionPiece | None:
        refs = [ref for ref in line.segments if ref.level == level]
        end = self.key_groups.stop - 1
        if sweep is not None and level <= sweep.target:  # one piece must not read what the other replaces
            low, high = sweep.first_group, sweep.last_group
            refs = [ref for ref in refs if ref.last_group < low or ref.first_group > high]
        refs = [ref for ref in refs if ref.first_group <= end]
        if not refs:
            return None
        densest = max(refs, key=lambda ref: ref.entries / (min(ref.last_group, end) - ref.first_group + 1))
        first, bound = densest.first_group, min(densest.last_group, end)
        share = (bound - first + 1) / len(self.key_groups)
        target = self._fitting(line, self._count(refs, first, bound), first, bound, share, level)
        sources = [ref for ref in line.segments if level <= ref.level <= target]
        last = self._last_within(sources, first, bound, self._piece_size(line, target))
        if last >= end and densest.last_group == OPERATOR_GROUP:
            last = OPERATOR_GROUP
        run = self._merge(line, sources, target, first, last)
        return CompactionPiece(level, target, first, last, run)

    # ---- a segment of idle keys, whose time to live is over

    def _renewal_is_due(self, line: StateLine) -> bool:
        return bool(self.expiry) and any(0 < ref.expires_ms <= self.expiry.now_ms for ref in line.segments)

    def _renew(self, line: StateLine, done: list[CompactionPiece]) -> CompactionPiece | None:
        """Write a segment again of which all entries of some state are gone: when nothing is added to its
        keys, nothing else would ever come by. The deepest goes first, so that nothing shines through."""
        end = self.key_groups.stop - 1
        with_ttl: list[RunRef] = []
        for ref in line.segments:  # the deepest first
            due = 0 < ref.expires_ms <= self.expiry.now_ms
            if due and not any(d.replaces(ref) for d in done) and not any(map(ref.overlaps, with_ttl)):
                first, bound = ref.first_group, min(ref.last_group, end)
                last = self._last_within([ref], first, bound, self._piece_size(line, ref.level))
                if last >= end and ref.last_group == OPERATOR_GROUP:
                    last = OPERATOR_GROUP
                sources = [other for other in line.segments if other.level == ref.level]
                run = self._merge(line, sources, ref.level, first, last)
                return CompactionPiece(ref.level, ref.level, first, last, run)
            if ref.expires_ms:
                with_ttl.append(ref)
        return None

    # ---- how

    def _piece_size(self, line: StateLine, level: int) -> int:
        held = sum(ref.entries for ref in line.segments if ref.level == level)
        return max(self.budget, held // PIECES_PER_LEVEL)

    def _last_within(self, refs: list[RunRef], first: int, bound: int, entries: int) -> int:
        """The last group up to ``bound`` so that the groups from ``first`` on hold about ``entries``; at
        least ``first``."""
        low, high = first, bound
        while low < high:
            middle = (low + high + 1) // 2
            if self._count(refs, first, middle) <= entries:
                low = middle
            else:
                high = middle - 1
        return low

    def _count(self, refs: list[RunRef], first: int, last: int) -> float:
        total = 0.0
        for ref in refs:
            low, high = max(first, ref.first_group), min(last, ref.last_group)
            if low <= high:
                total += self.overlay.run(ref).count_groups(low, high)
        return total

    def _merge(self, line: StateLine, refs: list[RunRef], level: int, first: int, last: int) -> RunRef | None:
        """Merge the views (oldest first) and write the segment. Deletions are dropped when nothing older
        lies below them."""
        views = [ref.view(first, last) for ref in refs if ref.first_group <= last and ref.last_group >= first]
        below = [
            ref
            for ref in line.segments
            if ref.level > level and ref.first_group <= last and ref.last_group >= first
        ]
        slices = merged(map(self.overlay.slices, views))
        if not below:
            slices = without_tombstones(slices)
        # Gone entries stay while there may be older ones below, which must not come to light.
        kept = self.expiry.sweep(remove=not any(ref.expires_ms for ref in below)) if self.expiry else None
        with self.files.create(self.prefix) as file:
            writer = RunWriter(file.write)
            for keys, values in slices if kept is None else map(kept.of, slices):
                self.check()
                writer.add(keys, values)
            if not writer.entries:
                return None
            digest = writer.finish()
            path = file.save(f"{self.prefix}/{digest}.run")
        return RunRef(
            path=path,
            offset=0,
            length=writer.length,
            digest=digest,
            entries=writer.entries,
            first_group=first,
            last_group=max(last, group_of(writer.last_key)),
            level=level,
            expires_ms=0 if kept is None else kept.expires_ms,
            versions=self.overlay.migrations.versions,
        )
