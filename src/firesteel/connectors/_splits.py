"""Enumerators of sources whose splits are all known when the job starts."""

from __future__ import annotations

from typing import Any

from firesteel.program.sources import ReadRange, Split, SplitEnumerator


def contiguous_ranges(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Split ``[start, stop)`` into at most ``parts`` consecutive, non-empty ranges, longer ones first.

    (Flink: ``NumberSequenceIterator.split``.)
    """
    length, extra = divmod(stop - start, parts)
    ranges = []
    for part in range(parts):
        end = start + length + (part < extra)
        if end > start:
            ranges.append((start, end))
        start = end
    return ranges


class FixedSplits(SplitEnumerator):
    """Reports its splits once and sets no limit on how fast each is read.

    :param in_turn: see ``ReadRange``.
    """

    def __init__(self, splits: list[Split], *, in_turn: bool = False) -> None:
        self._splits = splits
        self._in_turn = in_turn
        self._reported = False

    def discover(self, now_ms: int) -> list[Split]:
        if self._reported:
            return []
        self._reported = True
        return list(self._splits)

    @property
    def finished(self) -> bool:
        return self._reported

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        return ReadRange(split, position, max_records, max_bytes, in_turn=self._in_turn)

    def snapshot(self) -> Any:
        return {"reported": self._reported}

    def restore(self, state: Any) -> None:
        self._reported = state["reported"]
