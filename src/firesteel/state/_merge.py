"""Sorted runs of entries, merged as they are read: what is held of them at a time is a few slices."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from firesteel.state._value_codec import TOMBSTONE

#: Keys in ascending order, and their values.
Slice = tuple[list[bytes], list[bytes]]


class _Layer:
    """A sorted layer: the slice that is being read of it, from position ``at`` on."""

    __slots__ = ("at", "keys", "rest", "values")

    def __init__(self, slices: Iterable[Slice]) -> None:
        self.rest = iter(slices)
        self.keys: list[bytes] = []
        self.values: list[bytes] = []
        self.at = 0

    def fill(self) -> bool:
        """Read on when the slice is used up; False: the layer is at its end."""
        while self.at == len(self.keys):
            found = next(self.rest, None)
            if found is None:
                return False
            self.keys, self.values = found
            self.at = 0
        return True

    def take(self, bound: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The entries up to ``bound``."""
        start = self.at
        self.at = stop = bisect_right(self.keys, bound, start)
        return zip(self.keys[start:stop], self.values[start:stop], strict=True)


def merged(layers: Iterable[Iterable[Slice]]) -> Iterator[Slice]:
    """The union of sorted layers, in order, some at a time. ``layers``: the oldest first; of a key that is in
    several the newest one counts."""
    live = [layer for layer in map(_Layer, layers) if layer.fill()]
    while len(live) > 1:
        bound = min([layer.keys[-1] for layer in live])
        found: dict[bytes, bytes] = {}
        for layer in live:
            found.update(layer.take(bound))
        keys = sorted(found)
        yield keys, list(map(found.__getitem__, keys))
        live = [layer for layer in live if layer.fill()]
    for layer in live:
        yield layer.keys[layer.at :], layer.values[layer.at :]
        yield from layer.rest


def without_tombstones(slices: Iterable[Slice]) -> Iterator[Slice]:
    """What is not deleted."""
    for keys, values in slices:
        if TOMBSTONE in values:
            there = [i for i, value in enumerate(values) if value != TOMBSTONE]
            keys, values = [keys[i] for i in there], [values[i] for i in there]
        if keys:
            yield keys, values
