"""``map`` over users' functions, without losing what they raise.

``list(map(f, values))`` is the fastest loop there is, but to whoever drives an iterator a StopIteration out
of ``f`` means that the iterator has ended: the list is short and nobody is told. ``next()`` on an empty
iterator, an everyday slip, would lose the rest of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from firesteel.common._shown import shown

T = TypeVar("T")
R = TypeVar("R")


def map_all(function: Callable[[T], R], values: Sequence[T]) -> list[R]:  # hot
    """Return what *function* gives for each of *values*.

    :raises StopIteration: *function* raised it. The one that it raised is lost with its traceback; this one
        says for which value it was.
    """
    results = list(map(function, values))
    if len(results) != len(values):
        raise stopped(function, values[len(results)])
    return results


def stopped(function: Any, value: Any) -> StopIteration:
    """Return the error for a *function* whose result for *value* is missing: it raised StopIteration."""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return StopIteration(
        f"raised by {name} for {shown(value)}; next() raises it at the end of an iterator: "
        "pass a default, next(iterator, None)"
    )
