"""Reading a list or a map that functions may change at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from firesteel.common.errors import StateError
from firesteel.state._column import CanonicalKey

if TYPE_CHECKING:
    from firesteel.state._cells import CellColumn, Parts


class Reader(Iterator[Any]):
    """Reads the parts of a collection as they were when the reader was made; it may be changed meanwhile.
    What has expired is left out, and deleted as the reading comes by.

    :param make: what is given for a part, of its name and what is cached of it.
    :param epoch: the only one in which it may be read.
    """

    __slots__ = ("_column", "_current", "_last", "_steps")

    def __init__(
        self,
        column: CellColumn[Any],
        current: CanonicalKey,
        parts: Parts,
        make: Callable[[CanonicalKey, Any], Any],
        epoch: int,
    ) -> None:
        self._column = column
        self._current = current
        self._last: list[CanonicalKey | None] = [None]  # shared with the steps, which do not hold the reader
        self._steps = _steps(column, current, parts, make, epoch, self._last)

    def __iter__(self) -> Iterator[Any]:
        return self._steps

    def __next__(self) -> Any:
        return next(self._steps)

    def remove(self) -> None:
        """Remove what was given last from the state. PyFlink's iterators over map state have this: it is the
        only way there to change a map while iterating over it."""
        last = self._last[0]
        if last is None:
            raise StateError("There is nothing to remove.", hint="call remove() once for each step")
        self._column.remove_part(self._current, last)
        self._last[0] = None


def _steps(
    column: CellColumn[Any],
    current: CanonicalKey,
    parts: Parts,
    make: Callable[[CanonicalKey, Any], Any],
    epoch: int,
    last: list[CanonicalKey | None],
) -> Iterator[Any]:  # hot
    core, ttl = column.core, column.ttl
    for name, cached in parts() if core.epoch == epoch else ():
        if ttl is not None:
            cached = column.live(current, name, cached, ttl)
            if cached is None:
                continue
        last[0] = name
        yield make(name, cached)
        if core.epoch != epoch:
            break
    if core.epoch != epoch:
        raise StateError(
            f"What was read of {column.kind} state {column.name!r} was kept beyond its epoch.",
            hint="iterate within process_element() or on_timer(), or keep a copy: list(state.get())",
            uid=column.uid,
        )
