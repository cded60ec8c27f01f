"""What an expression may ask of its surroundings, and the error of one that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firesteel.common.errors import FiresteelError
from firesteel.sql.types import DataType

__all__ = ["CallSite", "EvaluationContext", "EvaluationError"]


class EvaluationError(FiresteelError, ValueError):
    """An expression failed for a row, as CAST('x' AS INT) does.

    :param expression: the text of the innermost call that failed.
    """

    def __init__(self, message: str, *, expression: str = "", **details: Any) -> None:
        super().__init__(message, **details)
        self.expression = expression


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class EvaluationContext:
    """Where and when expressions are evaluated; an operator has one and moves it from batch to batch.

    :param time_zone: ``table.local-time-zone``.
    :param clock: the time in milliseconds; called once for a batch that asks for it.
    :param query_start: in batch mode the time at which the query began: CURRENT_TIMESTAMP is that.
        Streaming: None.
    :param watermark: the current watermark in milliseconds; None: there is none yet.
    :param random: seeds of RAND and UUID without a seed of their own; None: not to be foreseen.
    :param attributes: other facts of the session: ``current_catalog``, ``current_database``, ``user``.
    """

    time_zone: str = "UTC"
    clock: Callable[[], int] = _wall_clock
    query_start: int | None = None
    watermark: int | None = None
    random: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    _last: tuple[str, Any, Any, Any] = field(default=("", None, None, None), init=False, repr=False)

    def once(self, what: str, of: Any, by: Any, make: Callable[[Any, Any], Any]) -> Any:
        """What ``make(of, by)`` gives, without doing it again for calls in a row with the same column and an
        equal constant.

        :param what: a name of what is made.
        """
        name, column, constant, found = self._last
        if name != what or column is not of or constant != by:
            found = make(of, by)
            self._last = (what, of, by, found)
        return found

    def now(self) -> int:
        """Return the time for CURRENT_TIMESTAMP and its like."""
        return self.clock() if self.query_start is None else self.query_start


class CallSite:
    """One call while it is evaluated: what an implementation sees as its ``context``.

    :ivar types: of its arguments. :ivar result: of the call. :ivar length: how many rows there are.
    :ivar state: kept between batches by functions such as RAND.
    """

    __slots__ = ("evaluation", "length", "result", "state", "text", "types")

    def __init__(self, types: tuple[DataType, ...], result: DataType, text: str = "") -> None:
        self.types = types
        self.result = result
        self.text = text
        self.length = 1
        self.evaluation: EvaluationContext = EvaluationContext()
        self.state: dict[str, Any] = {}

    @property
    def zone(self) -> str:
        return self.evaluation.time_zone
