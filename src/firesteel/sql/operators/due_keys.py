"""Keys by the time at which something is due for them: so nobody has to look at all keys for it."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Any, Final

from firesteel.state.columns import CanonicalKey

__all__ = ["NEVER", "DueKeys"]

NEVER: Final = 2**63 - 1


class DueKeys:
    """In memory only: whoever has it makes it anew from the state that another process has changed."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Any, CanonicalKey]] = []
        self._times: dict[Any, int] = {}  # of the keys that are due some time
        self._numbers = count()  # names cannot be compared

    @property
    def first(self) -> int:
        """The earliest time, or an earlier one; ``NEVER``: there is none."""
        return self._heap[0][0] if self._heap else NEVER

    def put(self, name: Any, key: CanonicalKey, time: int) -> None:  # hot
        """A key is due at a time, unless it is earlier already."""
        if time < self._times.get(name, NEVER):
            self._times[name] = time
            heappush(self._heap, (time, next(self._numbers), name, key))

    def take(self, limit: int) -> list[tuple[Any, CanonicalKey]]:
        """The keys that are due up to a time, in its order. They are due no more."""
        found: list[tuple[Any, CanonicalKey]] = []
        while self._heap and self._heap[0][0] <= limit:
            time, _, name, key = heappop(self._heap)
            if self._times.get(name) == time:  # else it was taken for an earlier time
                del self._times[name]
                found.append((name, key))
        return found
