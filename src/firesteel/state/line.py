"""The line of a subtask's state: which runs make it up, in which order. Pure data and pure functions.

``State = overlay of the segments, then the deltas``; the last writer of a key wins. Segments lie on *levels*
(1 is the youngest and smallest); deltas are the changes of single epochs. The driver advances a line by one
delta for each committed epoch; a task may ask with it for a piece of compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

__all__ = [
    "EMPTY",
    "Compaction",
    "CompactionPiece",
    "DeltaRef",
    "EpochDelta",
    "RunRef",
    "StateLine",
    "advance",
    "renamed",
    "restored",
]

#: So many of the newest deltas stay on the line though they are folded: they patch the caches of processes.
RETAINED_DELTAS: Final = 8
#: The group of what belongs to the subtask and to no key: operator state and the catalog of states.
OPERATOR_GROUP: Final = 0xFFFF


class RunRef(msgspec.Struct, frozen=True, array_like=True):
    """A run, or the view of its key groups ``first_group``..``last_group``, both included.

    :param path: name of the file, relative to the state directory.
    :param offset: where the run begins in the file, and its ``length`` in bytes.
    :param digest: of the run's bytes (``RunWriter.finish``).
    :param entries: entries in the view, exact only when the view is the whole run.
    :param level: level of a segment; 0 for deltas.
    :param expires_ms: when all that a segment has of some state will be gone by its time to live; 0: never.
    :param versions: column id -> steps of its state (``catalog.Step``) that the entries have behind them,
        in the order of ids; a column that is not there has none.
    """

    path: str
    offset: int
    length: int
    digest: str
    entries: int
    first_group: int
    last_group: int
    level: int = 0
    expires_ms: int = 0
    versions: tuple[tuple[bytes, int], ...] = ()

    def overlaps(self, other: RunRef) -> bool:
        """Whether both may hold entries of a key group."""
        return _overlaps(self, other.first_group, other.last_group)

    def view(self, first: int, last: int, end: int = OPERATOR_GROUP) -> RunRef:
        """The part within ``first``..``last``; the groups must overlap. ``end`` is the last key group that
        can hold entries: without it the share of the part is estimated badly."""
        low, high = max(first, self.first_group), min(last, self.last_group)
        width = min(self.last_group, end) - self.first_group + 1
        part = min(high, end) - low + 1
        share = -(-self.entries * part // width) if width > 0 and part > 0 else min(self.entries, 1)
        return msgspec.structs.replace(self, first_group=low, last_group=high, entries=share)


class DeltaRef(msgspec.Struct, frozen=True, array_like=True):
    """The change of one epoch. ``run`` None: nothing changed."""

    manifest_id: str
    run: RunRef | None = None


class StateLine(msgspec.Struct, frozen=True, array_like=True):
    """The committed state of one subtask as of a manifest.

    :param manifest_id: the manifest that the line belongs to; "" for the empty line.
    :param base_id: the manifest before the first of ``deltas``.
    :param segments: oldest first (highest level first).
    :param deltas: the changes of the epochs after ``base_id`` up to ``manifest_id``, oldest first.
    :param sequence: number of epochs on the line since it began empty; stamps list entries.
    :param sweep_group: the next key group whose deltas are folded into level 1; -1: no sweep is running.
    :param sweep_upto: the newest manifest when the sweep began: the deltas up to it are folded when it ends.
    :param folded: how many of the oldest deltas are in the segments already, for all key groups.
    """

    manifest_id: str = ""
    base_id: str = ""
    segments: tuple[RunRef, ...] = ()
    deltas: tuple[DeltaRef, ...] = ()
    sequence: int = 0
    sweep_group: int = -1
    sweep_upto: str = ""
    folded: int = 0

    @property
    def entries(self) -> int:
        """About how many entries must be read to know the whole state."""
        return sum(ref.entries for ref in self.live_runs)

    @property
    def live_runs(self) -> tuple[RunRef, ...]:
        """The runs that make up the state, oldest first: without the deltas that are only kept for caches."""
        return self.segments + tuple(d.run for d in self.deltas[self.folded :] if d.run is not None)

    @property
    def runs(self) -> tuple[RunRef, ...]:
        """All runs, oldest first."""
        return self.segments + tuple(d.run for d in self.deltas if d.run is not None)

    @property
    def unfolded_entries(self) -> int:
        return sum(d.run.entries for d in self.deltas[self.folded :] if d.run is not None)

    @property
    def entry_bytes(self) -> int:
        """About how many bytes an entry has in its run, at least 1."""
        runs = self.live_runs
        return sum(ref.length for ref in runs) // max(1, sum(ref.entries for ref in runs)) or 1

    def newest(self, entries: int) -> int:
        """Return the position of the oldest delta that is not folded and that has, together with all
        newer ones, at most *entries* entries."""
        start = len(self.deltas)
        while start > self.folded:
            run = self.deltas[start - 1].run
            entries -= run.entries if run is not None else 0
            if entries < 0:
                break
            start -= 1
        return start

    def position(self, manifest_id: str) -> int | None:
        """How many of ``deltas`` are part of a state at ``manifest_id``; None when it is not on the line."""
        if manifest_id == self.base_id:
            return 0
        for number in range(len(self.deltas) - 1, -1, -1):
            if self.deltas[number].manifest_id == manifest_id:
                return number + 1
        return None


EMPTY: Final = StateLine()


class CompactionPiece(msgspec.Struct, frozen=True, array_like=True):
    """Everything of the levels ``source`` (0: the deltas) to ``target`` within the key groups is now in
    ``run`` (None: nothing was left). ``sweep_end``: the last piece of a sweep over the deltas."""

    source: int
    target: int
    first_group: int
    last_group: int
    run: RunRef | None
    sweep_end: bool = False

    def replaces(self, ref: RunRef) -> bool:
        """Whether some of a segment is now in ``run``."""
        return self.source <= ref.level <= self.target and _overlaps(ref, self.first_group, self.last_group)


class Compaction(msgspec.Struct, frozen=True, array_like=True):
    """What a task has compacted of the line it worked on.

    :ivar key_group_end: its last key group.
    :ivar base_id: the manifest of that line; "": the line before the epoch. Later deltas are not part of it.
    """

    pieces: tuple[CompactionPiece, ...]
    key_group_end: int
    base_id: str = ""


class EpochDelta(msgspec.Struct, frozen=True, array_like=True):
    """What an epoch has changed. ``payload``: a run of up to 64 kB that rides in the ack, else ``run`` names
    a file that the task wrote; both None: nothing changed."""

    digest: str = ""
    payload: bytes | None = None
    run: RunRef | None = None
    entries: int = 0
    compaction: Compaction | None = None
    first_group: int = 0
    last_group: int = 0
    versions: tuple[tuple[bytes, int], ...] = ()

    @property
    def length(self) -> int:
        """In bytes."""
        return self.run.length if self.run is not None else len(self.payload or b"")

    def ref(self, path: str, offset: int) -> RunRef:
        """The reference to ``payload`` after the driver has written it into a file at ``offset``."""
        assert self.payload is not None
        return RunRef(
            path,
            offset,
            len(self.payload),
            self.digest,
            self.entries,
            self.first_group,
            self.last_group,
            versions=self.versions,
        )

    def in_file(self, path: str) -> EpochDelta:
        """The same change after its payload was written to a file of its own."""
        return msgspec.structs.replace(self, payload=None, run=self.ref(path, 0))


def advance(
    line: StateLine, manifest_id: str, run: RunRef | None, compaction: Compaction | None
) -> tuple[StateLine, tuple[str, ...]]:
    """The line after an epoch, and the files that it no longer refers to.

    :param run: the delta of the epoch, None when nothing changed.
    :param compaction: what was compacted of ``line``, or of what it was some epochs ago.
    """
    new = msgspec.structs.replace(
        line,
        manifest_id=manifest_id,
        deltas=(*line.deltas, DeltaRef(manifest_id, run)),
        sequence=line.sequence + 1,
    )
    if compaction is not None:
        for piece in compaction.pieces:
            new = _compacted(new, piece, compaction.base_id or line.manifest_id, compaction.key_group_end)
    new = _without_old_deltas(new)
    kept = {ref.path for ref in new.runs}
    gone = {ref.path for ref in line.runs} - kept
    return new, tuple(sorted(gone))


def _compacted(line: StateLine, done: CompactionPiece, base_id: str, end: int) -> StateLine:
    rest: list[RunRef] = []
    for ref in line.segments:
        if done.replaces(ref):
            rest += _outside(ref, done.first_group, done.last_group, end)
        else:
            rest.append(ref)
    if done.run is not None:
        rest.append(done.run)
    rest.sort(key=lambda ref: (-ref.level, ref.first_group))
    line = msgspec.structs.replace(line, segments=tuple(rest))
    if done.source:
        return line
    upto = line.sweep_upto if line.sweep_group >= 0 else base_id
    if not done.sweep_end:
        return msgspec.structs.replace(line, sweep_group=done.last_group + 1, sweep_upto=upto)
    folded = line.position(upto)
    assert folded is not None
    return msgspec.structs.replace(line, sweep_group=-1, sweep_upto="", folded=folded)


def _without_old_deltas(line: StateLine) -> StateLine:
    """Drop the folded deltas but for the newest. While a sweep is on its marks must stay on the line."""
    drop = min(line.folded, len(line.deltas) - RETAINED_DELTAS)
    # Leading epochs without a change cost nothing to lose, folded or not: they hold nothing.
    while drop >= line.folded and len(line.deltas) - drop > RETAINED_DELTAS and _is_blank(line, drop):
        drop += 1
    if drop <= 0:
        return line
    return msgspec.structs.replace(
        line,
        base_id=line.deltas[drop - 1].manifest_id,
        deltas=line.deltas[drop:],
        folded=max(0, line.folded - drop),
    )


def _is_blank(line: StateLine, number: int) -> bool:
    delta = line.deltas[number]
    return delta.run is None and delta.manifest_id != line.sweep_upto


def renamed(line: StateLine, path_of: Callable[[str], str]) -> StateLine:
    """The line with other names for its files."""
    replace = msgspec.structs.replace
    return replace(
        line,
        segments=tuple(replace(ref, path=path_of(ref.path)) for ref in line.segments),
        deltas=tuple(
            d if d.run is None else replace(d, run=replace(d.run, path=path_of(d.run.path)))
            for d in line.deltas
        ),
    )


def _overlaps(ref: RunRef, first: int, last: int) -> bool:
    return ref.first_group <= last and ref.last_group >= first


def _outside(ref: RunRef, first: int, last: int, end: int) -> list[RunRef]:
    parts = []
    if ref.first_group < first:
        parts.append(ref.view(ref.first_group, first - 1, end))
    if ref.last_group > last:
        parts.append(ref.view(last + 1, ref.last_group, end))
    return parts


def restored(lines: Sequence[StateLine], key_groups: range, manifest_id: str) -> StateLine:
    """The line of a subtask that owns ``key_groups``, made of the lines of all subtasks before.

    The lines must hold disjoint key groups. Operator state is not taken over: see
    ``operator_state.redistribute_split`` and its sisters.
    """
    first, last = key_groups.start, key_groups.stop - 1
    segments: list[RunRef] = []
    deltas: list[DeltaRef] = []
    for number, line in enumerate(lines):
        segments += (ref.view(first, last, last) for ref in line.segments if _overlaps(ref, first, last))
        for delta in line.deltas[line.folded :]:
            if delta.run is not None and _overlaps(delta.run, first, last):
                view = delta.run.view(first, last, last)
                deltas.append(DeltaRef(f"{manifest_id}#{number}#{delta.manifest_id}", view))
    return joined(manifest_id, segments, deltas, lines)


def joined(
    manifest_id: str, segments: Iterable[RunRef], deltas: list[DeltaRef], lines: Sequence[StateLine]
) -> StateLine:
    """A line of these parts of other lines; the newest delta brings it to ``manifest_id``."""
    if deltas:
        deltas = [*deltas[:-1], DeltaRef(manifest_id, deltas[-1].run)]
    return StateLine(
        manifest_id=manifest_id,
        base_id=f"{manifest_id}#" if deltas else manifest_id,
        segments=tuple(sorted(segments, key=lambda ref: (-ref.level, ref.first_group))),
        deltas=tuple(deltas),
        sequence=max((line.sequence for line in lines), default=0),
    )
