"""State from tables with the columns that it is read with: key and value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from firesteel.common.errors import ProgramError, StateError
from firesteel.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from firesteel.datastream import RuntimeContext
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from firesteel.spark.parts import time_zone
from firesteel.state.kinds import KINDS
from firesteel.state_processor._functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from firesteel.state_processor._transformation import OperatorTransformation, StateBootstrapTransformation
from firesteel.state_processor._values import field_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Take = Callable[[Any], Any]


def keyed(
    frame: DataFrame, descriptor: StateDescriptor, key_type: TypeInformation | None
) -> StateBootstrapTransformation:
    """A keyed state of any kind from ``key`` and ``value``."""
    _refuse_windows(frame)
    value = _column(frame, "value", descriptor.type_info)
    return _by_key(frame, key_type, _PutKeyed(descriptor, value))


def timers(frame: DataFrame, key_type: TypeInformation | None) -> StateBootstrapTransformation:
    """Timers from ``key``, ``domain`` and ``timestamp``."""
    _refuse_windows(frame)
    domain, timestamp = _column(frame, "domain", None), _column(frame, "timestamp", None)
    return _by_key(frame, key_type, _PutTimers(domain, timestamp))


def operator_list(
    frame: DataFrame, descriptor: ListStateDescriptor, union: bool
) -> StateBootstrapTransformation:
    """An operator list, or a union list, from ``value``; where there are ``subtask`` and ``position``, each
    subtask gets its own in their order."""
    type_info = descriptor.type_info
    assert isinstance(type_info, ListTypeInfo)
    value = _column(frame, "value", type_info.elem_type)
    order = [name for name in ("subtask", "position") if name in frame.columns]
    if order:
        frame = frame.sort(*order)
    made = OperatorTransformation.bootstrap_with(frame).transform(_PutList(descriptor, union, value))
    if "subtask" in order:
        return replace(made, ship="by subtask", key=_column(frame, "subtask", None))
    return made


def broadcast(frame: DataFrame, descriptor: MapStateDescriptor) -> StateBootstrapTransformation:
    """A broadcast state from ``key`` and ``value``."""
    types = descriptor.type_info
    assert isinstance(types, MapTypeInfo)
    key = _column(frame, "key", types._key_type_info)
    value = _column(frame, "value", types._value_type_info)
    function = _PutBroadcast(descriptor, key, value)
    return OperatorTransformation.bootstrap_with(frame).transform(function)


def _column(frame: DataFrame, name: str, type_info: TypeInformation | None) -> Take:
    return field_of(name, list(frame.columns), type_info, time_zone(frame.sparkSession))


def _by_key(
    frame: DataFrame, key_type: TypeInformation | None, function: KeyedStateBootstrapFunction
) -> StateBootstrapTransformation:
    key = _column(frame, "key", key_type)
    return OperatorTransformation.bootstrap_with(frame).key_by(key, key_type).transform(function)


def _refuse_windows(frame: DataFrame) -> None:
    found = [name for name in frame.columns if name.startswith("window")]
    if found:
        raise ProgramError(
            "State of windows cannot be written from its rows.",
            detail=f"the table has the columns {', '.join(found)}",
            hint="bootstrap the windows from elements: bootstrap_with(frame).key_by(...).window(...)",
        )


# ---- functions


class _PutKeyed(KeyedStateBootstrapFunction):
    def __init__(self, descriptor: StateDescriptor, value: Take) -> None:
        if not isinstance(descriptor, StateDescriptor):
            raise ProgramError("A state is written with its descriptor.", detail=f"got {descriptor!r}")
        if KINDS.named(descriptor.kind).asked_for.put is None:
            raise ProgramError(f"A {descriptor.kind} state cannot be written.", detail=f"got {descriptor!r}")
        self._descriptor = descriptor
        self._value = value

    def open(self, runtime_context: RuntimeContext) -> None:
        self._put: Any = KINDS.named(self._descriptor.kind).asked_for.put
        self._handle = runtime_context.get_partitioned_state(self._descriptor)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        held = self._value(value)
        if held is None:
            raise self._error(f"The row of key {ctx.get_current_key()!r} has no value", ctx)
        if self._put(self._handle, held):
            raise self._error(f"There are several rows of key {ctx.get_current_key()!r}", ctx)

    def _error(self, what: str, ctx: KeyedStateBootstrapFunction.Context) -> StateError:
        return StateError(
            f"{what}: state {self._descriptor.name!r} holds one for each key.",
            hint="leave out keys that are to have no state, and bring several rows of a key together",
        )


class _PutTimers(KeyedStateBootstrapFunction):
    def __init__(self, domain: Take, timestamp: Take) -> None:
        self._domain = domain
        self._timestamp = timestamp

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        timers = ctx.timer_service()
        domain, timestamp = self._domain(value), self._timestamp(value)
        if domain == "EVENT_TIME":
            timers.register_event_time_timer(timestamp)
        elif domain == "PROCESSING_TIME":
            timers.register_processing_time_timer(timestamp)
        else:
            raise StateError(
                f"A timer of key {ctx.get_current_key()!r} has no time domain.",
                detail=f"got {domain!r}",
                hint="the column domain holds EVENT_TIME or PROCESSING_TIME",
            )


class _PutList(StateBootstrapFunction):
    def __init__(self, descriptor: ListStateDescriptor, union: bool, value: Take) -> None:
        self._descriptor = descriptor
        self._union = union
        self._value = value
        self._held: list[Any] = []

    def process_element(self, value: Any) -> None:
        self._held.append(self._value(value))

    def snapshot_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        get = store.get_union_list_state if self._union else store.get_list_state
        get(self._descriptor).update(self._held)


class _PutBroadcast(BroadcastStateBootstrapFunction):
    def __init__(self, descriptor: MapStateDescriptor, key: Take, value: Take) -> None:
        self._descriptor = descriptor
        self._key = key
        self._value = value

    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        ctx.get_broadcast_state(self._descriptor).put(self._key(value), self._value(value))


__all__ = ["broadcast", "keyed", "operator_list", "timers"]
