"""What parallelism vertices should have, by how busy they are: the decision, a pure function.

The rules are those of the autoscaler of Flink's operator. A vertex that is busy for the share *u* of its time
at a rate *r* could do *r / u*: its true processing rate. What it has to do is its target rate: for a source
what arrives, and what it takes to work off its lag in the time for catching up; for all others the target
rates before it, in the proportion in which they were seen to send. The parallelism follows from both and from
the utilisation that is wanted. Nothing changes between two bounds around that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_EPSILON: Final = 1e-9


@dataclass(frozen=True, slots=True)
class AutoscalerOptions:
    """See ``common/options/autoscaler.py``."""

    target: float = 0.7
    lowest: float = 0.4
    highest: float = 1.0
    min_parallelism: int = 1
    max_parallelism: int = 200
    scale_up_factor: float = 100_000.0
    scale_down_factor: float = 0.6
    catch_up_s: float = 1800.0
    restart_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Load:
    """What was measured of a vertex.

    :param inputs: the vertices that send to it; a source has none.
    :param rate: records in, in each second.
    :param utilisation: the share of its time in which it was busy, 0 to 1.
    :param arriving: of a source: how many records have become readable in each second.
    :param lag: of a source: how many are not read yet.
    :param may_have: the parallelism that it may have at most.
    """

    inputs: tuple[str, ...]
    parallelism: int
    rate: float
    utilisation: float
    arriving: float = 0.0
    lag: float = 0.0
    may_have: int = 1 << 15


def target_rates(loads: Mapping[str, Load], options: AutoscalerOptions) -> dict[str, float]:
    """Records in each second that each vertex has to process; ``loads`` are in topological order."""
    found: dict[str, float] = {}
    for vertex, load in loads.items():
        if not load.inputs:
            found[vertex] = load.arriving + _catch_up(load.lag + load.arriving * options.restart_s, options)
            continue
        sent = sum(loads[before].rate for before in load.inputs)
        ratio = load.rate / sent if sent > _EPSILON else 0.0
        found[vertex] = ratio * sum(found[before] for before in load.inputs)
    return found


def _catch_up(records: float, options: AutoscalerOptions) -> float:
    return records / options.catch_up_s if options.catch_up_s > 0 else 0.0


def decide(loads: Mapping[str, Load], options: AutoscalerOptions) -> dict[str, int]:
    """The parallelism that each vertex should have; those that are to keep theirs are left out."""
    rates = target_rates(loads, options)
    found = {vertex: _wanted(load, rates[vertex], options) for vertex, load in loads.items()}
    return {vertex: wanted for vertex, wanted in found.items() if wanted != loads[vertex].parallelism}


def _wanted(load: Load, rate: float, options: AutoscalerOptions) -> int:
    if load.rate <= _EPSILON or load.utilisation <= _EPSILON:
        return load.parallelism  # nothing is known of what it could do
    could = load.rate / load.utilisation
    if could * options.lowest <= rate <= could * options.highest:
        return load.parallelism
    # A whole number of subtasks, which must not become one more by how floats are rounded.
    wanted = math.ceil(rate / options.target / could * load.parallelism - 1e-6)
    return _limited(wanted, load, options)


def _limited(wanted: int, load: Load, options: AutoscalerOptions) -> int:
    now = load.parallelism
    most = math.floor(now * (1 + options.scale_up_factor) + _EPSILON)
    least = math.ceil(now * (1 - options.scale_down_factor) - _EPSILON)
    wanted = max(least, min(most, wanted))
    wanted = max(options.min_parallelism, min(options.max_parallelism, wanted))
    return max(1, min(wanted, load.may_have))


def together(wanted: Mapping[str, int], groups: Sequence[Sequence[str]]) -> dict[str, int]:
    """The same, where the vertices of a group have one parallelism: the greatest that one of them wants.

    :param wanted: of all vertices.
    """
    return {v: max(wanted[other] for other in group) for group in groups for v in group}
