"""Timestamps that files hold as instants: a time of the clock is that of the machine's time zone.

This is what Flink does in Parquet files by default (``parquet.utc-timezone``), with TIMESTAMP and
TIMESTAMP_LTZ alike: what it writes of both is the time in UTC, taken for a time of the local clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.cast import cast_column

__all__ = ["from_instants", "has_timestamps", "instant_type", "to_instants"]

_TIMESTAMPS: Final = (t.TimestampType, t.LocalZonedTimestampType)


def has_timestamps(data_type: t.DataType) -> bool:
    return any(isinstance(part, _TIMESTAMPS) for part in data_type.walk())


def instant_type(data_type: t.DataType) -> t.DataType:
    """Return a type with TIMESTAMP_LTZ in place of TIMESTAMP, at any depth."""
    return _retyped(data_type, lambda found: t.LocalZonedTimestampType(found.nullable, found.precision))


def _clock_type(data_type: t.DataType) -> t.DataType:
    return _retyped(data_type, lambda found: t.TimestampType(found.nullable, found.precision))


def to_instants(array: pa.Array, data_type: t.DataType, zone: str) -> pa.Array:
    """Return a column as ``instant_type``."""
    clock = _clock_type(data_type)
    return cast_column(array.cast(arrow_type(clock)), clock, instant_type(data_type), zone)


def from_instants(array: pa.Array, data_type: t.DataType, zone: str) -> pa.Array:
    """Return a column of ``instant_type`` as *data_type*."""
    clock = _clock_type(data_type)
    return cast_column(array, instant_type(data_type), clock, zone).cast(arrow_type(data_type))


def _retyped(data_type: t.DataType, change: Callable[[Any], t.DataType]) -> t.DataType:
    match data_type:
        case t.TimestampType() | t.LocalZonedTimestampType():
            return change(data_type)
        case t.ArrayType() | t.MultisetType():
            return replace(data_type, element_type=_retyped(data_type.element_type, change))
        case t.MapType():
            key, value = (_retyped(part, change) for part in data_type.children)
            return replace(data_type, key_type=key, value_type=value)
        case t.RowType():
            fields = (replace(f, data_type=_retyped(f.data_type, change)) for f in data_type.fields)
            return replace(data_type, fields=tuple(fields))
    return data_type
