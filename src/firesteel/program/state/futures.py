"""Asynchronous access to state (Flink: ``org.apache.flink.api.common.state.v2``, in snake_case).

State lies in the worker process, so there is nothing to wait for: every future is complete when it is given,
and what is chained to it runs at once, in the order of the program. Code that is written for remote state
runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")


class StateFuture(Generic[T]):
    """The result of an access to state, which is there already (Flink: ``StateFuture``)."""

    def __init__(self, result: T) -> None:
        self._result = result

    def then_apply(self, fn: Callable[[T], U]) -> StateFuture[U]:
        """The future of what ``fn`` makes of the result."""
        return StateFuture(fn(self._result))

    def then_accept(self, action: Callable[[T], Any]) -> StateFuture[None]:
        """Do something with the result."""
        action(self._result)
        return StateFuture(None)

    def then_compose(self, action: Callable[[T], StateFuture[U]]) -> StateFuture[U]:
        """Go on with another access to state."""
        return action(self._result)

    def then_combine(self, other: StateFuture[U], fn: Callable[[T, U], R]) -> StateFuture[R]:
        """The future of what ``fn`` makes of both results."""
        return StateFuture(fn(self._result, other._result))

    def then_conditionally_apply(
        self,
        condition: Callable[[T], bool],
        action_if_true: Callable[[T], Any],
        action_if_false: Callable[[T], Any] | None = None,
    ) -> StateFuture[tuple[bool, Any]]:
        """The future of whether the condition holds for the result, and of what the action made of it that
        was chosen (None: there was none)."""
        holds = condition(self._result)
        action = action_if_true if holds else action_if_false
        return StateFuture((holds, None if action is None else action(self._result)))

    def then_conditionally_accept(
        self,
        condition: Callable[[T], bool],
        action_if_true: Callable[[T], Any],
        action_if_false: Callable[[T], Any] | None = None,
    ) -> StateFuture[bool]:
        """The future of whether the condition holds for the result."""
        return self.then_conditionally_apply(condition, action_if_true, action_if_false).then_apply(
            lambda chosen: chosen[0]
        )

    def then_conditionally_compose(
        self,
        condition: Callable[[T], bool],
        action_if_true: Callable[[T], StateFuture[Any]],
        action_if_false: Callable[[T], StateFuture[Any]] | None = None,
    ) -> StateFuture[tuple[bool, Any]]:
        """As ``then_conditionally_apply``, for actions that access state."""
        chosen = self.then_conditionally_apply(condition, action_if_true, action_if_false)
        holds, future = chosen._result
        return StateFuture((holds, None if future is None else future._result))


def in_future(name: str) -> Callable[..., StateFuture[Any]]:
    """The asynchronous sister of the method ``name`` of a state: the same, its result in a future."""

    def access(self: Any, *args: Any) -> StateFuture[Any]:
        return StateFuture(getattr(self, name)(*args))

    access.__name__ = access.__qualname__ = f"async_{name}"
    access.__doc__ = f"``{name}()``, its result in a completed ``StateFuture``."
    return access
