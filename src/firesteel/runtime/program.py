"""What the driver ships to the workers: programs once for each job, descriptors once for each epoch.

A *program* is the code of one vertex; all programs of a job travel in one blob that a worker process reads
once, and of which it unpacks what is of its level. A *descriptor* is plain data: what one level has to do in
one epoch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from firesteel.common.column_types import ColumnsTypeInfo
from firesteel.common.typeinfo import TypeInformation
from firesteel.program.operators import OperatorSpec
from firesteel.program.output_tag import OutputTag
from firesteel.program.quick_pickle import quick_pickle
from firesteel.program.sinks import Sink
from firesteel.program.sources import ReadRange, SourceReader
from firesteel.program.transformations import Partitioning
from firesteel.runtime.checkpoint_news import NO_NEWS, CheckpointNews
from firesteel.runtime.metrics import MetricKey, Part
from firesteel.runtime.task_report import TaskReport
from firesteel.state.line import StateLine
from firesteel.storage.records import record


@quick_pickle
@dataclass(frozen=True, slots=True)
class OperatorProgram:
    """One operator of a chain. ``inputs`` names the operators of the chain that feed it, with the tag of the
    side output or None; empty for the head."""

    uid: str
    name: str
    spec: OperatorSpec | SourceReader | Sink
    inputs: tuple[tuple[str, OutputTag | None], ...] = ()
    key_type: TypeInformation | None = None
    keyed: bool = False
    output_type: TypeInformation | None = None
    watermark_strategy: Any = None  # sources
    max_parallelism: int = 128


@quick_pickle
@dataclass(frozen=True, slots=True)
class PreAggregation:
    """Elements are aggregated before they travel, for the operator that reads them.

    ``by_time``: in the order of their timestamps, which is that of the operator in BATCH mode.
    ``never_change``: they are of a type that nobody can change values of.
    """

    operator: OperatorProgram  # of a window, or of a reduce
    by_time: bool
    never_change: bool = False


@quick_pickle
@dataclass(frozen=True, slots=True)
class OutEdge:
    """An edge that leaves the chain. ``local``: the consumer runs in the same task (forward, same level)."""

    edge: int
    operator: str  # uid of the operator in this chain that feeds it
    tag: OutputTag | None
    partitioning: Partitioning
    consumers: int  # parallelism of the consuming vertex
    consumer_max_parallelism: int
    consumer: str  # vertex id
    local: bool
    pre_aggregation: PreAggregation | None = None
    columns: ColumnsTypeInfo | None = None  # what it carries, when that is columns


@quick_pickle
@dataclass(frozen=True, slots=True)
class InEdge:
    edge: int
    operator: str
    input: int
    producers: int  # parallelism of the producing vertex
    partitioning: Partitioning
    local: bool
    columns: ColumnsTypeInfo | None = None


@quick_pickle
@dataclass(frozen=True, slots=True)
class VertexProgram:
    id: str
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    operators: tuple[OperatorProgram, ...]  # topological order
    inputs: tuple[InEdge, ...]
    outputs: tuple[OutEdge, ...]


@quick_pickle
@dataclass(frozen=True, slots=True)
class JobProgram:
    """Everything that does not change while a job runs.

    :param states: how many subtasks have keyed state, of all levels.
    """

    job_id: str
    job_name: str
    batch: bool
    vertices: tuple[VertexProgram, ...]  # by level, then topological
    settings: dict[str, Any] = field(default_factory=dict)
    watermark_interval_ms: int = 200  # pipeline.auto-watermark-interval
    states: int = 0

    def of_level(self, level: int) -> JobProgram:
        """With the vertices of one level alone."""
        return replace(self, vertices=tuple(v for v in self.vertices if v.level == level))


class WorkerFiles(NamedTuple):
    """What is put where workers run.

    :param directory: their working directory; None: the one that they start in.
    :param paths: directories of packages, which come before all others.
    :param cached: the name and path of each registered file, seen from the directory that they start in.
    """

    directory: str | None = None
    paths: tuple[str, ...] = ()
    cached: tuple[tuple[str, str], ...] = ()


class ShippedProgram(NamedTuple):
    """The blob of a job.

    :param paths: where the modules of the user's are.
    :param bootstrap: pickled callables that come before any other code is unpacked.
    :param submodules: the names of modules that the script has imported as parts of packages.
    :param main_classes: pickled: by name the classes of the user's script, which pickled records look for in
        ``__main__``.
    :param kinds: pickled: the kinds that are registered outside of Firesteel (``runtime.kinds``).
    :param placed: what the platform has put there.
    :param levels: pickled: the ``JobProgram`` of each level.
    """

    paths: tuple[str, ...]
    bootstrap: tuple[bytes, ...]
    submodules: tuple[str, ...]
    main_classes: bytes
    kinds: bytes
    levels: tuple[bytes, ...]
    placed: WorkerFiles


def program_name(blob: bytes) -> str:
    """What the blob of a job is called in the state directory: by the hash of its content."""
    return f"program-{hashlib.blake2b(blob, digest_size=16).hexdigest()}"


@quick_pickle
@dataclass(frozen=True, slots=True)
class SourceAssignment:
    """What the source operator of one subtask reads in this epoch. ``last``: no split will be added, so the
    input ends with its splits. ``limit``: a split whose watermark is above it is not read on (alignment).
    ``drain``: the input ends with this epoch, whatever its splits still have."""

    ranges: tuple[ReadRange, ...] = ()
    new_splits: tuple[str, ...] = ()
    last: bool = False
    limit: int | None = None
    drain: bool = False


@quick_pickle
@dataclass(frozen=True, slots=True)
class Pace:
    """How long the tasks of one epoch may work.

    :param limit_ms: a source task stops reading after this time and its ack says how far it came.
    :param overrun_ms: a task behind an exchange that has worked for this long gives the epoch up, so that it
        can be run again with fewer records.
    :param first_records: how many records a task processes before it first looks at the clock.
    """

    limit_ms: int
    overrun_ms: int
    first_records: int = 1


@record("split time")
class SplitTime(NamedTuple):
    """How far the event time of one split is."""

    watermark: int
    idle: bool


@quick_pickle
@dataclass(frozen=True, slots=True)
class SubtaskDescriptor:
    line: StateLine
    carry: bytes | None = None  # what operators remember between epochs that is not state (watermarks ...)
    moved: bytes | None = None  # instead, after a change of parallelism: what all subtasks before remembered
    sources: dict[str, SourceAssignment] = field(default_factory=dict)  # operator uid -> assignment


@quick_pickle
@dataclass(frozen=True, slots=True)
class LevelDescriptor:
    """What one level does in one epoch. ``subtasks``: (vertex id, subtask) -> descriptor."""

    job_id: str
    attempt: int
    epoch: int
    now_ms: int
    level: int
    program: str  # name of the blob in the state directory: its content hash
    state_dir: str
    local_dir: str | None
    live_jobs: tuple[str, ...]
    subtasks: dict[tuple[str, int], SubtaskDescriptor]
    pace: Pace | None = None  # None: the ranges are processed whole, however long it takes
    marks_latency: bool = False  # sources send latency markers
    news: CheckpointNews = NO_NEWS


@dataclass(slots=True)
class Ack:
    """The answer of one subtask of one vertex for one epoch. Small: it passes through the deeper levels."""

    vertex: str
    subtask: int
    delta: Any = None  # firesteel.state.line.EpochDelta
    carry: bytes | None = None
    positions: dict[str, dict[str, Any]] = field(default_factory=dict)  # source uid -> split -> position
    ended_splits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    split_times: dict[str, dict[str, SplitTime]] = field(default_factory=dict)  # of sources with alignment
    is_cut: bool = False  # the time limit ended the reading before the ranges did
    ended: bool = False  # end of input was seen by every operator of the subtask
    forgets: bool = False  # so nobody needs its state any more, and no checkpoint that is to come holds it
    watermark: int | None = None  # of the last operator of the chain that has one
    next_timer_ms: int | None = None  # processing time at which something is due without input
    waited_ms: float = 0.0  # for answers from outside that a shorter epoch would have waited for as long
    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0  # of the buffers that came through exchanges, and that left for them
    bytes_out: int = 0
    operators: dict[str, tuple[int, int]] = field(default_factory=dict)  # uid -> records in, records out
    committables: dict[str, list[Any]] = field(default_factory=dict)  # sink uid -> payloads
    accumulators: dict[str, Any] = field(default_factory=dict)
    metrics: dict[MetricKey, Part] = field(default_factory=dict)  # but for gauges
    warnings: tuple[str, ...] = ()
    listens: bool = False  # a function wants to be told of checkpoints
    sent: dict[int, int] = field(default_factory=dict)  # by edge: see ``runtime/exchange_check.py``
    received: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overrun:
    """The answer of a task that gave the epoch up: what it had processed and how long that took."""

    subtask: int
    level: int
    records: int
    worked_ms: float


@dataclass(slots=True)
class UserError:
    """An exception of the user's code on its way to the driver."""

    operator: str
    uid: str
    subtask: int
    error: bytes | None  # the pickled exception, when it can be pickled
    summary: str  # "ZeroDivisionError: division by zero"
    traceback: str


class LogEntry(NamedTuple):
    """One call of a logger. ``subtask`` None: a thread of the user's own, which belongs to no operator."""

    logger: str
    level: int
    text: str
    created: float  # seconds since the epoch
    path: str
    line: int
    function: str | None
    operator: str
    subtask: int | None


class UserLogs(NamedTuple):
    """What was logged in one process; ``dropped`` entries more were too many."""

    entries: tuple[LogEntry, ...]
    dropped: int


#: What a task sends to the driver.
Answer: TypeAlias = Ack | UserError | UserLogs | Overrun | TaskReport
