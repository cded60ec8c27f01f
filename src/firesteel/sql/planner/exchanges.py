"""Where rows have to meet."""

from __future__ import annotations

from firesteel.sql import physical as p

__all__ = ["exchange"]


def exchange(child: p.Physical, keys: tuple[int, ...] | None) -> p.Physical:
    """Rows of equal keys in one subtask; of no keys, all of them; None: each row in all subtasks."""
    return p.Exchange(row=child.row, inputs=(child,), keys=keys)
