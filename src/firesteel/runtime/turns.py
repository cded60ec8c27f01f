"""Both inputs of an operator in turn.

Flink's task takes a record of each input in turn while both have some. Here whole buffers arrive: those that
are the n-th of their channels come together, and the inputs they are for are read in turn, some rows each.
So one input does not run ahead of the other within an epoch, and what is late does not depend on which of
them is the first. The order is that of the buffers alone, never that of their arrival.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from firesteel.runtime.batch import Batch
from firesteel.runtime.gate import Gate

__all__ = ["Received", "Turns"]

Received = tuple[Gate, int, Batch]  # the gate, the channel, what came

#: While an input has no more rows than this, a turn is one row. What an operator does costs about the same
#: for one row as for some hundred, so of more rows a turn is a quarter.
_SINGLE_ROWS: Final = 32
_TURNS: Final = 4


class Turns:
    """The buffers that are held until all of the same number are there."""

    __slots__ = ("_held", "_ord")

    def __init__(self) -> None:
        self._ord = -1
        self._held: dict[Gate, list[Received]] = {}

    def add(self, ord: int, gate: Gate, channel: int, batch: Batch) -> Iterator[Received]:
        """Take a buffer; gives what its predecessors have held back. Buffers come in the order of *ord*."""
        if ord != self._ord:
            yield from self.rest()
            self._ord = ord
        self._held.setdefault(gate, []).append((gate, channel, batch))

    def rest(self) -> Iterator[Received]:
        """What is held."""
        inputs = list(self._held.values())
        self.clear()
        if len(inputs) < 2:
            yield from (received for buffers in inputs for received in buffers)
            return
        most = max(sum(len(batch.values) for _, _, batch in buffers) for buffers in inputs)
        size = 1 if most <= _SINGLE_ROWS else -(-most // _TURNS)
        for turn in zip_longest(*(_slices(buffers, size) for buffers in inputs)):
            yield from (received for received in turn if received is not None)

    def clear(self) -> None:
        self._ord, self._held = -1, {}


def _slices(buffers: list[Received], size: int) -> Iterator[Received]:
    """The rows of buffers, at most *size* at once, each with the marks behind it."""
    for gate, channel, batch in buffers:
        rows = len(batch.values)
        if rows <= size:
            yield gate, channel, batch
            continue
        for start in range(0, rows, size):
            stop = min(start + size, rows)
            yield gate, channel, batch.part(start, stop)
