"""Rows of each key by time and number, each with a mark: what joins by time keep of their inputs."""

from __future__ import annotations

from typing import Any

from firesteel.sql.operators.aggregates import named_row_text
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

    def begin_epoch(self, sequence: int) -> None:
        """Numbers rise from epoch to epoch."""
        self._number = sequence << 32

    def add(self, name: Any, key: CanonicalKey, time: int, body: bytes, mark: int = 0) -> None:
        self.rows.of(name, key)
        self.rows.put(name, (time, self._number), (body, mark))
        self._number += 1

    def all(self) -> list[tuple[Any, CanonicalKey]]:
        """All keys that may have rows."""
        return list(self.rows.names())
