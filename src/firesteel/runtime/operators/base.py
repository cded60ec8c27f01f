"""The operator protocol, and what every operator needs to hand its output on."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Final, NamedTuple

from firesteel.common._coercion import compile_coercion
from firesteel.program.output_tag import OutputTag
from firesteel.runtime.batch import Batch, Collector, Mark
from firesteel.runtime.checkpoint_news import CheckpointEnd
from firesteel.runtime.metrics import TaskMetricGroup, TaskMetrics
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.stopwatch import Stopwatch
from firesteel.runtime.task_clock import TaskClock
from firesteel.runtime.user_code import UserCode
from firesteel.state.backend import OperatorState

BatchConsumer = Callable[[Batch], None]

_IMMUTABLE: Final = frozenset(
    (int, float, str, bytes, bool, type(None), date, datetime, time, timedelta, Decimal, complex)
)


@dataclass(slots=True)
class SubtaskContext:
    """What an operator may know of where it runs."""

    job_id: str
    job_name: str
    vertex_name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    attempt: int
    batch_mode: bool
    state_dir: str
    settings: dict[str, Any]
    clock: TaskClock = field(default_factory=TaskClock)
    watermark_interval_ms: int = 200
    restored: bool = False  # an epoch of this subtask was committed before
    epoch: int = 0
    checkpoint_id: int = 1  # of the next checkpoint: see ``CheckpointNews``
    buffer_timeout_ms: float | None = None  # real-time mode; see WriterContext
    accumulators: dict[str, Any] = field(default_factory=dict)
    metrics: TaskMetrics = field(default_factory=TaskMetrics)
    watch: Stopwatch = field(default_factory=Stopwatch)  # of the task
    vertex_id: str = ""
    warnings: list[str] = field(default_factory=list)
    cached_files: Mapping[str, str] = field(default_factory=dict)  # name -> path

    def metric_group(self, program: OperatorProgram) -> TaskMetricGroup:
        """Where an operator registers its metrics."""
        return TaskMetricGroup(self.metrics, program.uid, program.name)


class Consumer(NamedTuple):
    """What takes batches, and whose code it runs."""

    consume: BatchConsumer
    user_code: UserCode


class Output:
    """One output of an operator: the main one or a side output, with everything that consumes it."""

    __slots__ = ("coerce", "collector", "consumers", "count")

    def __init__(self, coerce: Callable[[list[Any]], list[Any]] | None) -> None:
        self.consumers: list[Consumer] = []
        self.coerce = coerce
        self.collector = Collector()
        self.count = 0

    def emit(self, batch: Batch) -> None:  # hot
        """Hand a batch on; declared types are applied here."""
        values = batch.values
        self.count += len(values)
        if self.coerce is not None and values:
            batch = Batch(self.coerce(values), batch.timestamps, batch.marks)
        consumers = self.consumers
        if len(consumers) > 1:
            for consume, user_code in consumers[1:]:
                copy = _isolated(batch)
                with user_code:
                    consume(copy)
        if consumers:
            consume, user_code = consumers[0]
            try:
                consume(batch)
            except BaseException as e:
                user_code.fail(e)

    def flush(self) -> None:
        batch = self.collector.take()
        if batch is not None:
            self.emit(batch)


class Outputs:
    """All outputs of an operator. ``main`` is always there, side outputs only where they are consumed."""

    __slots__ = ("all", "main", "side")

    def __init__(self, main: Output) -> None:
        self.main = main
        self.side: dict[str, Output] = {}
        self.all: list[Output] = [main]

    def add_side(self, tag: str, output: Output) -> Output:
        self.side[tag] = output
        self.all.append(output)
        return output

    def mark(self, mark: Mark) -> None:
        for output in self.all:
            output.collector.mark(mark)

    def flush(self) -> None:
        if self.side:
            self._separate()
        for output in self.all:
            output.flush()

    def _separate(self) -> None:
        """An object that went to several outputs becomes one object for each of them."""
        sides = [output.collector for output in self.all[1:] if output.collector.values]
        if not sides:
            return
        seen = set(map(id, self.main.collector.values))
        for collector in sides:
            values = collector.values
            if not seen.isdisjoint(map(id, values)):
                collector.values = _isolated(Batch(values)).values
            seen.update(map(id, values))

    def collect_side(self, tag: OutputTag, value: Any, timestamp: int) -> None:
        output = self.side.get(tag.tag_id)
        if output is not None:  # a side output that nobody reads is dropped, as in Flink
            output.collector.add(value, timestamp)


def _isolated(batch: Batch) -> Batch:
    """A batch whose records a consumer may change without another consumer seeing it."""
    if type(batch.values) is not list or are_immutable(batch.values):  # nobody changes columns
        return batch
    try:
        values = pickle.loads(pickle.dumps(batch.values, 5))
    except Exception:
        values = copy.deepcopy(batch.values)
    return Batch(values, batch.timestamps, batch.marks, batch.keys)


def are_immutable(values: list[Any]) -> bool:  # hot
    """Whether nobody can change any of ``values``: plain ones, and tuples of plain ones."""
    kinds = set(map(type, values))
    if tuple in kinds:
        kinds.remove(tuple)
        tuples = [value for value in values if type(value) is tuple] if kinds else values
        kinds.update(map(type, chain.from_iterable(tuples)))
    return _IMMUTABLE.issuperset(kinds)


class BaseOperator:
    """One operator of a chain, and what all of them share: their place, their outputs, their failure.

    An epoch is: ``restore``, ``begin_epoch``, ``checkpoint_ended`` for each one of which there is news,
    batches (``process``) and timers, ``end_epoch``, ``snapshot``. In between, as often as the task likes,
    ``flush`` hands on what is held back for efficiency alone, and ``tick`` says that processing time has
    moved; neither changes what the epoch is.

    Operators let through what the user's code raises: whoever calls one does it inside of its ``user_code``.
    """

    def __init__(self, program: OperatorProgram) -> None:
        self.program = program
        self.user_code = UserCode(program.name, program.uid)
        self.outputs = Outputs(Output(compile_coercion(program.output_type)))
        self.context: SubtaskContext
        self.records_in = 0
        self.waited_ms = 0.0  # at the end of the epoch, for answers from outside
        self.ended = False

    def add_side_output(self, tag: OutputTag) -> Output:
        output = Output(compile_coercion(tag.type_info))
        return self.outputs.add_side(tag.tag_id, output)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        self.context = context

    def begin_epoch(self) -> None:
        self.records_in = 0
        for output in self.outputs.all:
            output.count = 0

    def process(self, batch: Batch, input_index: int = 0) -> None:
        """Take a batch of an input. Every operator but a source does."""
        raise NotImplementedError(f"{self.program.name} has no input")

    @property
    def listens(self) -> bool:
        """Whether the user's code wants to be told of checkpoints."""
        return False

    def checkpoint_ended(self, end: CheckpointEnd) -> None:
        """Tell the user's code, at the beginning of an epoch. Called where the operator ``listens``."""

    def on_processing_time(self) -> None:
        """Fire what is due by the clock."""

    def tick(self) -> None:
        """Processing time has moved in the middle of the epoch."""
        self.on_processing_time()

    def flush(self) -> None:
        """Hand on what is ready; do not wait for anything. The epoch goes on."""
        self.outputs.flush()

    def end_epoch(self) -> None:
        """The epoch is cut here: everything that came belongs to it, and is to be in what ``snapshot`` and
        the state have, or to have been handed on."""

    def next_timer_ms(self) -> int | None:
        return None

    @property
    def is_waiting(self) -> bool:
        """Whether answers from outside are missing that ``flush`` would hand on."""
        return False

    def snapshot(self) -> Any:
        """Plain picklable data that the operator needs in the next epoch and that is not state."""
        return None

    def restore(self, carry: Any) -> None: ...

    def take_over(self, carries: Sequence[Any]) -> None:
        """Begin with what the subtasks before a change of parallelism remembered, after ``restore(None)``.

        :param carries: what ``snapshot`` gave in each of them, equal ones once.
        """

    def abandon(self) -> None:
        """The attempt will not come to its end: leave nothing running and nothing written."""

    def close(self) -> None: ...


def method_of(function: Any, name: str) -> Callable[..., Any]:
    """The method ``name`` of a function object, or the function itself when it is a plain callable."""
    method = getattr(function, name, None)
    found: Callable[..., Any] = method if callable(method) else function
    return found
