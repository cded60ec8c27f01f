"""Aggregation before the exchange: what a batch has for one key and the same windows travels as one value.

For windows that ``PaneOperator`` serves, when the option is on: a hot key then costs its subtask one merge
for each batch of each producer instead of one call for each element. Elements that may be late travel as they
are, so lateness is decided where it always is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from firesteel.datastream._operators import Window
from firesteel.runtime.batch import NO_TIMESTAMP
from firesteel.runtime.windowing.contents import step_of
from firesteel.runtime.windowing.places import Place, Places
from firesteel.state.keys import canonical_keys


class Partial(NamedTuple):
    """The elements of one key and place, reduced or accumulated."""

    place: Place
    accumulator: Any


class Combiner:
    def __init__(self, spec: Window) -> None:
        self._places = Places(spec.assigner)
        self._size_ms: int = spec.assigner.size_ms
        self._step = step_of(spec.contents)

    def combine(
        self, values: list[Any], stamps: Sequence[int] | None, keys: list[Any], watermark: int
    ) -> tuple[list[Any], Sequence[int] | None, list[Any]]:
        """Values, timestamps and keys as they travel; ``watermark``: the last one that was sent before."""
        if stamps is None or NO_TIMESTAMP in stamps:
            return values, stamps, keys  # the window operator refuses them
        combined: dict[Any, Any] = {}
        travel: list[int] = []  # positions of those that go as they are
        first: dict[Any, int] = {}
        safe: dict[Place, bool] = {}
        step = self._step
        places = self._places.of(stamps)
        for i, (value, key, place) in enumerate(zip(values, canonical_keys(keys), places, strict=True)):
            may_combine = safe.get(place)
            if may_combine is None:
                may_combine = safe[place] = self._is_safe(place, watermark)
            if not may_combine:
                travel.append(i)
                continue
            group = key, place
            if group not in first:
                first[group] = i
            combined[group] = step(combined.get(group), value)
        picked = [*travel, *first.values()]
        partials = [Partial(group[1], accumulator) for group, accumulator in combined.items()]
        return (
            [values[i] for i in travel] + partials,
            [stamps[i] for i in picked],
            [keys[i] for i in picked],
        )

    def _is_safe(self, place: Place, watermark: int) -> bool:
        """Whether all windows of a place are open. The receiver's watermark is at most this channel's."""
        starts = self._places.starts(place)
        return bool(starts) and starts[-1] + self._size_ms - 1 > watermark
