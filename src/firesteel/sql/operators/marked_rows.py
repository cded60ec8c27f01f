"""Rows of each key by time and number, each with a mark: what joins by time keep of their inputs."""

from __future__ import annotations

from typing import Any

from firesteel.sql.operators.aggregates import named_row_text
from firesteel.sql.operators.due_keys import DueKeys
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState
from firesteel.state.columns import CanonicalKey

__all__ = ["MarkedRows"]


class MarkedRows:
    """An entry of ``rows`` is (time, number) -> (bytes of the row, mark)."""

    def __init__(self, state: OperatorState, name: str, row: RowType, ttl_ms: int = 0) -> None:
        self.codec = RowCodec(row)
        self.rows: MapsColumn = maps_state(state, name, named_row_text(row), ttl_ms)
        self._number = 0
        self._due = DueKeys()
        self._seen: int | None = None  # the generation of what ``_due`` is about

    def begin_epoch(self, sequence: int) -> None:
        """Numbers rise from epoch to epoch."""
        self._number = sequence << 32

    def add(self, name: Any, key: CanonicalKey, time: int, body: bytes, mark: int = 0) -> None:
        self.rows.of(name, key)
        self.rows.put(name, (time, self._number), (body, mark))
        self._number += 1
        if self._seen == self.rows.generation:
            self._due.put(name, key, time)

    @property
    def first_ms(self) -> int:
        """No row is earlier; ``NEVER``: there is none."""
        self._look()
        return self._due.first

    def up_to(self, limit: int) -> list[tuple[Any, CanonicalKey]]:
        """The keys that have rows up to a time. What they have left is to be told by ``again``."""
        self._look()
        return self._due.take(limit)

    def again(self, name: Any, key: CanonicalKey) -> None:
        left: Any = self.rows.of(name, key)
        if left:
            self._due.put(name, key, min(left)[0])

    def _look(self) -> None:
        """At all keys, where the state has changed by other hands."""
        if self._seen == self.rows.generation:
            return
        self._due = DueKeys()
        for name, key in self.all():
            self.again(name, key)
        self._seen = self.rows.generation

    def all(self) -> list[tuple[Any, CanonicalKey]]:
        """All keys that may have rows."""
        return list(self.rows.names())
