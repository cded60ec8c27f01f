"""What the pages of the dashboard show of jobs: ``/firesteel/v1``. Times in milliseconds; null: not known."""

from __future__ import annotations

from typing import Literal

from firesteel.rest.messages.base import Id, Message
from firesteel.rest.messages.vertices import FlameNode

#: One word for how a job is doing, the worst first.
Health = Literal[
    "failed", "restarting", "stalled", "behind", "unstable", "starting", "good", "finished", "canceled"
]


class JobSummary(Message, frozen=True):
    """A job in a list.

    :param why: what ``health`` was made of, as a sentence; empty when there is nothing to say.
    :param watermark_ms: event time of the slowest subtask; ``event_time_ended``: its input has ended.
    :param freshness_ms: how long ago that was. The results of the job are complete up to then.
    :param lag: records that its sources have not read yet; ``catch_up_ms``: how long they take at the
        present rate.
    :param records_per_second: read by its sources, over about the last minute.
    :param recent: records per second in steps of some seconds, the oldest first.
    """

    jid: Id
    name: str
    state: str
    health: Health
    why: str
    job_type: Literal["BATCH", "STREAMING"]
    started_ms: int
    ended_ms: int | None
    duration_ms: int
    watermark_ms: int | None
    event_time_ended: bool
    freshness_ms: int | None
    lag: int | None
    catch_up_ms: int | None
    records_read: int
    records_per_second: float | None
    recent: list[float]
    epoch: int
    epoch_ms: float | None
    epoch_ended_ms: int | None
    restarts: int
    parallelism: int
    vertices: int
    subtasks: int
    checkpoint_ended_ms: int | None
    checkpoint_failures: int
    state_bytes: int | None


class JobSummaries(Message, frozen=True):
    """The youngest first."""

    now: int
    jobs: list[JobSummary]


class LiveOperator(Message, frozen=True):
    """An operator of a chain; ``input``: the id of the one before it in the chain."""

    id: str
    name: str
    description: str
    uid: str | None
    input: str | None
    records_in: int
    records_out: int


class LiveInput(Message, frozen=True):
    id: Id
    ship_strategy: str
    exchange: str


class LiveVertex(Message, frozen=True):
    """A vertex in the graph of its job.

    :param level: which stage of an epoch runs it.
    :param records_in: of a source: what it read.
    :param skew: how much more the busiest subtask got than the average, in percent of it.
    :param busy: the share of time in which its busiest subtask worked; ``back_pressured``: in which that one
        waited for those that it sends to.
    """

    id: Id
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    state: str
    tasks: dict[str, int]
    operators: list[LiveOperator]
    inputs: list[LiveInput]
    records_in: int
    records_out: int
    bytes_in: int
    bytes_out: int
    in_per_second: float | None
    out_per_second: float | None
    bytes_in_per_second: float | None
    bytes_out_per_second: float | None
    watermark_min: int | None
    watermark_max: int | None
    event_time_ended: bool
    lag: int | None
    state_bytes: int | None
    skew: float | None
    busy: float | None
    back_pressured: float | None


class Bottleneck(Message, frozen=True):
    """The vertex that holds the others up."""

    vertex: Id
    name: str
    why: str


class LiveJob(Message, frozen=True):
    """A job with its vertices as they are now, sources first.

    :param timestamps: when it last entered each status that it has had.
    :param rescalable: whether its parallelism can be changed while it runs.
    :param statements: how many statements of SQL it runs.
    """

    now: int
    job: JobSummary
    attempt: int
    timestamps: dict[str, int]
    vertices: list[LiveVertex]
    rescalable: bool
    bottleneck: Bottleneck | None
    statements: int


class Statement(Message, frozen=True):
    """A statement of SQL, its secrets masked.

    :param vertices: ids of those that have its sinks.
    """

    text: str
    vertices: list[Id]


class Statements(Message, frozen=True):
    """In the order of the program; empty: the job is not from SQL."""

    jid: Id
    statements: list[Statement]


class LiveSubtask(Message, frozen=True):
    """``entered``: when its attempt entered each state."""

    index: int
    state: str
    attempt: int
    entered: dict[str, int]
    records_in: int
    records_out: int
    bytes_in: int
    bytes_out: int
    in_per_second: float | None
    out_per_second: float | None
    watermark_ms: int | None
    event_time_ended: bool
    state_bytes: int | None
    busy: float | None
    back_pressured: float | None
    failure: str | None


class LiveSubtasks(Message, frozen=True):
    """``lag``: of the splits of its sources."""

    now: int
    id: Id
    name: str
    subtasks: list[LiveSubtask]
    lag: dict[str, int]


class Failure(Message, frozen=True):
    """Why an attempt of a job failed, where that is known. ``traceback``: Python's, the oldest call first."""

    time_ms: int
    name: str
    message: str
    traceback: str
    attempt: int
    vertex: Id | None
    task: str | None
    operator: str | None
    uid: str | None
    subtask: int | None


class Failures(Message, frozen=True):
    """The newest first; ``dropped``: how many older ones are gone."""

    failures: list[Failure]
    dropped: int


class Chart(Message, frozen=True):
    """Columns of numbers, ``time_ms`` first; null: not known."""

    columns: list[str]
    values: list[list[float | None]]


class VertexChart(Message, frozen=True):
    id: Id
    name: str
    chart: Chart


class JobCharts(Message, frozen=True):
    """``fine``: the last half hour; ``minutes``: the last day; ``vertices``: the last half hour of each."""

    now: int
    fine: Chart
    minutes: Chart
    vertices: list[VertexChart]


class FlameSample(Message, frozen=True):
    """Where the Python workers were, as often as they were looked at (``samples``)."""

    taken_ms: int
    samples: int
    processes: int
    data: FlameNode


class SessionInfo(Message, frozen=True):
    """:param auth: how the server asks who somebody is; ``role``: what this browser may do, null: nothing.
    :param root: whether Flink's dashboard is at ``/``.
    """

    auth: Literal["none", "token", "basic"]
    role: Literal["read", "operate", "submit"] | None
    name: str
    flink_ui: bool
    version: str


class Login(Message, frozen=True):
    """A token, or a name with a password."""

    token: str | None = None
    name: str | None = None
    password: str | None = None
