"""Which parallelism the vertices of a job are to have: bounds, and what is made of them.

Pure functions: whoever wants another parallelism (a user, the executors that there are, the autoscaler)
changes the bounds, and ``target`` says what follows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Protocol

from firesteel.common.errors import ConfigurationError
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.levels import plan_levels
from firesteel.graph.parallelism import forward_groups, with_parallelism
from firesteel.jobmanager.rescale_view import Bounds


class RequirementsError(ConfigurationError):
    """Requirements that a job cannot have."""


def initial(graph: JobGraph, *, reactive: bool = False) -> dict[str, Bounds]:
    """Those of a job that nobody has changed: up to what the program says.

    :param reactive: up to the max parallelism, as far as there are slots (Flink: reactive mode).
    """
    return {v.id: Bounds(1, v.max_parallelism if reactive else v.parallelism) for v in graph.vertices}


def of_all(graph: JobGraph, parallelism: int) -> dict[str, Bounds]:
    """Every vertex is to have that parallelism, as far as it may have it.

    :raises RequirementsError: none of them may.
    """
    if parallelism < 1:
        raise RequirementsError(f"The parallelism must be at least 1, not {parallelism}.")
    largest = max(vertex.max_parallelism for vertex in graph.vertices)
    if parallelism > largest:
        raise RequirementsError(
            f"The parallelism {parallelism} is higher than the max parallelism of the job, {largest}.",
            hint="set_max_parallelism(...) in the program gives it room; state that there is keeps its own",
        )
    found = {}
    for vertex in graph.vertices:
        number = min(parallelism, vertex.max_parallelism)
        found[vertex.id] = Bounds(number, number)
    return found


def check(graph: JobGraph, wanted: Mapping[str, Bounds]) -> None:
    """Refuse requirements that the job cannot have.

    :raises RequirementsError: they name other vertices than the job has, bounds that are not bounds, or
        different ones for vertices that have one parallelism.
    """
    check_bounds(graph.vertices, wanted)
    for group in forward_groups(graph):
        lower, upper = _together(wanted, group)
        if lower > upper:
            names = " and ".join(repr(graph.vertex(vertex_id).name) for vertex_id in group)
            raise RequirementsError(
                f"{names} are connected by forward edges, so they have one parallelism, and the bounds have "
                "none in common.",
                hint="give them the same bounds",
            )


class _Vertex(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def max_parallelism(self) -> int: ...


def check_bounds(vertices: Iterable[_Vertex], wanted: Mapping[str, Bounds]) -> None:
    """The part of it that needs no graph, in the words of Flink."""
    vertices = list(vertices)
    if not wanted:
        raise RequirementsError("Request body does not specify resource requirements.")
    for vertex in vertices:
        if vertex.id not in wanted:
            raise RequirementsError(
                f"The request is incomplete, missing job vertex [{vertex.id}] resource requirements."
            )
        _check_bounds(vertex, wanted[vertex.id])
    known = {vertex.id for vertex in vertices}
    for vertex_id in wanted:
        if vertex_id not in known:
            raise RequirementsError(f"Job vertex [{vertex_id}] was not found in the JobGraph.")


def _check_bounds(vertex: _Vertex, bounds: Bounds) -> None:
    lower, upper = bounds.lower, bounds.upper
    asked = f"The requested lower bound [{lower}] for job vertex [{vertex.id}]"
    if lower < 1:
        raise RequirementsError(f"{asked} must be at least 1.")
    if lower > upper:
        raise RequirementsError(f"{asked} is higher than the upper bound [{upper}].")
    if upper > vertex.max_parallelism:
        raise RequirementsError(
            f"The newly requested parallelism [{upper}] for job vertex [{vertex.id}] exceeds its maximum "
            f"parallelism [{vertex.max_parallelism}]."
        )


def _together(wanted: Mapping[str, Bounds], group: list[str]) -> tuple[int, int]:
    return max(wanted[v].lower for v in group), min(wanted[v].upper for v in group)


def target(
    graph: JobGraph, wanted: Mapping[str, Bounds], slots: int | None, *, all_at_once: bool = False
) -> dict[str, int]:
    """The parallelism of each vertex: as much as the bounds allow, and the slots.

    :param slots: how many there are; None: that does not matter, as in epochs, where subtasks share the
        cores by time.
    :param all_at_once: all levels need slots at the same time, as in real time.
    :raises RequirementsError: there are fewer slots than the lower bounds need.
    """
    groups = forward_groups(graph)
    bounds = {v: _together(wanted, group) for group in groups for v in group}
    highest = max(upper for _, upper in bounds.values())
    if slots is None:
        return _at_most(bounds, highest)

    def needed(cap: int) -> int:  # never less for a higher cap
        return _slots_of(graph, _at_most(bounds, cap), all_at_once=all_at_once)

    cap = bisect_right(range(1, highest + 1), slots, key=needed)
    if cap:
        return _at_most(bounds, cap)
    raise RequirementsError(
        f"The lower bounds need {needed(1)} slots, and there are {slots}.",
        hint="lower the lower bounds, or add executors",
    )


def _at_most(bounds: Mapping[str, tuple[int, int]], cap: int) -> dict[str, int]:
    return {v: max(lower, min(upper, cap)) for v, (lower, upper) in bounds.items()}


def _slots_of(graph: JobGraph, wanted: Mapping[str, int], *, all_at_once: bool) -> int:
    changed = with_parallelism(graph, wanted)
    if all_at_once:
        return plan_levels(changed).subtasks
    return changed.required_slots
