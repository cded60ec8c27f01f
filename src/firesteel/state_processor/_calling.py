"""Tasks that call a reader function for each key, or for each window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.window import TimeWindow
from firesteel.program.operators import KeyedProcess, WindowContents
from firesteel.runtime.contexts import TaskRuntimeContext
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.task_clock import TaskClock
from firesteel.runtime.windowing.codec import window_codec
from firesteel.runtime.windowing.contents import WINDOW_STATE_NAME, fold_of
from firesteel.runtime.windowing.merging import MERGING_STATE_NAME
from firesteel.runtime.windowing.scopes import WindowStateStore, scoped
from firesteel.state._column import CanonicalKey
from firesteel.state._operator import OperatorState
from firesteel.state.backend import SubtaskState
from firesteel.state.keys import canonical, raw_key, with_namespace
from firesteel.state.rows import StoredRow
from firesteel.state_processor._columns import ColumnOf, columns_of_output, is_single
from firesteel.state_processor._functions import KeyedStateReaderFunction, WindowReaderFunction
from firesteel.state_processor._reading import KeyGroups, Row, keys_with
from firesteel.state_processor._snapshot import FILES


class _OpenState:
    """The state of an operator, a key group at a time: a group is as an epoch is to a job.

    :param now_ms: processing time of the snapshot, which says what has expired.
    """

    def __init__(self, groups: KeyGroups, part: int, now_ms: int) -> None:
        operator, self._groups = groups.operator, groups
        self._now_ms = now_ms
        owned = groups.ranges[part]
        self._state = SubtaskState(
            job_id="",
            attempt=0,
            vertex_id="",
            subtask=part,
            max_parallelism=operator.max_parallelism,
            key_groups=owned,
            files=FILES,
            states=operator.states,
        )
        self._state.begin(groups.line(owned[:1]), now_ms)
        self.of_operator: OperatorState = self._state.operator(operator.entry.id)
        program = OperatorProgram(operator.entry.id, operator.entry.name, KeyedProcess(None), keyed=True)
        context = SubtaskContext(
            job_id="",
            job_name="state processor",
            vertex_name=operator.entry.name,
            subtask=part,
            parallelism=len(groups.ranges),
            max_parallelism=operator.max_parallelism,
            attempt=0,
            batch_mode=False,
            state_dir="",
            settings={},
            clock=TaskClock(now_ms),
        )
        self.runtime_context = TaskRuntimeContext(context, program, self.of_operator)

    def move_to(self, group: int) -> None:
        self._state.abandon()  # what a function has written is not kept
        self._state.begin(self._groups.line(range(group, group + 1)), self._now_ms)

    def close(self) -> None:
        self._state.close()


class _Timers(KeyedStateReaderFunction.Context):
    def __init__(self, state: OperatorState) -> None:
        self._state = state

    def registered_event_time_timers(self) -> list[int]:
        return self._state.event_timers.of_current_key()

    def registered_processing_time_timers(self) -> list[int]:
        return self._state.processing_timers.of_current_key()


@dataclass(frozen=True, slots=True)
class KeyFunctionRows:
    """What a ``KeyedStateReaderFunction`` gives."""

    groups: KeyGroups
    function: KeyedStateReaderFunction
    output_type: TypeInformation | None
    now_ms: int

    @property
    def parts(self) -> int:
        return len(self.groups.ranges)

    @property
    def columns(self) -> tuple[ColumnOf, ...]:
        return columns_of_output(self.output_type)

    def rows(self, part: int) -> Iterator[Row]:
        single = is_single(self.columns)
        opened = _OpenState(self.groups, part, self.now_ms)
        state, function = opened.of_operator, self.function
        function.open(opened.runtime_context)
        context = _Timers(state)
        overlay = self.groups.overlay(part)
        asked_for = state.column_ids
        for group in self.groups.ranges[part]:
            opened.move_to(group)
            for key in keys_with(overlay, group, asked_for):
                state.key, state.raw_key = key, raw_key(key)
                for result in function.read_key(state.raw_key, context) or ():
                    yield (result,) if single else result
        function.close()
        opened.close()


class _WindowContext(_Timers, WindowReaderFunction.Context):
    def __init__(self, state: OperatorState, runtime_context: TaskRuntimeContext) -> None:
        super().__init__(state)
        self._runtime_context = runtime_context
        self._store = WindowStateStore(state)
        self._namespace = b""
        self._window: Any = None

    def enter(self, window: Any, namespace: bytes) -> None:
        self._window, self._namespace = window, namespace
        self._store.key = with_namespace(self._state.key, namespace)

    def registered_event_time_timers(self) -> list[int]:
        return self._state.event_timers.of_current_key(self._namespace)

    def registered_processing_time_timers(self) -> list[int]:
        return self._state.processing_timers.of_current_key(self._namespace)

    def window(self) -> Any:
        return self._window

    def trigger_state(self, descriptor: Any) -> Any:
        return scoped(self._state, descriptor, self._store.key)

    def window_state(self) -> WindowStateStore:
        return self._store

    def global_state(self) -> Any:
        return self._runtime_context


@dataclass(frozen=True, slots=True)
class WindowFunctionRows:
    """What a ``WindowReaderFunction`` gives, or the windows themselves: key, start and end, elements.

    :param contents: what the operator keeps of the elements.
    :param evicting: whether the elements are kept with their timestamps, for an evictor.
    """

    groups: KeyGroups
    assigner: Any
    contents: WindowContents
    evicting: bool
    function: WindowReaderFunction | None
    columns: tuple[ColumnOf, ...]
    now_ms: int

    @property
    def parts(self) -> int:
        return len(self.groups.ranges)

    def rows(self, part: int) -> Iterator[Row]:
        encode, decode = window_codec(self.assigner.get_window_serializer())
        elements_of = self._elements()
        groups, overlay = self.groups, self.groups.overlay(part)
        reader = None if self.function is None else _WindowReader(self, self.function, part)
        for group in groups.ranges[part]:
            if reader is not None:
                reader.move_to(group)
            merged = _merged(groups.of_state(overlay, group, MERGING_STATE_NAME))
            for row in groups.of_state(overlay, group, WINDOW_STATE_NAME):
                window = _window(row, self.assigner, decode, merged)
                elements = elements_of(row.value)
                if elements and reader is None:
                    yield from _plain_window(row.key, window, elements)
                elif elements and reader is not None:
                    yield from reader.call(row.key, window, encode(window), elements)
        if reader is not None:
            reader.close()

    def _elements(self) -> Callable[[Any], list[Any]]:
        """What is kept of a window -> what its function gets."""
        contents = self.contents
        if self.evicting:
            fold = fold_of(contents)
            return lambda held: fold([value for value, _ in held])
        if contents.kind == "list":
            return list
        if contents.kind == "reduce":
            return lambda held: [] if held is None else [held]
        result = contents.function.get_result
        return lambda held: [] if held is None else [result(held)]


class _WindowReader:
    """An open ``WindowReaderFunction``."""

    def __init__(self, rows: WindowFunctionRows, function: WindowReaderFunction, part: int) -> None:
        self._function = function
        self._single = is_single(rows.columns)
        self._opened = _OpenState(rows.groups, part, rows.now_ms)
        function.open(self._opened.runtime_context)
        self._context = _WindowContext(self._opened.of_operator, self._opened.runtime_context)

    def move_to(self, group: int) -> None:
        self._opened.move_to(group)

    def call(self, key: Any, window: Any, namespace: bytes, elements: list[Any]) -> Iterator[Row]:
        state = self._opened.of_operator
        state.key, state.raw_key = canonical(key), key
        self._context.enter(window, namespace)
        for result in self._function.read_window(key, self._context, elements) or ():
            yield (result,) if self._single else result

    def close(self) -> None:
        self._function.close()
        self._opened.close()


def _merged(rows: Iterator[StoredRow]) -> dict[tuple[CanonicalKey, bytes], bytes]:
    """Of windows that merge: key and window of the state -> the window that it is of."""
    return {(canonical(row.key), held_in): window for row in rows for window, held_in in row.value}


def _window(
    row: StoredRow,
    assigner: Any,
    decode: Callable[[bytes], Any],
    merged: Mapping[tuple[CanonicalKey, bytes], bytes],
) -> Any:
    if isinstance(row.window, bytes):
        return decode(merged.get((canonical(row.key), row.window), row.window))
    assert row.window is not None, "contents of a window operator belong to windows"
    start, end = row.window
    return TimeWindow(start, start + assigner.size_ms if end is None else end)


def _plain_window(key: Any, window: Any, elements: list[Any]) -> Iterator[Row]:
    start, end = getattr(window, "start", None), getattr(window, "end", None)
    for element in elements:
        yield key, start, end, element
