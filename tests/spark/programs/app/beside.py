"""A module beside the script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Reading:
    sensor: str
    value: float


class Span(NamedTuple):
    low: float
    high: float


def parse(line: str) -> Reading:
    sensor, value = line.split("=")
    return Reading(sensor, float(value))
