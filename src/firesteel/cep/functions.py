"""What is done with matches (Flink: ``PatternProcessFunction``, ``PatternSelectFunction`` and so on).

A match is a dict: the name of a stage -> the list of its events, both in the order in which they were taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from firesteel.cep.matcher import Match
from firesteel.common.errors import ProgramError
from firesteel.program.checks import require_callable
from firesteel.program.functions.base import Function
from firesteel.program.output_tag import OutputTag

__all__ = [
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "TimedOutPartialMatchHandler",
]

Results: TypeAlias = Iterable[Any] | None


class MatchContext(Protocol):
    """Time, and the way to side outputs (Flink: ``PatternProcessFunction.Context``)."""

    def timestamp(self) -> int:
        """Return the timestamp of the event that completed the match, or when the partial match timed out; in
        processing time, when the event was processed."""

    def current_processing_time(self) -> int:
        """Return the processing time in epoch ms."""

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit *value* to a side output."""


class PatternProcessFunction(Function):
    """Is called with each match; what it yields comes out. ``yield tag, value`` goes to a side output.

    With TimedOutPartialMatchHandler as a second base it also gets partial matches whose time is over.
    """

    Context = MatchContext

    @abstractmethod
    def process_match(self, match: Match, ctx: MatchContext) -> Results:
        """Return or yield what comes of a match."""


class TimedOutPartialMatchHandler(ABC):
    """The part of a PatternProcessFunction that gets partial matches which timed out."""

    @abstractmethod
    def process_timed_out_match(self, match: Match, ctx: MatchContext) -> Results:
        """Handle a partial match; ``ctx.timestamp()`` is when its time was over. It has side outputs only:
        call ``ctx.output(tag, value)``, or ``yield tag, value``."""


class PatternSelectFunction(Function):
    """Makes one result of each match."""

    @abstractmethod
    def select(self, pattern: Match) -> Any: ...


class PatternFlatSelectFunction(Function):
    """Makes any number of results of each match."""

    @abstractmethod
    def flat_select(self, pattern: Match) -> Results: ...


class PatternTimeoutFunction(Function):
    """Makes one result of each partial match that timed out."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Any: ...


class PatternFlatTimeoutFunction(Function):
    """Makes any number of results of each partial match that timed out."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Results: ...


class _Adaptor(PatternProcessFunction):
    """A select function as a process function."""

    def __init__(self, function: Any, call: Callable[[Match], Any], flat: bool) -> None:
        self.function = function
        self._call = call
        self._flat = flat

    def open(self, runtime_context: Any) -> None:
        for each in self._functions():
            if isinstance(each, Function):
                each.open(runtime_context)

    def close(self) -> None:
        for each in self._functions():
            if isinstance(each, Function):
                each.close()

    def _functions(self) -> tuple[Any, ...]:
        return (self.function,)

    def process_match(self, match: Match, ctx: MatchContext) -> Results:
        result = self._call(match)
        return result if self._flat else (result,)


class _TimeoutAdaptor(_Adaptor, TimedOutPartialMatchHandler):
    def __init__(
        self,
        function: Any,
        call: Callable[[Match], Any],
        flat: bool,
        tag: OutputTag,
        on_timeout: Any,
        call_on_timeout: Callable[[Match, int], Any],
    ) -> None:
        super().__init__(function, call, flat)
        self.tag = tag
        self.on_timeout = on_timeout
        self._call_on_timeout = call_on_timeout

    def _functions(self) -> tuple[Any, ...]:
        return self.function, self.on_timeout

    def process_timed_out_match(self, match: Match, ctx: MatchContext) -> Results:
        result = self._call_on_timeout(match, ctx.timestamp())
        for each in (result or ()) if self._flat else (result,):
            ctx.output(self.tag, each)
        return None


def selecting(
    name: str, function: Any, flat: bool, tag: OutputTag | None = None, on_timeout: Any = None
) -> PatternProcessFunction:
    """Return the process function that does what ``select`` and ``flat_select`` do.

    :param name: of the operator, for errors.
    :param function: a function object, or a callable of a match.
    :param on_timeout: a function object, or a callable of a partial match and the time when it timed out.
    """
    kind = PatternFlatSelectFunction if flat else PatternSelectFunction
    require_callable(function, kind, name)
    call = getattr(function, "flat_select" if flat else "select", function)
    if tag is None and on_timeout is None:
        return _Adaptor(function, call, flat)
    if not isinstance(tag, OutputTag) or on_timeout is None:
        raise ProgramError(
            "Partial matches that time out need both an OutputTag and a function.",
            operator=name,
            detail=f"got {tag!r} and {on_timeout!r}",
        )
    require_callable(on_timeout, PatternFlatTimeoutFunction if flat else PatternTimeoutFunction, name)
    return _TimeoutAdaptor(function, call, flat, tag, on_timeout, getattr(on_timeout, "timeout", on_timeout))
