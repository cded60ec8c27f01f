"""Hints of queries that say how state is kept and tables outside are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common._config_kinds import read_duration_ms
from firesteel.common._config_values import parse_boolean, parse_integer
from firesteel.sql.parser.errors import SqlValidationError

__all__ = ["LookupOptions", "find_hint", "join_state_ttl", "lookup_options", "state_ttl"]

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


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """How a table outside is asked.

    :param asynchronous: None: as its connector can.
    :param capacity: how many keys are asked for at once by an asynchronous one.
    :param timeout_ms: after which such a request fails.
    :param attempts: how often a key without rows is asked for again, each time after *delay_ms*.
    """

    asynchronous: bool | None = None
    capacity: int = 100
    timeout_ms: int = 180_000
    delay_ms: int = 0
    attempts: int = 0


def _word(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"it must be one of {', '.join(words)}")
        return text.lower()

    return read


_RETRY: Final = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
_LOOKUP: Final[dict[str, Callable[[str], Any]]] = {
    "table": str,
    "async": parse_boolean,
    "output-mode": _word("ordered", "allow_unordered"),  # the order is kept in any case
    "capacity": parse_integer,
    "timeout": read_duration_ms,
    "retry-predicate": _word("lookup_miss"),
    "retry-strategy": _word("fixed_delay"),
    "fixed-delay": read_duration_ms,
    "max-attempts": parse_integer,
}


def lookup_options(hints: Hints, default: LookupOptions) -> LookupOptions:
    """Return what a LOOKUP hint says; what it does not say is that of *default*.

    :raises SqlValidationError: it is wrong.
    """
    given = find_hint(hints, "LOOKUP") or {}
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in _LOOKUP:
            raise SqlValidationError(
                f"The hint LOOKUP has no option '{key}'.", hint=f"its options are {', '.join(_LOOKUP)}"
            )
        try:
            found[key] = _LOOKUP[key](str(value))
        except ValueError as error:
            raise SqlValidationError(
                f"Invalid value for option '{key}' of the hint LOOKUP.", detail=str(error)
            ) from error
    missing = [key for key in _RETRY if key not in found]
    if 0 < len(missing) < len(_RETRY):
        raise SqlValidationError(
            "Invalid retry options of the hint LOOKUP.",
            detail=f"missing are {', '.join(missing)}",
            hint="give all of them, or none",
        )
    return LookupOptions(
        found.get("async"),
        found.get("capacity", default.capacity),
        found.get("timeout", default.timeout_ms),
        found.get("fixed-delay", 0),
        found.get("max-attempts", 0),
    )
