"""Rows that wait for the end of their windows: those of the epoch in columns, those of before in state.

Most windows end in the epoch in which their rows come, so most rows never become plain values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.sql.operators.slices import instants_of
from firesteel.sql.operators.timed_rows import TimedRows

__all__ = ["WindowRows"]

Array = np.ndarray[Any, Any]


class WindowRows:
    """
    :param kept: those in state. :param keys: the key columns.
    """

    def __init__(self, kept: TimedRows, keys: Sequence[int]) -> None:
        self._kept = kept
        self._keys = tuple(keys)
        self._new: dict[int, list[Columns]] = {}  # by the end of their window

    def begin_epoch(self) -> None:
        self._new.clear()  # what an epoch has left that was given up
        self._kept.refresh()

    def end_epoch(self) -> None:
        """Keep in state what still waits."""
        if not self._new:
            return
        ends = list(self._new)
        lengths = [sum(map(len, self._new[end])) for end in ends]
        rows = Columns.concat([part for end in ends for part in self._new[end]])
        self._new.clear()
        keys = [rows.arrays[key] for key in self._keys]
        self._kept.add_all(rows, keys, np.repeat(np.array(ends, np.int64), lengths))

    def add(self, rows: Columns, ends: Array) -> None:
        """Add rows, each with the end of its window."""
        rows = rows.settled()
        if (ends[1:] < ends[:-1]).any():
            order = np.argsort(ends, kind="stable")
            rows, ends = rows.take(order), ends[order]
        starts = np.flatnonzero(np.concatenate([[True], ends[1:] != ends[:-1]]))
        stops = [*starts[1:].tolist(), len(ends)]
        for start, stop, end in zip(starts.tolist(), stops, ends[starts].tolist(), strict=True):
            self._new.setdefault(end, []).append(rows[start:stop])

    def due(self, watermark: int, zone: str) -> list[int]:
        """The ends that *watermark* has passed, as ``TimedRows.due``."""
        ends = np.array(sorted(self._new), np.int64)
        passed: list[int] = ends[instants_of(ends, zone) - 1 <= watermark].tolist()
        return sorted({*passed, *self._kept.due(watermark, zone)})

    def pop(self, ends: Sequence[int]) -> tuple[Columns, Array]:
        """Remove the rows of windows: those of one after those of the other, each as they came, and with each
        row the end of its window."""
        kept: list[Any] = []
        lengths: list[int] = []
        for end in ends:
            before = len(kept)
            for _, _, rows in self._kept.pop(end):
                kept += rows
            lengths.append(len(kept) - before)
        stored = self._kept.columns(kept)
        parts = []
        start = 0
        for at, (end, length) in enumerate(zip(ends, lengths, strict=True)):
            new = self._new.pop(end, ())
            parts += [stored[start : start + length], *new]
            start += length
            lengths[at] += sum(map(len, new))
        found = Columns.concat([part for part in parts if len(part)] or [stored])
        return found, np.repeat(np.array(ends, np.int64), lengths)

    def keys_of(self, rows: Columns) -> list[pa.Array]:
        """The key columns of rows."""
        return [rows.arrays[key] for key in self._keys]
