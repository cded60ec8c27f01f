"""What is refused before Spark starts, and what is said once about settings that have no effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError, ProgramError
from firesteel.common.memory_budget import notices as memory_notices
from firesteel.common.options.checks import notices as key_notices
from firesteel.common.options.execution import BUFFER_TIMEOUT
from firesteel.common.options.firesteel import PRE_AGGREGATION
from firesteel.common.options.pipeline import AUTO_GENERATE_UIDS
from firesteel.common.options.scaling import SCHEDULER
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.stream_graph import StreamNode
from firesteel.jobmanager.checkpoints.options import checkpoint_options, interplay
from firesteel.jobmanager.pre_aggregation import without_effect
from firesteel.program.checkpointing_mode import CheckpointingMode
from firesteel.program.promises import SourcePromise
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source
from firesteel.state.backends import notices as backend_notices


def validate(graph: JobGraph, configuration: Configuration) -> None:
    """What a source or sink sees that it cannot do is refused with the operator's name, and so is an operator
    without a uid where none are generated."""
    if not configuration.get(AUTO_GENERATE_UIDS):
        _check_uids(graph)
    for vertex in graph.vertices:
        for operator in vertex.operators:
            what = operator.node.operator
            if isinstance(what, (Source, Sink)):
                _check_endpoint(what, operator.node.name)


def _check_uids(graph: JobGraph) -> None:
    for vertex in graph.vertices:
        for operator in vertex.operators:
            node = operator.node
            if node.uid is None and node.uid_hash is None:
                raise ProgramError(
                    "The operator has no uid, and uids are not generated.",
                    operator=node.name,
                    detail=f"{AUTO_GENERATE_UIDS.key} is false",
                    hint="call uid() on it",
                )


def _check_endpoint(endpoint: Source | Sink, name: str) -> None:
    try:
        endpoint.validate()
    except FiresteelError as error:
        error.operator = error.operator or name
        raise


def notices(configuration: Configuration, graph: JobGraph, obeyed: Collection[str] = ()) -> list[str]:
    """One sentence for each setting that is accepted and has no effect, or none on some operator.

    :param obeyed: options that have an effect in the mode of the job.
    """
    settings = (
        key_notices(configuration, obeyed)
        + interplay(configuration, batch=graph.batch)
        + backend_notices(configuration)
        + memory_notices(configuration)
    )
    if configuration.get(SCHEDULER) == "adaptivebatch" and graph.batch:
        settings.append(
            f"{SCHEDULER.key} adaptivebatch has no effect: a job in BATCH mode is one plan of Spark, whose "
            "subtasks are counted before there is any data; it has the parallelism of the program"
        )
    if configuration.get(PRE_AGGREGATION):
        settings += without_effect(graph)
    nodes = [operator.node for vertex in graph.vertices for operator in vertex.operators]
    settings += _not_replayable(graph, configuration)
    return settings + [notice for node in nodes for notice in _of_operator(node)]


_AFTER_A_FAILURE: Final = {
    SourcePromise.AT_LEAST_ONCE: "it may give records again that a checkpoint covers",
    SourcePromise.AT_MOST_ONCE: "what it sends while no driver listens is lost",
}


def _not_replayable(graph: JobGraph, configuration: Configuration) -> Iterator[str]:
    """Yield a sentence for each source that cannot keep what exactly-once checkpoints promise."""
    asked = checkpoint_options(configuration, batch=graph.batch)
    if asked.interval_ms is None or asked.mode is not CheckpointingMode.EXACTLY_ONCE:
        return
    for vertex in graph.vertices:
        for operator in vertex.operators:
            source = operator.node.operator
            if isinstance(source, Source) and (promise := source.promise(True)) in _AFTER_A_FAILURE:
                yield (
                    f"exactly-once is asked for, and the source {operator.node.name!r} cannot be read again: "
                    f"after a failure of the job {_AFTER_A_FAILURE[promise]} ({promise.value})"
                )


def _of_operator(node: StreamNode) -> Iterator[str]:
    kind = node.operator_kind
    for setting, why in () if kind is None else kind.without_effect(node.operator):
        yield f"{setting} has no effect on {node.name!r}: {why}"
    if node.buffer_timeout_ms is not None and node.buffer_timeout_ms >= 0:
        yield (
            f"set_buffer_timeout has no effect on {node.name!r}: all operators of a job have that of the "
            f"environment ({BUFFER_TIMEOUT.key}), in real-time mode"
        )
