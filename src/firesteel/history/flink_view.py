"""A view of a job that Flink has archived, made of the answers in its archive.

It is enough for lists of jobs, and for the pages of the dashboard that need more than Flink's answers.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from firesteel.common.errors import StateCorruptionError
from firesteel.common.job_status import JobStatus
from firesteel.common.masking import masked
from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.checkpoints.statistics import CheckpointsView
from firesteel.jobmanager.events import Journal, StatusChanged
from firesteel.jobmanager.job_view import (
    AttemptView,
    EdgeInfo,
    ExceptionView,
    JobInfo,
    JobView,
    OperatorInfo,
    SubtaskView,
    VertexInfo,
    VertexView,
)
from firesteel.rest.archives.archive import Archive

__all__ = ["flink_view"]

T = TypeVar("T")


class _Figures(Struct, frozen=True, rename="kebab"):
    read_bytes: int = 0
    write_bytes: int = 0
    read_records: int = 0
    write_records: int = 0
    accumulated_busy_time: float | str | None = None  # "NaN" is a text
    accumulated_backpressured_time: float | None = None


class _Vertex(Struct, frozen=True, rename="kebab"):
    id: str
    name: str
    parallelism: int
    status: str
    max_parallelism: int = msgspec.field(default=-1, name="maxParallelism")
    slot_sharing_group: str = msgspec.field(default="", name="slotSharingGroupId")


class _Input(Struct, frozen=True):
    id: str
    num: int = 0
    ship_strategy: str = ""
    exchange: str = ""


class _Node(Struct, frozen=True):
    id: str
    description: str = ""
    inputs: tuple[_Input, ...] = ()


class _Plan(Struct, frozen=True):
    type: str = "STREAMING"
    nodes: tuple[_Node, ...] = ()


class _Job(Struct, frozen=True, rename="kebab"):
    jid: str
    name: str
    state: str
    start_time: int
    end_time: int
    timestamps: dict[str, int]
    vertices: tuple[_Vertex, ...]
    plan: _Plan = _Plan()


class _Subtask(Struct, frozen=True, rename="kebab"):
    subtask: int
    status: str
    attempt: int = 0
    start_time: int = -1
    end_time: int = -1
    metrics: _Figures = _Figures()


class _Subtasks(Struct, frozen=True):
    subtasks: tuple[_Subtask, ...] = ()


class _Failure(Struct, frozen=True):
    exception_name: str = msgspec.field(default="", name="exceptionName")
    stacktrace: str = ""
    timestamp: int = 0
    task_name: str | None = msgspec.field(default=None, name="taskName")


class _Failures(Struct, frozen=True):
    entries: tuple[_Failure, ...] = ()


class _Exceptions(Struct, frozen=True, rename="camel"):
    exception_history: _Failures = _Failures()


def flink_view(archive: Archive, job_id: str) -> JobView:
    """
    :raises StateCorruptionError: the archive has not what every version of Flink archives.
    """
    job = _read(archive, f"/jobs/{job_id}", _Job)
    if job is None:
        raise StateCorruptionError(f"The archive has no answer at /jobs/{job_id}")
    try:
        return _view(archive, job)
    except (KeyError, ValueError) as e:  # a state that is none
        raise StateCorruptionError(f"The archive of job {job_id} has values that nobody knows: {e}") from e


def _view(archive: Archive, job: _Job) -> JobView:
    nodes = {node.id: node for node in job.plan.nodes}
    levels = _levels(nodes)
    vertices = tuple(_vertex(archive, job, vertex, nodes, levels) for vertex in reversed(job.vertices))
    vertices = tuple(sorted(vertices, key=lambda vertex: vertex.info.level))
    status = JobStatus[job.state]
    entered = sorted((at, JobStatus[name]) for name, at in job.timestamps.items() if at > 0)
    info = JobInfo(
        id=job.jid,
        name=job.name,
        batch=job.plan.type == "BATCH",
        vertices=tuple(vertex.info for vertex in vertices),
        settings=(),
        checkpointing=CheckpointOptions(),
        state_dir="",
    )
    failures = _read(archive, f"/jobs/{job.jid}/exceptions", _Exceptions) or _Exceptions()
    return JobView(
        version=1,
        published_ms=job.end_time,
        info=info,
        status=status,
        timestamps=tuple((name, at) for at, name in entered),
        started_ms=job.start_time,
        ended_ms=job.end_time,
        attempt=0,
        restarts=0,
        vertices=vertices,
        checkpoints=CheckpointsView(),
        journal=Journal(tuple(StatusChanged(at, name) for at, name in entered)),
        records_read=sum(s.records_out for v in vertices if not v.info.inputs for s in v.subtasks),
        exceptions=tuple(map(_exception, reversed(failures.exception_history.entries))),
    )


def _vertex(
    archive: Archive, job: _Job, vertex: _Vertex, nodes: dict[str, _Node], levels: dict[str, int]
) -> VertexView:
    node = nodes.get(vertex.id, _Node(vertex.id))
    inputs = tuple(EdgeInfo(i.id, i.num, i.ship_strategy, i.exchange) for i in node.inputs)
    info = VertexInfo(
        id=vertex.id,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        slot_sharing_group=vertex.slot_sharing_group,
        level=levels.get(vertex.id, 0),
        operators=(OperatorInfo(vertex.id, vertex.name, node.description, None),),
        inputs=inputs,
    )
    found = _read(archive, f"/jobs/{job.jid}/vertices/{vertex.id}", _Subtasks) or _Subtasks()
    return VertexView(info, tuple(_subtask(vertex, subtask) for subtask in found.subtasks))


def _subtask(vertex: _Vertex, found: _Subtask) -> SubtaskView:
    state = ExecutionState[found.status]
    entered = [(ExecutionState.CREATED, found.start_time)] if found.start_time > 0 else []
    if found.end_time > 0:
        entered.append((state, found.end_time))
    figures = found.metrics
    busy = figures.accumulated_busy_time
    return SubtaskView(
        index=found.subtask,
        attempt=AttemptView(found.attempt, f"{vertex.id}_{found.subtask}", state, tuple(entered)),
        records_in=figures.read_records,
        records_out=figures.write_records,
        bytes_in=figures.read_bytes,
        bytes_out=figures.write_bytes,
        operators=((figures.read_records, figures.write_records),),
        busy_ms=busy if isinstance(busy, int | float) else 0.0,
        back_pressured_ms=figures.accumulated_backpressured_time or 0.0,
    )


def _exception(found: _Failure) -> ExceptionView:
    first, _, _ = found.stacktrace.partition("\n")
    return ExceptionView(
        time_ms=found.timestamp,
        name=found.exception_name,
        message=masked(first.removeprefix(f"{found.exception_name}: ")),
        traceback=masked(found.stacktrace),
        attempt=0,
        task=found.task_name,
    )


def _levels(nodes: dict[str, _Node]) -> dict[str, int]:
    """How many exchanges are behind each vertex; the graph has no circles."""
    found: dict[str, int] = {}

    def level(node_id: str) -> int:
        if node_id not in found:
            inputs = nodes[node_id].inputs if node_id in nodes else ()
            found[node_id] = 0
            found[node_id] = max((level(edge.id) + 1 for edge in inputs), default=0)
        return found[node_id]

    for node_id in nodes:
        level(node_id)
    return found


def _read(archive: Archive, path: str, kind: type[T]) -> T | None:
    text = archive.answers.get(path)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as e:
        raise StateCorruptionError(f"The answer at {path} of an archive is not Flink's: {e}") from e
