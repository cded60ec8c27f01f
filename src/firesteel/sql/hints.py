"""Hints of queries that say how state is kept and tables outside are asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firesteel.common._config_kinds import read_duration_ms

__all__ = ["find_hint", "join_state_ttl", "state_ttl"]

Hints = Iterable[tuple[str, tuple[Any, ...]]]


def find_hint(hints: Hints, name: str) -> dict[str, Any] | None:
    """The arguments of a hint with keys, such as ``STATE_TTL('a' = '1d')``."""
    for found, arguments in hints:
        if found.upper() == name:
            return {str(pair[0]): pair[1] for pair in arguments if isinstance(pair, tuple)}
    return None


def state_ttl(hints: Hints) -> int | None:
    """The time of a STATE_TTL hint of an aggregate, in milliseconds."""
    found = find_hint(hints, "STATE_TTL")
    return None if not found else read_duration_ms(str(next(iter(found.values()))))


def join_state_ttl(hints: Hints) -> tuple[int | None, int | None]:
    """Those of the left and the right side of a join."""
    found = find_hint(hints, "STATE_TTL")
    if not found:
        return None, None
    # Binders say the sides by these names, whatever the tables are called.
    left, right = found.get("LEFT"), found.get("RIGHT")
    return (
        None if left is None else read_duration_ms(str(left)),
        None if right is None else read_duration_ms(str(right)),
    )
