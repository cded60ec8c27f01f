"""Which operators get their input aggregated before the exchange (``firesteel.window.pre-aggregation``), and
what is said of those that do not.

The function must not mind the order of its elements, nor how they are grouped; who switches the option on
says so. With floating point numbers the last digits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from firesteel.common.options.firesteel import PRE_AGGREGATION
from firesteel.graph.job_graph import JobGraph
from firesteel.program.checks import require_merge
from firesteel.program.functions.aggregates import AccumulateType, RollingAggregate
from firesteel.program.functions.base import Function
from firesteel.program.functions.salted import WindowsOfParts
from firesteel.program.operators import KeyedReduce, Window
from firesteel.program.transformations import PartitionKind
from firesteel.runtime.operators.panes import OWN_TRIGGERS, fires_by_itself
from firesteel.runtime.program import OperatorProgram, PreAggregation, VertexProgram

_BY_RECORD: Final = frozenset((AccumulateType.MIN_BY, AccumulateType.MAX_BY))


def _is_opened(function: Any) -> bool:
    return isinstance(function, Function) and type(function).open is not Function.open


_WINDOW_OBSTACLES: Final[tuple[tuple[Callable[[Window], bool], str], ...]] = (
    (
        lambda spec: spec.contents.kind == "list",
        "its function gets all elements; reduce() and aggregate() can take them aggregated",
    ),
    (lambda spec: spec.evictor is not None, "its evictor looks at all elements"),
    (
        lambda spec: type(spec.assigner) not in OWN_TRIGGERS,
        "its windows follow from more than the time of an element, unlike tumbling and sliding ones",
    ),
    (
        lambda spec: not fires_by_itself(spec),
        "its trigger is called for each element",
    ),
)
_REDUCE_OBSTACLES: Final[tuple[tuple[Callable[[KeyedReduce], bool], str], ...]] = (
    (
        lambda spec: _is_opened(spec.function),
        "its function has an open(), which the exchange cannot call",
    ),
    (
        lambda spec: isinstance(spec.function, RollingAggregate) and spec.function.kind in _BY_RECORD,
        "of equal records the first one by time comes out",
    ),
)


def obstacle(spec: Any, partitioning: PartitionKind, batch: bool) -> str | None:
    """Why the input of an operator is not aggregated before the exchange; None: it is."""
    if isinstance(spec, KeyedReduce) and not batch and not spec.newest_only:
        return "a result comes out for each element; in BATCH mode only the last one does"
    if partitioning is not PartitionKind.HASH:
        return "its input is not exchanged by key"
    obstacles: Any = _WINDOW_OBSTACLES if isinstance(spec, Window) else _REDUCE_OBSTACLES
    return next((reason for applies, reason in obstacles if applies(spec)), None)


def pre_aggregated(vertices: tuple[VertexProgram, ...], batch: bool) -> tuple[VertexProgram, ...]:
    """The same vertices, which aggregate before the exchange where they can.

    Raises ProgramError for an aggregate function that cannot merge accumulators.
    """
    by_edge: dict[int, PreAggregation] = {}
    for vertex in vertices:
        operators = {operator.uid: operator for operator in vertex.operators}
        for edge in vertex.inputs:
            operator = operators[edge.operator]
            if not isinstance(operator.spec, (Window, KeyedReduce)):
                continue
            if obstacle(operator.spec, edge.partitioning.kind, batch) is None:
                by_edge[edge.edge] = PreAggregation(operator, by_time=batch)
    receivers = {pre.operator.uid for pre in by_edge.values()}
    return tuple(
        replace(
            vertex,
            operators=tuple(_receiver(o) if o.uid in receivers else o for o in vertex.operators),
            outputs=tuple(replace(e, pre_aggregation=by_edge.get(e.edge)) for e in vertex.outputs),
        )
        for vertex in vertices
    )


def _receiver(operator: OperatorProgram) -> OperatorProgram:
    spec = operator.spec
    if not isinstance(spec, Window) or spec.contents.kind != "aggregate":
        return operator
    require_merge(
        spec.contents.function,
        operator.name,
        detail="accumulators that were made before the exchange are merged behind it",
        hint=f"write merge(), or set {PRE_AGGREGATION.key} to false",
    )
    return replace(operator, spec=replace(spec, combined=True))


def without_effect(graph: JobGraph) -> Iterator[str]:
    """One sentence for each window and reduce that the option does nothing for. Nothing is said of the second
    stage of a salted stream, whose input is aggregated by the first."""
    for vertex in graph.vertices:
        operators = {operator.operator_id: operator.node for operator in vertex.operators}
        for target in dict.fromkeys((e.target_operator, e.partitioning.kind) for e in vertex.inputs):
            node = operators[target[0]]
            if not isinstance(node.operator, (Window, KeyedReduce)):
                continue
            reason = obstacle(node.operator, target[1], graph.batch)
            if reason is not None and not _is_of_parts(node.operator):
                yield f"{PRE_AGGREGATION.key} has no effect on {node.name!r}: {reason}"


def _is_of_parts(spec: Window | KeyedReduce) -> bool:
    return isinstance(spec, Window) and isinstance(spec.assigner, WindowsOfParts)
