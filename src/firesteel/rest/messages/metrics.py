"""Metrics: names alone, or with values as text; aggregates as numbers."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Message, Number


class Metric(Message, frozen=True):
    id: str
    value: str | UnsetType = UNSET


class AggregatedMetric(Message, frozen=True):
    """``skew``: the mean absolute deviation in percent of the mean."""

    id: str
    min: Number | UnsetType = UNSET
    max: Number | UnsetType = UNSET
    avg: Number | UnsetType = UNSET
    sum: Number | UnsetType = UNSET
    skew: Number | UnsetType = UNSET
