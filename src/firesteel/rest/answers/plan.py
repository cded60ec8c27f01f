"""The plan of a job: its vertices with what is chained in each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from html import escape

from msgspec import UNSET

from firesteel.jobmanager.job_view import JobInfo, OperatorInfo, VertexInfo
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.jobs import JobType, Plan, PlanInput, PlanNode


def job_type(info: JobInfo) -> JobType:
    return "BATCH" if info.batch else "STREAMING"


def plan_of(info: JobInfo) -> Plan:
    """From the last vertex to the sources."""
    nodes = [_node(vertex) for vertex in reversed(info.vertices)]
    return Plan(jid=info.id, name=info.name, type=job_type(info), nodes=nodes)


def group_id(info: JobInfo, vertex: VertexInfo) -> str:
    return group_id_of(info.id, vertex.slot_sharing_group)


def group_id_of(job_id: str, group: str) -> str:
    """An id of a slot sharing group, as Flink has one: 32 digits."""
    return hashlib.sha256(f"{job_id} {group}".encode()).hexdigest()[:32]


def _node(vertex: VertexInfo) -> PlanNode:
    inputs = [
        PlanInput(id=e.source_vertex, num=number, exchange=e.exchange, ship_strategy=e.ship_strategy)
        for number, e in enumerate(vertex.inputs)
    ]
    return PlanNode(
        id=vertex.id,
        operator="",
        parallelism=vertex.parallelism,
        operator_strategy="",
        description=description(vertex),
        optimizer_properties=Empty(),
        inputs=inputs or UNSET,
    )


def description(vertex: VertexInfo) -> str:
    """The operators of a chain as a tree, in HTML.

    ``source<br/>+- map<br/>   +- sink<br/>``; all children of an operator but its last begin with ``:-``.
    """
    behind: dict[str | None, list[OperatorInfo]] = {}
    for operator in vertex.operators:
        behind.setdefault(operator.input, []).append(operator)
    return "".join(_tree(behind, None, "", ""))


def _tree(
    behind: dict[str | None, list[OperatorInfo]], of: str | None, branches: str, indent: str
) -> Iterator[str]:
    """``branches``: what comes before an operator that is the last of its siblings."""
    siblings = behind.get(of, [])
    for operator in siblings:
        last = operator is siblings[-1]
        sign = branches if last or not branches else f":{branches[1:]}"
        yield f"{indent}{sign}{escape(operator.description, quote=False)}<br/>"
        deeper = "" if not branches else "   " if last else ":  "
        yield from _tree(behind, operator.id, "+- ", indent + deeper)
