"""The groups around a user's metric, as parts of its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

#: From the outermost on, each with its value or None.
Groups: TypeAlias = tuple[tuple[str, str | None], ...]


def words_of(groups: Groups) -> Iterator[str]:
    """Return the names of the groups, and after each its value if it has one."""
    return (word for group in groups for word in group if word is not None)


def path_of(groups: Groups, name: str) -> str:
    """Return the dotted name of a metric.

    >>> path_of((("tenant", "acme"),), "orders")
    'tenant.acme.orders'
    """
    return ".".join((*words_of(groups), name)) if groups else name
