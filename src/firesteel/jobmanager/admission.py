"""Whether a program may run at all: what cannot be done is refused before anything of it starts."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.validation import validate
from firesteel.program.checks import check_picklable
from firesteel.program.python_settings import check_python_settings
from firesteel.state.backends import backend_of


def check_graph(graph: JobGraph, configuration: Configuration) -> None:
    """What can be known of a program and its settings.

    :raises FiresteelError: with what is wrong.
    """
    validate(graph, configuration)
    check_python_settings(configuration)
    backend_of(configuration)  # there must be one of that name


def check_functions(graph: JobGraph) -> None:
    """Functions must reach the workers."""
    for vertex in graph.vertices:
        for operator in vertex.operators:
            check_picklable(operator.node.operator, operator.node.name)
