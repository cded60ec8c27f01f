"""Open addressing with linear probing, in arrays: what many hashes lead to is found at once.

A number is looked for from the cell that its hash gives on, cell by cell, until it or an empty one is met.
That goes in rounds, each one for all that are not found yet. What is entered stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

__all__ = ["NOTHING", "Cells", "IsSame"]

Array = np.ndarray[Any, Any]
#: Instead of a number.
NOTHING: Final = -1
#: Numbers of the table, and the rows of what is looked for that met them -> which of these it is: equal
#: hashes are not equal keys.
IsSame: TypeAlias = "Callable[[Array, Array], Array]"
_FEWEST: Final = 512


class Cells:
    """Numbers from 0 on, by hashes of 64 bits whose low bits are mixed.

    :param room: how many numbers may be entered: half of the cells stays empty at least.
    """

    def __init__(self, room: int = _FEWEST) -> None:
        self.room = 1 << (max(room, _FEWEST) - 1).bit_length()
        self._table = np.full(2 * self.room, NOTHING, np.int32)
        self._mask = 2 * self.room - 1

    def numbers(self) -> Array:
        """All that were entered and not replaced."""
        return self._table[self._table >= 0]

    def seek(self, hashes: Array, is_same: IsSame) -> tuple[Array, Array]:  # hot
        """For each hash the cell of its number and the number; or an empty cell and ``NOTHING``."""
        table, mask = self._table, self._mask
        cells = (hashes & np.uint64(mask)).view(np.int64)
        found = table[cells]
        left = np.flatnonzero(found >= 0)
        while len(left):
            left = left[~is_same(found[left], left)]
            at = cells[left] + 1
            at &= mask
            cells[left] = at
            met = table[at]
            found[left] = met
            left = left[met >= 0]
        return cells, found

    def replace(self, cells: Array, numbers: Array) -> None:
        """Have other numbers in cells that ``seek`` has found: of the same hashes."""
        self._table[cells] = numbers

    def enter(self, cells: Array, numbers: Array) -> None:  # hot
        """Enter numbers that differ from all that are there, and of which there are as many as have room.

        :param cells: where they may be at the earliest: what ``seek`` says, or ``first_cells``.
        """
        table, mask = self._table, self._mask
        while len(numbers):
            free = table[cells] < 0
            table[cells[free]] = numbers[free]  # of those that want the same cell, one gets it
            left = np.flatnonzero(table[cells] != numbers)
            numbers = numbers[left]
            cells = cells[left] + 1
            cells &= mask

    def first_cells(self, hashes: Array) -> Array:
        """Where the numbers of hashes are at the earliest."""
        return (hashes & np.uint64(self._mask)).view(np.int64)
