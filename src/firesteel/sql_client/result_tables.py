"""The rows of a query as a table that changes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from firesteel.table._printing import Change

__all__ = ["Changelog", "Materialized", "ResultTable"]


class ResultTable:
    """Rows to be shown; one thread adds, another one reads. :param limit: older rows are dropped."""

    names: tuple[str, ...] = ()  # of columns before those of the query

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self.dropped = 0

    def add(self, changes: Sequence[Change]) -> None:
        with self._lock:
            for kind, fields in changes:
                self._change(kind, fields)

    def rows(self, first: int, count: int) -> list[list[str]]:
        """At most *count* rows from number *first* on."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _change(self, kind: str, fields: list[str]) -> None:
        raise NotImplementedError


class Changelog(ResultTable):
    """All changes, with their kinds."""

    names = ("op",)

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._rows: deque[list[str]] = deque(maxlen=limit)

    def rows(self, first: int, count: int) -> list[list[str]]:
        with self._lock:
            return [self._rows[i] for i in range(first, min(first + count, len(self._rows)))]

    def __len__(self) -> int:
        return len(self._rows)

    def _change(self, kind: str, fields: list[str]) -> None:
        self.dropped += len(self._rows) == self._limit
        self._rows.append([kind, *fields])


class Materialized(ResultTable):
    """The rows that are left after all changes so far. A retraction takes the last row that is equal."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._rows: dict[int, list[str]] = {}  # by their number, in order
        self._numbers: dict[tuple[str, ...], list[int]] = {}
        self._next = 0

    def rows(self, first: int, count: int) -> list[list[str]]:
        with self._lock:
            return list(self._rows.values())[first : first + count]

    def __len__(self) -> int:
        return len(self._rows)

    def _change(self, kind: str, fields: list[str]) -> None:
        key = tuple(fields)
        if kind in ("+I", "+U"):
            if len(self._rows) >= self._limit:
                self._drop_oldest()
            self._numbers.setdefault(key, []).append(self._next)
            self._rows[self._next] = fields
            self._next += 1
        elif key in self._numbers:  # else it was dropped
            numbers = self._numbers[key]
            del self._rows[numbers.pop()]
            if not numbers:
                del self._numbers[key]

    def _drop_oldest(self) -> None:
        number = next(iter(self._rows))
        key = tuple(self._rows.pop(number))
        self._numbers[key].remove(number)
        if not self._numbers[key]:
            del self._numbers[key]
        self.dropped += 1
