"""The state of a vertex taken apart by operator: the form in which savepoints keep it.

In a job the state of all operators of a chain lies together, in runs that overlay each other. In the
canonical form each operator has runs of its own, in which every key is there once and nothing is deleted;
what belongs together is found by operator id and state name alone. ``docs/state-format.md`` describes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from firesteel.common.key_groups import key_group_range
from firesteel.state import catalog as catalogs
from firesteel.state._column import column_id, column_of, with_column
from firesteel.state._migration import Migrations
from firesteel.state._overlay import Overlay
from firesteel.state.catalog import CATALOG_PREFIX, CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.line import OPERATOR_GROUP, DeltaRef, RunRef, StateLine, joined
from firesteel.state.runs import encode_run

__all__ = ["Part", "by_operator", "catalog", "combined", "empty_line", "rewritten", "states_of"]

#: A run of a savepoint is about so large, and at least one key group.
_RUN_BYTES: Final = 64 << 20
#: Below all levels that compaction makes of smaller state: what is restored is not moved by the next epochs.
_LEVEL: Final = 8


def catalog(line: StateLine, files: StateFiles) -> dict[bytes, CatalogEntry]:
    """The states that a line holds, by column id; reads the entries that belong to no key."""
    overlay = Overlay(files)
    overlay.move_to(line)
    try:
        return catalogs.of_entries(overlay.scan_all(OPERATOR_GROUP, OPERATOR_GROUP))
    finally:
        overlay.close()


def by_operator(
    lines: Sequence[StateLine], files: StateFiles, target: StateFiles, max_parallelism: int, name: str
) -> dict[str, list[StateLine]]:
    """The canonical form of a vertex: operator id -> a line for each subtask. Operators without any state are
    left out. Reads the whole state, a key group at a time.

    :param target: where the runs are written, with names that begin with ``name``.
    """
    parts: dict[str, list[StateLine]] = {}
    states = states_of(lines, files)
    for subtask, line in enumerate(lines):
        groups = key_group_range(max_parallelism, len(lines), subtask)
        part = Part(line, files, states)
        for uid, new in rewritten([part], groups, target, f"{name}-{subtask}").items():
            empty = [empty_line(f"{name}-{uid}-{n}") for n in range(len(lines))]
            parts.setdefault(uid, empty)[subtask] = new
    return parts


def empty_line(name: str) -> StateLine:
    """The line of a subtask that has no state of an operator of which others have some."""
    return _line((), name, 0)


def states_of(lines: Sequence[StateLine], files: StateFiles) -> dict[bytes, CatalogEntry]:
    """The states that the subtasks of a vertex hold, by column id."""
    return catalogs.merged(catalog(line, files) for line in lines if line.manifest_id)


@dataclass(frozen=True, slots=True)
class Part:
    """State that something is made of.

    :param states: the states of all subtasks of the vertex that the line is of (``states_of``).
    :param becomes: column id -> the state that its entries become, which has other names perhaps; None: all
        stay what they are. What is not in it is left out.
    """

    line: StateLine
    files: StateFiles
    states: Mapping[bytes, CatalogEntry]
    becomes: Mapping[bytes, CatalogEntry] | None = None

    def opened(self) -> Overlay:
        overlay = Overlay(self.files)
        overlay.migrate(Migrations(self.states))  # what is written has the newest type
        overlay.move_to(self.line)
        return overlay

    def targets(self, own: Collection[bytes]) -> dict[bytes, CatalogEntry]:
        """Column id -> the state that its entries become, of the states ``own`` that the line holds."""
        becomes = self.states if self.becomes is None else self.becomes
        return {column: catalogs.settled(becomes[column]) for column in own if column in becomes}


def rewritten(parts: Sequence[Part], groups: range, target: StateFiles, name: str) -> dict[str, StateLine]:
    """The canonical form of a subtask that owns ``groups``: operator id -> line.

    :param parts: what it is made of; no state may be in two of them.
    """
    overlays = [part.opened() for part in parts]
    try:
        return _rewritten(parts, overlays, groups, target, name)
    finally:
        for overlay in overlays:
            overlay.close()


def _rewritten(
    parts: Sequence[Part], overlays: Sequence[Overlay], groups: range, target: StateFiles, name: str
) -> dict[str, StateLine]:
    of_operators = [overlay.scan_all(OPERATOR_GROUP, OPERATOR_GROUP) for overlay in overlays]
    targets = [
        part.targets(catalogs.of_entries(entries)) for part, entries in zip(parts, of_operators, strict=True)
    ]
    owners = {column_id(s.uid, s.name): s.uid for of_part in targets for s in of_part.values()}
    writers = {uid: _RunWriter(target, f"{name}-{uid}") for uid in sorted(set(owners.values()))}
    for group in groups:
        found = (overlay.scan_all(group, group) for overlay in overlays)
        _deal_out(_renamed(found, targets), group, owners, writers)
    _deal_out(_renamed(of_operators, targets), OPERATOR_GROUP, owners, writers)
    sequence = max((part.line.sequence for part in parts), default=0)
    return {uid: _line(writer.finish(), f"{name}-{uid}", sequence) for uid, writer in writers.items()}


def _renamed(
    entries: Iterable[Mapping[bytes, bytes]], targets: Sequence[Mapping[bytes, CatalogEntry]]
) -> dict[bytes, bytes]:
    """The entries of all parts, under the column ids of what they become."""
    result: dict[bytes, bytes] = {}
    for of_part, becomes in zip(entries, targets, strict=True):
        ids = {column: column_id(state.uid, state.name) for column, state in becomes.items()}
        for key, value in of_part.items():
            column = column_of(key)
            new = ids.get(column)
            if new is None:
                continue
            if key.startswith(CATALOG_PREFIX):
                value = catalogs.encode(becomes[column])
            result[key if new == column else with_column(key, new)] = value
    return result


def _line(segments: tuple[RunRef, ...], manifest_id: str, sequence: int) -> StateLine:
    return StateLine(manifest_id, manifest_id, segments, (), sequence)


def _deal_out(
    entries: Mapping[bytes, bytes], group: int, owners: Mapping[bytes, str], writers: Mapping[str, _RunWriter]
) -> None:
    for key in sorted(entries):
        writers[owners[column_of(key)]].add(key, entries[key])
    for writer in writers.values():
        writer.end_group(group)


class _RunWriter:
    """Writes the entries of one operator, in order, as runs of whole key groups."""

    def __init__(self, target: StateFiles, name: str) -> None:
        self._target = target
        self._name = name
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._bytes = 0
        self._seen = 0  # how many entries belong to groups that are complete
        self._first = self._last = 0
        self._runs: list[RunRef] = []

    def add(self, key: bytes, value: bytes) -> None:
        self._keys.append(key)
        self._values.append(value)
        self._bytes += len(key) + len(value)

    def end_group(self, group: int) -> None:
        """What was added since the last call is of this group."""
        if len(self._keys) > self._seen:
            self._first = group if self._seen == 0 else self._first
            self._last = group
            self._seen = len(self._keys)
        if self._bytes >= _RUN_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._keys:
            return
        data, digest = encode_run(self._keys, self._values)
        path = self._target.write_once(f"{self._name}-{digest}.run", data)
        ref = RunRef(path, 0, len(data), digest, len(self._keys), self._first, self._last, _LEVEL)
        self._runs.append(ref)
        self._keys, self._values, self._bytes, self._seen = [], [], 0, 0

    def finish(self) -> tuple[RunRef, ...]:
        self._flush()
        return tuple(self._runs)


def combined(lines: Sequence[StateLine], manifest_id: str) -> StateLine:
    """One line for a subtask whose operators come from several vertices; ``lines`` hold the state of
    different operators, so no entry of one is in another, and their order does not matter."""
    segments: list[RunRef] = []
    deltas: list[DeltaRef] = []
    height = 0  # segments of one level must not overlap: each line gets levels of its own
    for number, line in enumerate(lines):
        segments += (msgspec.structs.replace(ref, level=ref.level + height) for ref in line.segments)
        height = max((ref.level for ref in segments), default=0)
        deltas += (
            DeltaRef(f"{manifest_id}#{number}#{delta.manifest_id}", delta.run)
            for delta in line.deltas[line.folded :]
            if delta.run is not None
        )
    return joined(manifest_id, segments, deltas, lines)
