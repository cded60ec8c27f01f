"""A user's function object in a worker: its life cycle, its operator state, and a watch on its ``self``."""

from __future__ import annotations

from typing import Any, Final

from firesteel.common._shown import shown
from firesteel.common.errors import TypeMismatchError
from firesteel.program.functions.base import CheckpointedFunction
from firesteel.program.state.descriptors import ListStateDescriptor, MapStateDescriptor
from firesteel.program.state.kinds import OperatorStateStore
from firesteel.runtime.descriptors import require_descriptor
from firesteel.state.backend import OperatorState


def require_results(results: Any) -> None:
    """Raise when what a function has returned is not what operators go through: results, or None for none.

    For the handler of a TypeError that going through *results* has raised: no call for each record.
    """
    try:
        iter(() if results is None else results)
    except TypeError:
        raise TypeMismatchError(
            f"The function must return an iterable of results, or None; it returned {shown(results)}",
            detail=f"got a {type(results).__name__}",
            hint="yield each result, or return [result]",
        ) from None


_SIMPLE: Final = (int, float, str, bytes, bool, type(None), tuple, frozenset)
_SIZED: Final = (list, dict, set)


class TaskOperatorStateStore(OperatorStateStore):
    """Operator state of one operator (Flink: ``OperatorStateStore``)."""

    def __init__(self, state: OperatorState) -> None:
        self._state = state

    def get_list_state(self, state_descriptor: Any) -> Any:
        descriptor = require_descriptor(state_descriptor, ListStateDescriptor)
        return self._state.list_state(descriptor.name, descriptor)

    def get_union_list_state(self, state_descriptor: Any) -> Any:
        descriptor = require_descriptor(state_descriptor, ListStateDescriptor)
        return self._state.union_list_state(descriptor.name, descriptor)

    def get_broadcast_state(self, state_descriptor: Any) -> Any:
        return self._state.broadcast_state(require_descriptor(state_descriptor, MapStateDescriptor))


class StateContext:
    """The context of ``initialize_state`` and ``snapshot_state``."""

    def __init__(self, state: OperatorState, restored: bool, checkpoint_id: int, now_ms: int) -> None:
        self._state = state
        self._restored = restored
        self._checkpoint_id = checkpoint_id
        self._now_ms = now_ms

    def is_restored(self) -> bool:
        return self._restored

    def get_operator_state_store(self) -> OperatorStateStore:
        return TaskOperatorStateStore(self._state)

    def get_checkpoint_id(self) -> int:
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        return self._now_ms


def keeps_operator_state(function: Any) -> bool:
    return isinstance(function, CheckpointedFunction)


class SelfWatch:
    """Notices a function that changes its ``self`` while it processes records.

    Any process of the executor may take the next epoch of a subtask, so what is kept in ``self`` is a cache
    and never state. The first change is reported once.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._before = _picture(function)
        self._done = self._before is None or isinstance(function, CheckpointedFunction)

    def changed(self) -> list[str]:
        """The attributes that are not what they were after ``open``; once, then nothing more."""
        if self._done:
            return []
        now = _picture(self._function) or {}
        before = self._before or {}
        found = [name for name, value in now.items() if name not in before or before[name] != value]
        self._done = bool(found)
        return found


def _picture(function: Any) -> dict[str, Any] | None:
    """What can be told cheaply of the attributes of a function object."""
    attributes = getattr(function, "__dict__", None)
    if not attributes or not hasattr(type(function), "open"):
        return {} if attributes == {} else None
    return {name: _trait(value) for name, value in attributes.items()}


def _trait(value: Any) -> Any:
    if isinstance(value, _SIMPLE):
        return type(value), value
    if isinstance(value, _SIZED):
        return id(value), len(value), repr(value) if len(value) <= 16 else None
    return id(value)


def self_change_warning(operator: str, attributes: list[str]) -> str:
    names = ", ".join(f"self.{a}" for a in attributes)
    return (
        f"{operator}: the function changes {names} while it processes records; this is a cache that another "
        "worker process does not see, not state. Keep it in a ValueState, ListState or MapState "
        "(runtime_context.get_state(...) in open()), or, where the stream is not keyed, in operator state "
        "(CheckpointedFunction)"
    )
