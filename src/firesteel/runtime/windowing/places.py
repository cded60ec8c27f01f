"""The windows of tumbling and sliding assigners by arithmetic, for many timestamps at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: What the windows of an element depend on: the start of the last one and, if the size is not a multiple of
#: the slide, whether the element is early enough in the slide to be in one more window.
Place = Any


class Places:
    """Windows ``[start, start + size_ms)`` with ``start = offset_ms + n * slide_ms``."""

    __slots__ = ("_offset_ms", "_rest_ms", "_size_ms", "_slide_ms")

    def __init__(self, assigner: Any) -> None:
        self._size_ms: int = assigner.size_ms
        self._slide_ms: int = getattr(assigner, "slide_ms", assigner.size_ms)
        self._offset_ms: int = assigner.offset_ms
        self._rest_ms = self._size_ms % self._slide_ms

    def of(self, stamps: Sequence[int]) -> list[Place]:  # hot
        """The place of each timestamp."""
        slide, offset, rest = self._slide_ms, self._offset_ms, self._rest_ms
        last = [stamp - (stamp - offset) % slide for stamp in stamps]
        if not rest:
            return last
        return [(start, stamp - start < rest) for start, stamp in zip(last, stamps, strict=True)]

    def starts(self, place: Place) -> list[int]:
        """Where the windows of a place start, the last one first."""
        last, more = place if type(place) is tuple else (place, False)
        return [last - i * self._slide_ms for i in range(self._size_ms // self._slide_ms + more)]
