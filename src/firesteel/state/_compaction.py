"""Compaction: deltas are folded into segments, a bounded piece of key groups in each epoch.

Levelled, as in LSM trees: the deltas go into level 1 (all at once into a larger level after a burst) in
*sweeps* over all key groups; a level that has
outgrown its size gives key groups to the next one, which may be ``LEVEL_RATIO`` times as large. So an entry
is rewritten O(log(state)) times, and no epoch pays for more than its budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from firesteel.state._overlay import Overlay
from firesteel.state._ttl import Expiry
from firesteel.state._value_codec import TOMBSTONE
from firesteel.state.files import StateFiles
from firesteel.state.line import (
    OPERATOR_GROUP,
    RETAINED_DELTAS,
    Compaction,
    CompactionPiece,
    RunRef,
    StateLine,
)
from firesteel.state.runs import encode_run, group_of

LEVEL_RATIO: Final = 8
#: A level has at most about so many files, whatever its size.
PIECES_PER_LEVEL: Final = 64


@dataclass(frozen=True, slots=True)
class Compactor:
    """Does the piece of compaction that is due on a line.

    :param prefix: directory of the files it writes.
    :param budget: about how many entries a piece may read.
    :param level_entries: size of level 1.
    :param expiry: which entries are gone by their time to live.
    """

    overlay: Overlay
    files: StateFiles
    prefix: str
    key_groups: range
    budget: int
    level_entries: int
    expiry: Expiry

    def step(self) -> Compaction | None:
        """None when nothing is due."""
        line = self.overlay.line
        sweep = self._sweep(line) if self._sweep_is_due(line) else None
        push = self._push(line, sweep)
        done = [piece for piece in (sweep, push) if piece is not None]
        renewal = self._renew(line, done) if self.expiry else None
        pieces = (*done, renewal) if renewal is not None else tuple(done)
        return Compaction(pieces, self.key_groups.stop - 1) if pieces else None

    # ---- the deltas into level 1

    def _sweep_is_due(self, line: StateLine) -> bool:
        if line.sweep_group >= 0:
            return True
        unfolded = line.deltas[line.folded :]
        return len(unfolded) >= RETAINED_DELTAS and any(d.run is not None for d in unfolded)

    def _sweep(self, line: StateLine) -> CompactionPiece:
        deltas = [d.run for d in line.deltas[line.folded :] if d.run is not None]
        first = line.sweep_group if line.sweep_group >= 0 else self.key_groups.start
        target = self._target(line, deltas, first)
        sources = [ref for ref in line.segments if ref.level <= target] + deltas
        last = self._last_within(sources, first, self.key_groups.stop - 1, self._piece_size(line, target))
        end = last >= self.key_groups.stop - 1
        if end:
            last = OPERATOR_GROUP
        run = self._merge(line, sources, target, first, last)
        return CompactionPiece(0, target, first, last, run, end)

    def _target(self, line: StateLine, deltas: list[RunRef], first: int) -> int:
        """The level that the deltas fit into, with all that lies above it: 1, but after a burst a lower one.
        Only the groups that the sweep has not done yet are looked at."""
        end = self.key_groups.stop - 1
        size = 2 * self.level_entries * (end - first + 1) / len(self.key_groups)
        held = self._count(deltas, first, end)
        level = 1
        while True:
            held += self._count([ref for ref in line.segments if ref.level == level], first, end)
            if held <= size:
                return level
            size *= LEVEL_RATIO
            level += 1

    # ---- a level into the next one

    def _push(self, line: StateLine, sweep: CompactionPiece | None) -> CompactionPiece | None:
        size = self.level_entries
        level = 1
        top = max((ref.level for ref in line.segments), default=0)
        while level <= top:
            refs = [ref for ref in line.segments if ref.level == level]
            if sum(ref.entries for ref in refs) > size:
                return self._push_from(line, refs, level, sweep)
            size *= LEVEL_RATIO
            level += 1
        return None

    def _push_from(
        self, line: StateLine, refs: list[RunRef], level: int, sweep: CompactionPiece | None
    ) -> CompactionPiece | None:
        end = self.key_groups.stop - 1
        if sweep is not None and level <= sweep.target:  # one piece must not read what the other replaces
            low, high = sweep.first_group, sweep.last_group
            refs = [ref for ref in refs if ref.last_group < low or ref.first_group > high]
        refs = [ref for ref in refs if ref.first_group <= end]
        if not refs:
            return None
        densest = max(refs, key=lambda ref: ref.entries / (min(ref.last_group, end) - ref.first_group + 1))
        sources = [ref for ref in line.segments if ref.level in (level, level + 1)]
        first, bound = densest.first_group, min(densest.last_group, end)
        last = self._last_within(sources, first, bound, self._piece_size(line, level + 1))
        if last >= end and densest.last_group == OPERATOR_GROUP:
            last = OPERATOR_GROUP
        run = self._merge(line, sources, level + 1, first, last)
        return CompactionPiece(level, level + 1, first, last, run)

    # ---- a segment of idle keys, whose time to live is over

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
        merged: dict[bytes, bytes] = {}
        for ref in refs:
            if ref.first_group <= last and ref.last_group >= first:
                for keys, values in self.overlay.slices(ref.view(first, last)):
                    merged.update(zip(keys, values, strict=True))
        below = [
            ref
            for ref in line.segments
            if ref.level > level and ref.first_group <= last and ref.last_group >= first
        ]
        expires_ms = 0
        if self.expiry:
            # Gone entries stay while there may be older ones below, which must not come to light.
            expires_ms = self.expiry.sweep(merged, remove=not any(ref.expires_ms for ref in below))
        if below:
            keys = sorted(merged)
        else:
            keys = sorted([key for key, value in merged.items() if value != TOMBSTONE])
        if not keys:
            return None
        data, digest = encode_run(keys, list(map(merged.__getitem__, keys)))
        path = self.files.write_once(f"{self.prefix}/{digest}.run", data)
        return RunRef(
            path=path,
            offset=0,
            length=len(data),
            digest=digest,
            entries=len(keys),
            first_group=first,
            last_group=max(last, group_of(keys[-1])),
            level=level,
            expires_ms=expires_ms,
        )
