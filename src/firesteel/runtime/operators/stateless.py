"""Operators without keyed state: map, flat_map, filter, project, process.

They work on whole batches: one list comprehension or loop for about a thousand records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import length_hint
from typing import Any

from firesteel.common._map_all import map_all, stopped
from firesteel.common.types import Row
from firesteel.program.operators import Filter, FlatMap, Map, Process, Project
from firesteel.program.output_tag import OutputTag
from firesteel.runtime.batch import END, MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch, Mark, Marks
from firesteel.runtime.checkpoint_news import CheckpointEnd, listens, tell
from firesteel.runtime.contexts import ProcessContext, TaskRuntimeContext
from firesteel.runtime.functions import (
    SelfWatch,
    StateContext,
    keeps_operator_state,
    require_results,
    self_change_warning,
)
from firesteel.runtime.operators.base import BaseOperator, SubtaskContext, method_of
from firesteel.runtime.program import OperatorProgram
from firesteel.state.backend import OperatorState


class FunctionOperator(BaseOperator):
    """An operator around one user function: opens, snapshots, watches and closes it."""

    def __init__(self, program: OperatorProgram, function: Any) -> None:
        super().__init__(program)
        self.function = function
        self._operator_state: OperatorState | None = None
        self._watch: SelfWatch | None = None

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._operator_state = state
        opening = getattr(self.function, "open", None)
        self.initialize_state()
        if callable(opening):
            self.call(opening, TaskRuntimeContext(context, self.program, state))
        self._watch = SelfWatch(self.function)

    def call(self, hook: Callable[..., Any], *arguments: Any) -> None:
        """Call ``open``, ``close`` or what is told of checkpoints, of the function."""
        hook(*arguments)

    def initialize_state(self) -> None:
        """Let the function take over its operator state: before it is opened, and again whenever another
        process has run its last epoch, so that this copy is not the newest."""
        if keeps_operator_state(self.function):
            self.function.initialize_state(self._state_context())

    def _state_context(self) -> StateContext:
        assert self._operator_state is not None
        context = self.context
        clock, checkpoint_id = context.clock, context.checkpoint_id
        return StateContext(self._operator_state, context.restored, checkpoint_id, clock.now_ms)

    @property
    def listens(self) -> bool:
        return listens(self.function)

    def checkpoint_ended(self, end: CheckpointEnd) -> None:
        tell(self.function, end, self.call)

    def end_epoch(self) -> None:
        if keeps_operator_state(self.function):
            self.function.snapshot_state(self._state_context())
        if self.records_in and self._watch is not None:
            changed = self._watch.changed()
            if changed:
                self.context.warnings.append(self_change_warning(self.program.name, changed))

    def close(self) -> None:
        closing = getattr(self.function, "close", None)
        if callable(closing):
            self.call(closing)


class MapOperator(FunctionOperator):
    def __init__(self, program: OperatorProgram, spec: Map) -> None:
        super().__init__(program, spec.function)
        self._map = method_of(spec.function, "map")

    def process(self, batch: Batch, input_index: int = 0) -> None:  # hot
        self.records_in += len(batch.values)
        values = map_all(self._map, batch.values)
        self.outputs.main.emit(Batch(values, batch.timestamps, batch.marks))


class FilterOperator(FunctionOperator):
    def __init__(self, program: OperatorProgram, spec: Filter) -> None:
        super().__init__(program, spec.function)
        self._filter = method_of(spec.function, "filter")

    def process(self, batch: Batch, input_index: int = 0) -> None:  # hot
        values = batch.values
        self.records_in += len(values)
        keep = map_all(self._filter, values)
        if all(keep):
            self.outputs.main.emit(batch)
            return
        kept = _kept(values, keep)
        stamps = batch.timestamps
        if kept or batch.marks:
            self.outputs.main.emit(
                Batch(
                    kept,
                    stamps and list(compress(stamps, keep)),
                    moved_marks(batch.marks, map(bool, keep)),
                )
            )


class FlatMapOperator(FunctionOperator):
    def __init__(self, program: OperatorProgram, spec: FlatMap) -> None:
        super().__init__(program, spec.function)
        self._flat_map = method_of(spec.function, "flat_map")

    def process(self, batch: Batch, input_index: int = 0) -> None:  # hot
        self.records_in += len(batch.values)
        flat_map = self._flat_map
        values: list[Any] = []
        counts: list[int] = []
        before = 0
        result = None
        try:
            for value in batch.values:
                result = flat_map(value)
                if result is not None:
                    values.extend(result)
                after = len(values)
                counts.append(after - before)
                before = after
        except TypeError:
            require_results(result)
            raise
        stamps = batch.timestamps
        if stamps is not None:
            stamps = [t for t, n in zip(stamps, counts, strict=True) for _ in range(n)]
        if values or batch.marks:
            self.outputs.main.emit(Batch(values, stamps, moved_marks(batch.marks, counts)))


class ProjectOperator(BaseOperator):
    def __init__(self, program: OperatorProgram, spec: Project) -> None:
        super().__init__(program)
        self._indexes = spec.indexes

    def process(self, batch: Batch, input_index: int = 0) -> None:
        self.records_in += len(batch.values)
        indexes = self._indexes
        values = [
            Row(*(v[i] for i in indexes)) if isinstance(v, Row) else tuple(v[i] for i in indexes)
            for v in batch.values
        ]
        self.outputs.main.emit(Batch(values, batch.timestamps, batch.marks))


class ProcessOperator(FunctionOperator):
    """ProcessFunction on a stream that is not keyed: side outputs and time, no timers."""

    def __init__(self, program: OperatorProgram, spec: Process) -> None:
        super().__init__(program, spec.function)
        self._process = spec.function.process_element
        self.watermark = MIN_WATERMARK

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        self._context = ProcessContext(context, self)
        super().open(context, state)

    def process(self, batch: Batch, input_index: int = 0) -> None:
        self.records_in += len(batch.values)
        for start, stop, mark in batch.segments():
            if stop > start:
                self._run(batch, start, stop)
            if mark is not None:
                self._mark(mark)
        self.outputs.flush()

    def _run(self, batch: Batch, start: int, stop: int) -> None:  # hot
        context = self._context
        process = self._process
        collect = self.outputs.main.collector.add
        stamps = batch.timestamps
        result = None
        try:
            for i in range(start, stop):
                stamp = NO_TIMESTAMP if stamps is None else stamps[i]
                context.set_timestamp(stamp)
                result = process(batch.values[i], context)
                if result is not None:
                    for r in result:
                        if type(r) is tuple and r and isinstance(r[0], OutputTag):
                            self.outputs.collect_side(r[0], r[1], stamp)
                        else:
                            collect(r, stamp)
        except TypeError:
            require_results(result)
            raise

    def _mark(self, mark: Mark) -> None:
        if type(mark) is int:
            self.watermark = mark
        elif mark == END:
            self.watermark = MAX_WATERMARK
        self.outputs.mark(mark)

    def snapshot(self) -> Any:
        return self.watermark

    def restore(self, carry: Any) -> None:
        self.watermark = MIN_WATERMARK if carry is None else carry

    def take_over(self, carries: Sequence[Any]) -> None:
        self.watermark = min(carries, default=MIN_WATERMARK)


def _kept(values: list[Any], keep: list[Any]) -> list[Any]:
    """Return the *values* that are to be kept, which are not empty.

    ``compress`` ends silently at an object whose ``__bool__`` raises StopIteration: values are left then,
    except behind the last object, which is asked for itself.
    """
    bool(keep[-1])
    rest = iter(values)
    kept = list(compress(rest, keep))
    left = length_hint(rest)
    if left:
        raise stopped(bool, keep[-1 - left])
    return kept


def moved_marks(marks: Marks, counts: Iterable[int]) -> Marks:
    """Marks of a batch whose record i became ``counts[i]`` records."""
    if not marks:
        return marks
    moved: list[tuple[int, Mark]] = []
    remaining = iter(counts)
    seen = position = 0
    for at, mark in marks:
        while seen < at:
            position += next(remaining)
            seen += 1
        if moved and moved[-1][0] == position and type(mark) is int and type(moved[-1][1]) is int:
            moved[-1] = (position, mark)
        else:
            moved.append((position, mark))
    return moved
