"""Watermark alignment: how far the splits of a group may be read (Flink: FLIP-182, FLIP-217)."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.common.watermark_strategy import WatermarkAlignment
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK
from firesteel.runtime.program import SplitTime


def group_watermarks(
    sources: Iterable[tuple[WatermarkAlignment | None, Iterable[SplitTime]]],
) -> dict[str, int]:
    """The watermark of each group: the lowest one of the active splits of all its sources.

    ``sources``: the alignment of each source, and its splits that have not ended. A split without a watermark
    and one that is idle hold nobody back. When no other is left, the highest watermark of the idle ones
    stands for the group, so none of them has to wait; when there is none either, the lowest possible one:
    each split is then read until it has a watermark, and not for a whole epoch.
    """
    active: dict[str, int] = {}
    idle: dict[str, int] = {}
    for alignment, splits in sources:
        if alignment is None:
            continue
        group = alignment.group
        idle.setdefault(group, MIN_WATERMARK)
        for split in splits:
            if split.idle:
                idle[group] = max(idle[group], split.watermark)
            elif split.watermark > MIN_WATERMARK:
                active[group] = min(active.get(group, MAX_WATERMARK), split.watermark)
    return idle | active


def limit_of(alignment: WatermarkAlignment | None, watermarks: dict[str, int]) -> int | None:
    """The watermark up to which a split of this source is read; None: however far it gets."""
    if alignment is None:
        return None
    return min(watermarks[alignment.group] + alignment.max_drift_ms, MAX_WATERMARK)
