"""How the changes of an epoch become a delta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from firesteel.state.files import StateFiles
from firesteel.state.line import EpochDelta, RunRef
from firesteel.state.runs import RunWriter, encode_run, group_of

_WRITTEN_AT_ONCE: Final = 4096  # entries
_HEAD: Final = 8  # bytes: key group, length and the hash code of a key of columns, which tell most apart


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
        keys, values = list(changes), list(changes.values())
        order = in_order(keys)
        with self.files.create(self.prefix) as file:
            writer = RunWriter(file.write)
            for start in range(0, len(order), _WRITTEN_AT_ONCE):
                some = order[start : start + _WRITTEN_AT_ONCE]
                writer.add([keys[i] for i in some], [values[i] for i in some])
            digest = writer.finish()
            path = file.save(f"{self.prefix}/{digest}.run")
        first, last = group_of(keys[order[0]]), group_of(keys[order[-1]])
        run = RunRef(path, 0, writer.length, digest, writer.entries, first, last, versions=self.versions)
        return EpochDelta(digest, None, run, writer.entries, None, first, last, self.versions)


def in_order(keys: Sequence[bytes]) -> list[int]:  # hot
    """Return the places of distinct keys in the order of the keys.

    First by their heads, as numbers: other threads run meanwhile, which wait for the end of each sort of
    objects.
    """
    import numpy as np  # tasks have it with Arrow; see ``runs``

    data = b"".join([key[:_HEAD] for key in keys])
    if len(data) < _HEAD * len(keys):
        data = b"".join([key[:_HEAD].ljust(_HEAD, b"\0") for key in keys])
    heads = np.frombuffer(data, ">u8")
    by_head = np.argsort(heads, kind="stable")
    order: list[int] = by_head.tolist()
    is_as_before = np.diff(heads[by_head]) == 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_as_before, [False]])))
    for first, last in edges.reshape(-1, 2).tolist():
        order[first : last + 1] = sorted(order[first : last + 1], key=keys.__getitem__)
    return order
