"""What can be refused when the graph is built: every error names the operator and what to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from firesteel.common.errors import ProgramError
from firesteel.common.key_groups import UPPER_BOUND_MAX_PARALLELISM
from firesteel.program.transformations import PartitionKind, Transformation

if TYPE_CHECKING:
    from firesteel.graph.stream_graph import StreamGraph, StreamNode


def check_acyclic(transformations: Sequence[Transformation], ordered: Collection[int]) -> None:
    """``ordered``: the ``id()`` of every transformation that a topological order could place."""
    cycle = [t for t in transformations if id(t) not in ordered]
    if cycle:
        raise ProgramError(
            "The program has a cycle: an operator is, over others, its own input.",
            detail="on the cycle or behind it: " + ", ".join(located(t.name, t.created_at) for t in cycle),
            hint="iterations are not part of the DataStream API; keep what has to come back in keyed state",
            operator=cycle[0].name,
        )


def check_source_parallelism(transformation: Transformation, limit: int) -> None:
    """A source with a limit refuses what the user asked for beyond it, rather than ignore it."""
    for option, value in (
        ("parallelism", transformation.parallelism),
        ("max parallelism", transformation.max_parallelism),
    ):
        if value is not None and value > limit:
            raise ProgramError(
                f"The source cannot be read by more than {limit} subtask{'s' if limit > 1 else ''}.",
                detail=f"its {option} was set to {value}",
                hint="leave it out, and call rebalance() behind the source to spread its records",
                operator=transformation.name,
                uid=transformation.uid,
            )


def check_parallelism(transformation: Transformation, parallelism: int, max_parallelism: int | None) -> None:
    """Bounds of both numbers; ``max_parallelism`` None: it will be computed from ``parallelism``."""
    limit = UPPER_BOUND_MAX_PARALLELISM
    for option, value in (("parallelism", parallelism), ("max parallelism", max_parallelism)):
        if value is not None and not 1 <= value <= limit:
            raise ProgramError(
                f"The {option} of an operator must be between 1 and {limit}.",
                detail=f"it is {value}",
                operator=transformation.name,
                uid=transformation.uid,
            )
    if max_parallelism is not None and parallelism > max_parallelism:
        raise ProgramError(
            "The parallelism of an operator may not exceed its max parallelism.",
            detail=f"parallelism {parallelism}, max parallelism {max_parallelism}",
            hint="lower the parallelism, or raise the max parallelism before the job has any state",
            operator=transformation.name,
            uid=transformation.uid,
        )


def validate(graph: StreamGraph) -> None:
    """Raise ProgramError for the first thing in the graph that cannot work."""
    for check in _CHECKS:
        check(graph)


def _check_unique_uids(graph: StreamGraph) -> None:
    for attribute, what in (("uid", "uid"), ("uid_hash", "uid hash")):
        users: dict[str, StreamNode] = {}
        for node in graph.nodes:
            value = getattr(node, attribute)
            if value is None:
                continue
            other = users.setdefault(value, node)
            if other is not node:
                places = [located(n.name, n.created_at) for n in (other, node)]
                raise ProgramError(
                    f"Two operators have the same {what} {value!r}; state is found by it.",
                    detail=" and ".join(places),
                    hint=f"give each operator a {what} of its own",
                    operator=node.name,
                    uid=node.uid,
                )


def _check_bounded_in_batch(graph: StreamGraph) -> None:
    if not graph.batch:
        return
    for node in graph.sources:
        if not node.bounded:
            raise ProgramError(
                "An unbounded source cannot be read in BATCH runtime mode.",
                detail="execution.runtime-mode is BATCH and the source never ends",
                hint="set execution.runtime-mode to STREAMING or AUTOMATIC, or give the source an end",
                operator=node.name,
                uid=node.uid,
            )


def _check_side_outputs(graph: StreamGraph) -> None:
    """One tag id of one operator has one type."""
    for node in graph.nodes:
        types: dict[str, object] = {}
        for edge in graph.out_edges(node.id):
            if edge.tag is None:
                continue
            type_info = edge.tag.type_info
            if types.setdefault(edge.tag.tag_id, type_info) != type_info:
                raise ProgramError(
                    f"The side output {edge.tag.tag_id!r} is used with two types.",
                    detail=f"{types[edge.tag.tag_id]} and {type_info}",
                    hint="use one OutputTag object for it",
                    operator=node.name,
                    uid=node.uid,
                )


def _check_kinds(graph: StreamGraph) -> None:
    """Every operator has the inputs and the key that its kind needs."""
    for node in graph.nodes:
        kind = node.operator_kind
        if kind is None:
            continue
        if kind.inputs != node.arity:
            raise ProgramError(
                f"A {kind.name} operator has {kind.inputs} inputs, and is given {node.arity}.",
                operator=node.name,
                uid=node.uid,
            )
        if kind.keyed and not node.keyed:
            raise ProgramError(
                f"A {kind.name} operator has keyed state, and its input is not keyed.",
                hint="call key_by(...) before it",
                operator=node.name,
                uid=node.uid,
            )


def _check_keyed_inputs(graph: StreamGraph) -> None:
    """An operator with keyed state gets its records by key, or from the same subtask when the user promises
    that the stream is keyed already (``reinterpret_as_keyed_stream``)."""
    allowed = (PartitionKind.HASH, PartitionKind.FORWARD)
    for node in graph.nodes:
        for edge in graph.in_edges(node.id):
            if node.key_selectors[edge.input_index] is not None and edge.partitioning.kind not in allowed:
                raise ProgramError(
                    "A keyed operator does not get its records by key.",
                    detail=f"its input from {graph.node(edge.source).name!r} is {edge.ship_strategy}",
                    hint="put key_by() directly before it, or give both operators the same parallelism",
                    operator=node.name,
                    uid=node.uid,
                )


def _check_broadcast_inputs(graph: StreamGraph) -> None:
    """The copies of broadcast state are the same only where every subtask sees every broadcast record."""
    for node in graph.nodes:
        kind = node.operator_kind
        if kind is None or kind.broadcast_input is None:
            continue
        for edge in graph.in_edges(node.id):
            if (
                edge.input_index == kind.broadcast_input
                and edge.partitioning.kind is not PartitionKind.BROADCAST
            ):
                raise ProgramError(
                    "The broadcast stream of an operator with broadcast state is not broadcast.",
                    detail=f"its input from {graph.node(edge.source).name!r} is {edge.ship_strategy}",
                    hint="connect to stream.broadcast(descriptor, ...)",
                    operator=node.name,
                    uid=node.uid,
                )


_CHECKS: tuple[Callable[[StreamGraph], None], ...] = (
    _check_unique_uids,
    _check_bounded_in_batch,
    _check_side_outputs,
    _check_kinds,
    _check_keyed_inputs,
    _check_broadcast_inputs,
)


def located(name: str, created_at: str | None) -> str:
    """The name of an operator and, where it is known, its place in the user's program."""
    return f"{name!r} ({created_at})" if created_at else repr(name)
