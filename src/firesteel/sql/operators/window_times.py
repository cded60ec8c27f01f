"""The columns that tell of windows: their start, their end and their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.slices import instants_of
from firesteel.sql.types import RowType

__all__ = ["WindowTimes"]

Array = np.ndarray[Any, Any]


class WindowTimes:
    """
    :param output: the row type whose last columns they are. :param properties: "start", "end", "time" (or
        "rowtime", "proctime").
    """

    def __init__(self, output: RowType, properties: Sequence[str], zone: str) -> None:
        count = len(properties)
        types = [arrow_type(f.data_type) for f in output.fields[len(output.fields) - count :]]
        self._of = list(zip(properties, types, strict=True))
        self._zone = zone

    def arrays(self, starts: Array, ends: Array) -> list[pa.Array]:
        """Their columns for windows, one for each row."""
        made = []
        for name, kind in self._of:
            local = starts if name == "start" else ends if name == "end" else ends - 1
            if pa.types.is_timestamp(kind) and kind.tz is not None:
                local = instants_of(local, self._zone)
            made.append(pa.array(local, pa.int64()).view(pa.timestamp("ms")).cast(_naive(kind)).view(kind))
        return made


def _naive(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp(kind.unit)
