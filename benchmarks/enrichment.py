"""Case t: a temporal join against a table of ten million keys, beside one of a hundred thousand."""

from __future__ import annotations

from typing import Final

from benchmarks.cases import by_rate, compare
from benchmarks.environments import OURS, Environments
from benchmarks.measure import Comparison, System

_FEW: Final = 100_000
_ORDERS: Final = 2_000_000


def enrichment(environments: Environments, rounds: int, keys: int) -> list[Comparison]:
    """The larger table is `ours`, the smaller one the peer. By joined orders a second; what loading the table
    takes cancels out."""

    def orders(count: int) -> System:
        return System(
            f"firesteel, {count:,} keys",
            OURS,
            "enrichment.py",
            _ORDERS,
            ("--keys", str(count), "--config", "state.backend.type=rocksdb"),
            timeout_s=3_600,
        )

    large, small = (by_rate(orders(count), environments) for count in (keys, _FEW))
    return compare("t: temporal join", "orders/s", True, large, [(small, 0.5)], rounds)
