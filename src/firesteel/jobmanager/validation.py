"""What is refused before Spark starts, and what is said once about settings that have no effect (I6)."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.datastream._operators import TimestampsAndWatermarks
from firesteel.graph.job_graph import JobGraph


def validate(graph: JobGraph) -> None:
    """What the engine cannot do is refused with the operator's name. (Sources and sinks have checked
    themselves when the program was taken from its environment.)"""
    for vertex in graph.vertices:
        for operator in vertex.operators:
            what = operator.node.operator
            strategy = operator.node.watermark_strategy
            if isinstance(what, TimestampsAndWatermarks):
                strategy = what.strategy
            if strategy is not None and strategy.alignment is not None:
                raise UnsupportedFeatureError(
                    "Watermark alignment is not available in this version",
                    operator=operator.node.name,
                    hint="leave out with_watermark_alignment; results do not depend on it, memory may",
                )


_NO_EFFECT = {
    "execution.checkpointing.interval": "every committed epoch is a consistent cut, but none is kept after the "
    "job has ended: a job that dies with its driver starts from its sources again",
    "restart-strategy.type": "a job that fails by its own code is not restarted; an epoch that Spark could not "
    "run is run again by itself",
}


def notices(configuration: Configuration, graph: JobGraph) -> list[str]:
    """One sentence for each setting that is accepted and has no effect."""
    return [f"{key} has no effect: {why}" for key, why in _NO_EFFECT.items() if configuration.contains_key(key)]
