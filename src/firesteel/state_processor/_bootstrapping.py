"""What a task does that writes state: an operator takes records in, and what it keeps of them is written."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.datastream import CheckpointedFunction, KeyedProcessFunction, ProcessFunction, RuntimeContext
from firesteel.program.operators import KeyedProcess, OperatorSpec, Process
from firesteel.runtime.batch import Batch
from firesteel.runtime.building import build_operator
from firesteel.runtime.chain import scope_of
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.keyed import KeyedProcessOperator
from firesteel.runtime.operators.stateless import FunctionOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.task_clock import TaskClock
from firesteel.runtime.user_code import UserCode
from firesteel.state.backend import SubtaskState
from firesteel.state.canonical import Part, rewritten, states_of
from firesteel.state.files import StateFiles
from firesteel.state.keys import key_group_range
from firesteel.state.line import EMPTY, StateLine, advance
from firesteel.state_processor._functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)

#: Above it what was changed is written and forgotten, as at the end of an epoch.
_CHANGED_ENTRIES: Final = 100_000

BootstrapFunction = KeyedStateBootstrapFunction | StateBootstrapFunction | BroadcastStateBootstrapFunction


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Makes the state of one operator; it travels to the tasks.

    :param target: directory of the savepoint.
    :param now_ms: processing time of what is written.
    """

    program: OperatorProgram
    parallelism: int
    target: str
    now_ms: int

    def run(self, subtask: int, batches: Iterable[Batch]) -> StateLine | None:
        """The state that the records of one subtask make, in canonical form; None: there is none."""
        maximum = self.program.max_parallelism
        groups = key_group_range(maximum, self.parallelism, subtask)
        with tempfile.TemporaryDirectory(prefix="firesteel-bootstrap-") as directory:
            files = StateFiles(directory)
            with UserCode(self.program.name, self.program.uid):
                line = self._epochs(subtask, groups, files, batches)
            part = Part(line, files, states_of([line], files))
            lines = rewritten([part], groups, StateFiles(self.target), f"state-{subtask}")
        return lines.get(self.program.uid)

    def _epochs(self, subtask: int, groups: range, files: StateFiles, batches: Iterable[Batch]) -> StateLine:
        state = SubtaskState(
            job_id="bootstrap",
            attempt=0,
            vertex_id=self.program.uid,
            subtask=subtask,
            max_parallelism=self.program.max_parallelism,
            key_groups=groups,
            files=files,
        )
        line, operator = EMPTY, _operator(self.program)
        state.begin(line, self.now_ms)
        operator.open(self._context(subtask), state.operator(self.program.uid, scope_of(self.program)))
        numbers = itertools.count(1)
        for batch in batches:
            operator.process(batch)
            if state.changed_entries > _CHANGED_ENTRIES:
                line = _committed(line, state, operator, files, next(numbers))
                state.begin(line, self.now_ms)
                operator.begin_epoch()
        line = _committed(line, state, operator, files, next(numbers))
        operator.close()
        state.close()
        return line

    def _context(self, subtask: int) -> SubtaskContext:
        return SubtaskContext(
            job_id="bootstrap",
            job_name="state processor",
            vertex_name=self.program.name,
            subtask=subtask,
            parallelism=self.parallelism,
            max_parallelism=self.program.max_parallelism,
            attempt=0,
            batch_mode=False,
            state_dir=self.target,
            settings={},
            clock=TaskClock(self.now_ms),
        )


def _committed(
    line: StateLine, state: SubtaskState, operator: FunctionOperator, files: StateFiles, number: int
) -> StateLine:
    """The line after what the operator has taken in so far."""
    operator.end_epoch()
    operator.outputs.main.collector.take()  # what it would give out goes nowhere
    delta = state.finish()
    name = f"bootstrap-{number}"
    run = delta.run if delta.payload is None else delta.ref(files.write_once(name, delta.payload), 0)
    line, gone = advance(line, name, run, delta.compaction)
    for path in gone:
        files.delete(path)
    return line


# ---- operators


class _KeyedBootstrapOperator(KeyedProcessOperator):
    """Sets timers and lets none of them fire."""

    def _fire_processing_time(self) -> None: ...


#: What runs a spec here and not what runs it in jobs.
_INSTEAD: Final[dict[type, Any]] = {KeyedProcess: _KeyedBootstrapOperator}


def _operator(program: OperatorProgram) -> FunctionOperator:
    own = _INSTEAD.get(type(program.spec))
    operator = build_operator(program) if own is None else own(program, program.spec)
    assert isinstance(operator, FunctionOperator), "bootstrap functions and windows are run by one"
    return operator


def spec_of(function: BootstrapFunction) -> OperatorSpec:
    """The operator that calls a bootstrap function."""
    match function:
        case KeyedStateBootstrapFunction():
            return KeyedProcess(_KeyedFunction(function))
        case StateBootstrapFunction():
            return Process(_OperatorFunction(function))
        case _:
            return Process(_BroadcastFunction(function))


class _KeyedFunction(KeyedProcessFunction):
    def __init__(self, function: KeyedStateBootstrapFunction) -> None:
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> None:
        self._function.process_element(value, ctx)

    def close(self) -> None:
        self._function.close()


class _OperatorFunction(ProcessFunction, CheckpointedFunction):
    def __init__(self, function: StateBootstrapFunction) -> None:
        self._function = function

    def initialize_state(self, context: Any) -> None:
        self._function.initialize_state(context)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> None:
        self._function.process_element(value)

    def snapshot_state(self, context: Any) -> None:
        self._function.snapshot_state(context)

    def close(self) -> None:
        self._function.close()


class _BroadcastFunction(ProcessFunction, CheckpointedFunction, BroadcastStateBootstrapFunction.Context):
    def __init__(self, function: BroadcastStateBootstrapFunction) -> None:
        self._function = function

    def initialize_state(self, context: Any) -> None:
        self._store = context.get_operator_state_store()

    def get_broadcast_state(self, descriptor: Any) -> Any:
        return self._store.get_broadcast_state(descriptor)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> None:
        self._function.process_element(value, self)

    def snapshot_state(self, context: Any) -> None:
        """It is in the state already."""

    def close(self) -> None:
        self._function.close()
