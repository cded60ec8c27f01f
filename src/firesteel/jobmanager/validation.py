"""What is refused before Spark starts, and what is said once about settings that have no effect (I6)."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError
from firesteel.connectors.base import Sink, Source
from firesteel.datastream._operators import TimestampsAndWatermarks
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.options import PRE_AGGREGATION
from firesteel.jobmanager.pre_aggregation import without_effect


def validate(graph: JobGraph) -> None:
    """What a source or sink sees that it cannot do is refused with the operator's name."""
    for vertex in graph.vertices:
        for operator in vertex.operators:
            what = operator.node.operator
            if isinstance(what, (Source, Sink)):
                _check_endpoint(what, operator.node.name)


def _check_endpoint(endpoint: Source | Sink, name: str) -> None:
    try:
        endpoint.validate()
    except FiresteelError as error:
        error.operator = error.operator or name
        raise


_NO_EFFECT = {
    "execution.checkpointing.interval": "every committed epoch is a consistent cut, but none is kept after "
    "the job has ended: a job that dies with its driver starts from its sources again",
    "restart-strategy.type": "a job that fails by its own code is not restarted; an epoch that Spark could "
    "not run is run again by itself",
}


def notices(configuration: Configuration, graph: JobGraph) -> list[str]:
    """One sentence for each setting that is accepted and has no effect, or none on some operator."""
    settings = [
        f"{key} has no effect: {why}" for key, why in _NO_EFFECT.items() if configuration.contains_key(key)
    ]
    if configuration.get_boolean(PRE_AGGREGATION, False):
        settings += without_effect(graph)
    return settings + [
        f"with_watermark_alignment has no effect on {operator.node.name!r}: only sources can wait for each "
        "other; give the strategy to from_source"
        for vertex in graph.vertices
        for operator in vertex.operators
        if isinstance(what := operator.node.operator, TimestampsAndWatermarks)
        and what.strategy.alignment is not None
    ]
