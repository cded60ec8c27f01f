"""Accumulators and metrics as checkpoints, and the results of jobs that have ended, hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common import accumulators as kinds
from firesteel.runtime import metrics
from firesteel.storage import records
from firesteel.storage.records import record

#: What is stored of each kind: its name there, the class, and the attributes in order.
_STORED: Final[dict[str, tuple[type[Any], tuple[str, ...]]]] = {
    "int counter": (kinds.IntCounter, ("_value",)),
    "long counter": (kinds.LongCounter, ("_value",)),
    "double counter": (kinds.DoubleCounter, ("_value",)),
    "int minimum": (kinds.IntMinimum, ("_value",)),
    "int maximum": (kinds.IntMaximum, ("_value",)),
    "double minimum": (kinds.DoubleMinimum, ("_value",)),
    "double maximum": (kinds.DoubleMaximum, ("_value",)),
    "average": (kinds.AverageAccumulator, ("_count", "_sum")),
    "list": (kinds.ListAccumulator, ("_values",)),
    "histogram": (kinds.Histogram, ("_counts",)),
    "counter": (metrics.Counter, ("_value",)),
    "meter": (metrics.Meter, ("_value",)),
    "distribution": (metrics.Distribution, ("_count", "_sum", "_min", "_max")),
    "sample": (metrics.Histogram, ("_window", "_count", "_values")),
    "gauge": (metrics.Gauge, ("_supplier", "_value")),
}
_NAMES: Final = {cls: name for name, (cls, _) in _STORED.items()}


@record("accumulator")
@dataclass(frozen=True, slots=True)
class _Accumulator:
    kind: str
    values: tuple[Any, ...]


def pack(accumulators: Mapping[str, Any]) -> bytes:
    """Accumulators by name; one of a user's class is pickled.

    :raises StateError: it cannot be pickled.
    """
    return records.pack({name: _stored(accumulator) for name, accumulator in accumulators.items()})


def unpack(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = records.unpack(data)
    return {name: _restored(stored) for name, stored in found.items()}


def _stored(accumulator: Any) -> Any:
    kind = _NAMES.get(type(accumulator))
    if kind is None:
        return accumulator
    _, attributes = _STORED[kind]
    return _Accumulator(kind, tuple(getattr(accumulator, name) for name in attributes))


def _restored(stored: Any) -> Any:
    if not isinstance(stored, _Accumulator):
        return stored
    cls, attributes = _STORED[stored.kind]
    accumulator: Any = object.__new__(cls)
    for name, value in zip(attributes, stored.values, strict=True):
        setattr(accumulator, name, value)
    return accumulator
