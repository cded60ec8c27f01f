"""What the two stages of a salted stream do in the workers (``_salted_stream.py``).

A salted record is ``(key, salt, record)``. Between the stages there are totals of a rolling reduce,
``(key, {salt: total})``, or parts of a window, ``(key, salt, window start, window end, part)``, where a part
is an accumulator or, of a reduce, a salted record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from typing import Any, Final

from firesteel.common.serializer import TypeSerializer
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.program.functions.base import (
    AggregateFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
    function_behind,
)
from firesteel.program.functions.window import WindowFunction
from firesteel.program.key_coercion import compile_key_coercion
from firesteel.program.state.descriptors import ListStateDescriptor
from firesteel.program.windows.assigner import WindowAssigner
from firesteel.program.windows.triggers import EventTimeTrigger, Trigger
from firesteel.program.windows.windows import TimeWindow, TimeWindowSerializer

_STEP: Final = 0x9E3779B97F4A7C15  # 2**64 / golden ratio
_MASK: Final = (1 << 64) - 1

# ---- the first stage


class Salt(MapFunction, CheckpointedFunction):
    """Record -> (key, salt, record).

    The salts follow each other in steps of the golden ratio: all are equally frequent, also among every
    second record, every third and so on, where counting would give some keys of a regular input few salts.
    """

    def __init__(
        self, buckets: int, key_selector: Callable[[Any], Any], key_type: TypeInformation | None
    ) -> None:
        self._buckets = buckets
        self._key_of = key_selector
        self._key_type = key_type
        self._position = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        # Keys that become equal only in the second stage would have salts in common there.
        self._coerce = compile_key_coercion(self._key_type)
        selector = function_behind(self._key_of)
        if selector is not None:
            selector.open(runtime_context)

    def close(self) -> None:
        selector = function_behind(self._key_of)
        if selector is not None:
            selector.close()

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("salt", Types.PICKLED_BYTE_ARRAY())
        self._state = context.get_operator_state_store().get_list_state(descriptor)
        self._position = next(iter(self._state.get() or ()), 0)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._state.update([self._position])

    def map(self, value: Any) -> tuple[Any, int, Any]:  # hot
        self._position = position = (self._position + _STEP) & _MASK
        key = self._key_of(value)
        if self._coerce is not None:
            (key,) = self._coerce([key])
        return key, position * self._buckets >> 64, value


class ReduceSalted(ReduceFunction):
    """Salted records are reduced as their records are."""

    def __init__(self, step: Callable[[Any, Any], Any]) -> None:
        self._step = step

    def reduce(self, value1: Any, value2: Any) -> Any:  # hot
        key, salt, total = value1
        return key, salt, self._step(total, value2[2])


def as_total(record: tuple[Any, int, Any]) -> tuple[Any, dict[int, Any]]:
    key, salt, total = record
    return key, {salt: total}


class OfSalted(AggregateFunction):
    """Gathers the records of one key and salt; the accumulator is the result."""

    def __init__(self, function: AggregateFunction) -> None:
        self._function = function

    def create_accumulator(self) -> Any:
        return self._function.create_accumulator()

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._function.add(value[2], accumulator)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return self._function.merge(acc_a, acc_b)


class AsPart(WindowFunction[Any, Any, Any, TimeWindow]):
    """Part -> (key, salt, window start, window end, part).

    The part names its window: the timestamp of a result does not always, after a late element it is that of
    the element.
    """

    def apply(self, key: Any, window: TimeWindow, inputs: Any) -> Any:
        return [(*key, window.start, window.end, part) for part in inputs]


# ---- the second stage


class NewestTotals(ReduceFunction):
    """(key, {salt: total}): a new total of a salt takes the place of the one before."""

    def __init__(self, step: Callable[[Any, Any], Any]) -> None:
        self._step = step

    def reduce(self, value1: Any, value2: Any) -> Any:
        value1[1].update(value2[1])
        return value1

    def result(self, totals: tuple[Any, dict[int, Any]]) -> Any:
        return _in_one(self._step, totals[1])


class MergedParts(AggregateFunction):
    """{salt: part}: after a late element a part comes again, and takes the place of the one before."""

    def __init__(self, merge: Callable[[Any, Any], Any], result: Callable[[Any], Any]) -> None:
        self._merge = merge
        self._result = result

    def create_accumulator(self) -> dict[int, Any]:
        return {}

    def add(self, value: Any, accumulator: dict[int, Any]) -> dict[int, Any]:
        accumulator[value[1]] = value[4]
        return accumulator

    def get_result(self, accumulator: dict[int, Any]) -> Any:
        return self._result(_in_one(self._merge, accumulator))

    def merge(self, acc_a: dict[int, Any], acc_b: dict[int, Any]) -> dict[int, Any]:
        return acc_a | acc_b


class WindowsOfParts(WindowAssigner[Any, TimeWindow]):
    """The window that a part names, one of ``assigner``."""

    def __init__(self, assigner: WindowAssigner[Any, TimeWindow]) -> None:
        self._assigner = assigner

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return (TimeWindow(element[2], element[3]),)

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True

    def __repr__(self) -> str:
        return repr(self._assigner)


def _in_one(step: Callable[[Any, Any], Any], by_salt: dict[int, Any]) -> Any:
    return reduce(step, [by_salt[salt] for salt in sorted(by_salt)])
