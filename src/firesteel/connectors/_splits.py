"""Enumerators of sources whose splits are all known when the job starts."""

from __future__ import annotations

from typing import Any

from firesteel.program.sources import ReadRange, Split, SplitEnumerator


def contiguous_ranges(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """``[start, stop)`` in at most ``parts`` ranges that follow each other: none empty, longer ones first.

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
    """Reports its splits once and lets each be read as fast as the engine wants."""

    def __init__(self, splits: list[Split]) -> None:
        self._splits = splits
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
        return ReadRange(split, position, max_records, max_bytes)

    def snapshot(self) -> Any:
        return {"reported": self._reported}

    def restore(self, state: Any) -> None:
        self._reported = state["reported"]
