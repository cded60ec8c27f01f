"""One consistent picture of a job at one moment: plain, immutable data that any thread may read.

The job's own thread publishes after each epoch and each change of status; the view is made when somebody asks
for it (``published.py``). What did not change is shared with the view before. Instants are in milliseconds
since the epoch.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from firesteel.common.job_status import JobStatus
from firesteel.graph.execution_graph import ExecutionState, aggregate_state
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.checkpoints.statistics import CheckpointsView
from firesteel.jobmanager.events import Journal, StatusChanged
from firesteel.jobmanager.rescale_view import RescalesView
from firesteel.metrics.groups import Groups, path_of


class OperatorInfo(msgspec.Struct, frozen=True):
    """An operator of a chain.

    :param uid: that of the program, None when it has none.
    :param input: the id of the operator of the chain that it is behind; None: it is the first.
    :param kind: ``source``, ``sink`` or nothing.
    """

    id: str
    name: str
    description: str
    uid: str | None
    input: str | None = None
    kind: str = ""


class EdgeInfo(msgspec.Struct, frozen=True):
    """Records on their way to an input of a vertex."""

    source_vertex: str
    input: int
    ship_strategy: str
    exchange: str


class VertexInfo(msgspec.Struct, frozen=True):
    """A job vertex: what does not change while the job runs. ``level``: which stage of an epoch runs it."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    level: int
    operators: tuple[OperatorInfo, ...]
    inputs: tuple[EdgeInfo, ...]


class StatementInfo(msgspec.Struct, frozen=True):
    """A statement of SQL that the job runs, without its secrets.

    :param vertices: ids of those that have its sinks.
    """

    text: str
    vertices: tuple[str, ...]


class JobInfo(msgspec.Struct, frozen=True):
    """What does not change while the job runs.

    :param vertices: in topological order, sources first.
    :param settings: the configuration as sorted pairs, without its secrets.
    :param state_dir: the directory of the job's state files.
    :param statements: in the order of the program.
    """

    id: str
    name: str
    batch: bool
    vertices: tuple[VertexInfo, ...]
    settings: tuple[tuple[str, str], ...]
    checkpointing: CheckpointOptions
    state_dir: str
    statements: tuple[StatementInfo, ...] = ()


class AttemptView(msgspec.Struct, frozen=True):
    """One attempt of a subtask. ``entered_ms``: its states in order, with when it entered each."""

    number: int
    id: str
    state: ExecutionState
    entered_ms: tuple[tuple[ExecutionState, int], ...]
    failure: str | None = None


class Statistics(msgspec.Struct, frozen=True):
    """Of the values that a distribution or histogram was given. What it does not know is None."""

    count: int
    min: float | None = None
    max: float | None = None
    sum: float | None = None
    mean: float | None = None
    stddev: float | None = None
    quantiles: tuple[tuple[float, float], ...] = ()


class MetricView(msgspec.Struct, frozen=True):
    """A metric of an operator of one subtask, or of the subtask.

    :param operator: its id; empty: it is of the subtask.
    :param groups: the subgroups around it, each with its value or None.
    :param kind: ``counter``, ``meter`` (the value is the count of its events), ``gauge``, ``distribution``
        or ``histogram``.
    """

    operator: str
    groups: Groups
    name: str
    kind: str
    value: int | float | bool | str | Statistics

    @property
    def path(self) -> str:
        """Its groups and its name: ``tenant.acme.orders``."""
        return path_of(self.groups, self.name)


class SubtaskView(msgspec.Struct, frozen=True):
    """A subtask. The counters cover all attempts of this run of the job, records read again included.

    :param earlier: the attempts before, oldest first; at most 16.
    :param operators: records in and out of each operator, in the order of the vertex's operators.
    :param bytes_in: of the buffers that came through exchanges; ``bytes_out``: of those that left for them.
    :param watermark: of the last operator that has one, in milliseconds of event time.
    :param busy_ms: inside of its chain; ``back_pressured_ms``: waiting for those that it sends to.
    :param active_ms: when an epoch was last committed in which it had records; 0: there was none.
    :param lag_ms: how old, by its event time, the last record of a source was when it was read.
    :param metrics: those of its operators, user functions' among them.
    """

    index: int
    attempt: AttemptView
    earlier: tuple[AttemptView, ...] = ()
    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    operators: tuple[tuple[int, int], ...] = ()
    watermark: int | None = None
    busy_ms: float = 0.0
    back_pressured_ms: float = 0.0
    active_ms: int = 0
    lag_ms: int | None = None
    metrics: tuple[MetricView, ...] = ()


class VertexView(msgspec.Struct, frozen=True):
    """A job vertex while it runs."""

    info: VertexInfo
    subtasks: tuple[SubtaskView, ...]

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def state(self) -> ExecutionState:
        """One state for all subtasks (``aggregate_state``)."""
        return aggregate_state([subtask.attempt.state for subtask in self.subtasks])

    @property
    def state_counts(self) -> dict[ExecutionState, int]:
        """How many subtasks are in each state."""
        counts = Counter(subtask.attempt.state for subtask in self.subtasks)
        return {state: counts[state] for state in ExecutionState}


class ExceptionView(msgspec.Struct, frozen=True):
    """Why an attempt of the job failed. What is not known is None: the engine's failures have no operator.

    :param name: the class of the exception; of a user's exception its own.
    :param traceback: without secrets, and cut when it is very long.
    :param task: the name of the vertex.
    """

    time_ms: int
    name: str
    message: str
    traceback: str
    attempt: int
    vertex: str | None = None
    task: str | None = None
    operator: str | None = None
    subtask: int | None = None


class AccumulatorView(msgspec.Struct, frozen=True):
    """An accumulator or metric. ``value``: as text; None for one that is large or of a user's class, whose
    value an ``AccumulatorsRequest`` gets."""

    name: str
    kind: str
    value: str | None


class EpochReport(msgspec.Struct, frozen=True):
    """What one epoch did. ``records``: those that its sources read. ``stages``: of Spark, that ran it, from
    the sources on; in real time one job of Spark runs many epochs, and there are none.

    :param overhead_ms: what it cost beside the work on records; None: it is not known. In real time, where
        records go on meanwhile: the most CPU time that a task took to end the epoch.
    """

    epoch: int
    started_ms: int
    elapsed_ms: float
    records: int
    attempts: int
    stages: tuple[int, ...] = ()
    overhead_ms: float | None = None


class WorkerView(msgspec.Struct, frozen=True):
    """A Python process that runs tasks of the job. ``cpu_s``: since it began."""

    host: str
    pid: int
    rss_bytes: int
    cpu_s: float
    seen_ms: int


class JobView(msgspec.Struct, frozen=True):
    """A job at one moment.

    :param version: rises with each view of the job.
    :param published_ms: when the view was made.
    :param timestamps: when the job last entered each of the statuses that it has had, in that order.
    :param restarts: how often the job was restarted after a failure.
    :param epoch: the newest committed epoch; 0: none.
    :param reports: of the newest epochs, oldest first.
    :param lag: records that were not read yet, by source operator and split, as far as sources know.
    :param readers: which subtask of a source reads each of those splits.
    :param workers: the Python processes that have run tasks of the newest epochs.
    :param exceptions: the newest, oldest first.
    :param exceptions_dropped: how many older ones are gone.
    :param requests_waiting: how many requests waited in the job's mailbox when the view was made.
    :param held_slots: that the tasks of the job hold for as long as they run, in real time; 0: in epochs.
    """

    version: int
    published_ms: int
    info: JobInfo
    status: JobStatus
    timestamps: tuple[tuple[JobStatus, int], ...]
    started_ms: int
    ended_ms: int | None
    attempt: int
    restarts: int
    vertices: tuple[VertexView, ...]
    checkpoints: CheckpointsView
    journal: Journal
    epoch: int = 0
    records_read: int = 0
    reports: tuple[EpochReport, ...] = ()
    lag: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    readers: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    workers: tuple[WorkerView, ...] = ()
    accumulators: tuple[AccumulatorView, ...] = ()
    exceptions: tuple[ExceptionView, ...] = ()
    exceptions_dropped: int = 0
    rescales: RescalesView = RescalesView()
    requests_waiting: int = 0
    held_slots: int = 0

    @classmethod
    def first(
        cls,
        info: JobInfo,
        status: JobStatus,
        vertices: tuple[VertexView, ...],
        checkpoints: CheckpointsView,
        now_ms: int,
    ) -> JobView:
        """That of a job of which nothing has run yet."""
        return cls(
            version=0,
            published_ms=now_ms,
            info=info,
            status=status,
            timestamps=((status, now_ms),),
            started_ms=now_ms,
            ended_ms=None,
            attempt=0,
            restarts=0,
            vertices=vertices,
            checkpoints=checkpoints,
            journal=Journal((StatusChanged(now_ms, status),)),
        )

    @property
    def job_id(self) -> str:
        return self.info.id

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def statuses(self) -> tuple[JobStatus, ...]:
        """The statuses that the job has had, as far as the journal goes back."""
        return tuple(event.status for event in self.journal.events if isinstance(event, StatusChanged))

    def vertex(self, vertex_id: str) -> VertexView:
        """Raises KeyError for an unknown id."""
        for vertex in self.vertices:
            if vertex.id == vertex_id:
                return vertex
        raise KeyError(vertex_id)
