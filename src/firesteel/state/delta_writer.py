"""How the changes of an epoch become a delta."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from firesteel.state.files import StateFiles
from firesteel.state.line import EpochDelta, RunRef
from firesteel.state.runs import RunWriter, encode_run, group_of

_WRITTEN_AT_ONCE: Final = 4096  # entries


@dataclass(frozen=True, slots=True)
class DeltaWriter:
    """:param prefix: directory of the files that it writes.
    :param versions: of the states whose type has changed, as the delta has them.
    """

    files: StateFiles
    prefix: str
    versions: tuple[tuple[bytes, int], ...]

    def in_answer(self, changes: Mapping[bytes, bytes]) -> EpochDelta:
        """A delta that travels in the answer of its task."""
        order = sorted(changes)
        data, digest = encode_run(order, list(map(changes.__getitem__, order)))
        first, last = group_of(order[0]), group_of(order[-1])
        return EpochDelta(digest, data, None, len(order), None, first, last, self.versions)

    def in_file(self, changes: Mapping[bytes, bytes]) -> EpochDelta:
        """A delta in a file of its own, which is there when this returns."""
        by_group: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for key in changes:  # sorted in pieces: other threads wait for the end of each
            by_group[key[:2]].append(key)
        groups = sorted(by_group)
        with self.files.create(self.prefix) as file:
            writer = RunWriter(file.write)
            for group in groups:
                order = sorted(by_group[group])
                for start in range(0, len(order), _WRITTEN_AT_ONCE):
                    some = order[start : start + _WRITTEN_AT_ONCE]
                    writer.add(some, list(map(changes.__getitem__, some)))
            digest = writer.finish()
            path = file.save(f"{self.prefix}/{digest}.run")
        first, last = group_of(groups[0]), group_of(groups[-1])
        run = RunRef(path, 0, writer.length, digest, writer.entries, first, last, versions=self.versions)
        return EpochDelta(digest, None, run, writer.entries, None, first, last, self.versions)
