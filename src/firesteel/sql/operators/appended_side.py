"""What an inner join keeps of an input without retractions: its rows, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from firesteel.sql.operators.aggregates import named_row_text
from firesteel.sql.operators.appended_rows import AppendedRows, appended_rows_state
from firesteel.sql.operators.candidates import Candidates
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState

__all__ = ["AppendedSide"]

Array = np.ndarray[Any, Any]


class AppendedSide:
    """:param null_safe: whether a null in a key may equal another one."""

    def __init__(
        self, state: OperatorState, name: str, row: RowType, keys: Sequence[int], null_safe: bool
    ) -> None:
        shape = f"{named_row_text(row)} -> by {list(keys)}"
        self._rows: AppendedRows = appended_rows_state(state, name, row, keys, null_safe, shape)

    def candidates(self, keyed: KeyedRows, alone: Array) -> Candidates:
        """All pairs of the rows of a batch, but for those *alone*, and what is held for their keys."""
        segments = keyed.segments
        if not alone.any():
            return Candidates.of(segments, *self._rows.look(segments.names, keyed.codes))
        met = np.flatnonzero(~alone[segments.starts])
        counts = np.zeros(len(segments), np.int64)
        counts[met], arrays = self._rows.look([segments.names[i] for i in met.tolist()], keyed.codes[met])
        return Candidates.of(segments, counts, arrays)

    def change_all(self, keyed: KeyedRows, alone: Array) -> None:
        """Add the rows of a batch. Those *alone* will never meet anything."""
        segments, rows = keyed.segments, keyed.rows
        names: Sequence[Any] = segments.names
        lengths = segments.last + 1 - segments.starts
        if alone.any():
            met = ~alone[segments.starts]
            names = [name for name, is_met in zip(names, met.tolist(), strict=True) if is_met]
            lengths = lengths[met]
            rows = rows.take(np.flatnonzero(~alone))
        if len(rows):
            self._rows.add(names, lengths, rows.arrays)
