"""Levels: how any acyclic job becomes one linear Spark plan.

The level of a vertex is the number of exchanges on the longest way to it. All vertices of a level run in one
Spark stage, and partition *i* of the stage hosts subtask *i* of each of them. A FORWARD edge is not an
exchange: it does not raise the level.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from firesteel.graph.job_graph import JobEdge, JobGraph, JobVertex


class RouteKind(enum.Enum):
    """How the buffers of an edge get to their consumer."""

    LOCAL = "LOCAL"  # FORWARD inside a level: handed over in the same task
    EXCHANGE = "EXCHANGE"  # through Spark exchanges, to the subtask that the partitioner names
    CARRIED = "CARRIED"  # FORWARD to a later level: through Spark exchanges, to the own subtask


@dataclass(frozen=True, slots=True)
class Route:
    edge: JobEdge
    kind: RouteKind
    source_level: int
    target_level: int

    @property
    def spark_exchange(self) -> bool:
        """Whether the records of the edge go through a Spark exchange."""
        return self.kind is not RouteKind.LOCAL


@dataclass(frozen=True, slots=True)
class Level:
    """``vertices`` in topological order, forward edges inside the level included. ``parallelism`` is how many
    tasks have subtasks. ``passing`` are routes from an earlier to a later level; ``tasks`` are as many as its
    subtasks where that is more: rows for many subtasks would all pass through the only one of this level."""

    index: int
    parallelism: int
    tasks: int
    vertices: tuple[JobVertex, ...]
    local: tuple[Route, ...]
    incoming: tuple[Route, ...]
    outgoing: tuple[Route, ...]
    passing: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """``levels`` in order, ``routes`` in the order of the job's edges (so ``routes[edge.id]``)."""

    levels: tuple[Level, ...]
    routes: tuple[Route, ...]
    _level_of: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        level_of = {vertex.id: level.index for level in self.levels for vertex in level.vertices}
        object.__setattr__(self, "_level_of", level_of)

    def level_of(self, vertex_id: str) -> int:
        return self._level_of[vertex_id]

    @property
    def vertices(self) -> tuple[JobVertex, ...]:
        """All vertices by level, then topologically."""
        return tuple(vertex for level in self.levels for vertex in level.vertices)

    @property
    def subtasks(self) -> int:
        """Of all levels together."""
        return sum(level.parallelism for level in self.levels)

    @property
    def exchanges(self) -> int:
        """The number of Spark exchanges of one epoch: one between each two levels."""
        return len(self.levels) - 1


def plan_levels(graph: JobGraph) -> LevelPlan:
    """The levels of a job and the way of each of its edges."""
    level_of: dict[str, int] = {}
    for vertex in graph.vertices:
        level_of[vertex.id] = max(
            (level_of[edge.source_vertex] + (0 if edge.forward else 1) for edge in vertex.inputs), default=0
        )
    routes = tuple(_route(edge, level_of) for edge in graph.edges)
    by_level: list[list[JobVertex]] = [[] for _ in range(max(level_of.values()) + 1)]
    for vertex in graph.vertices:
        by_level[level_of[vertex.id]].append(vertex)
    widths = {vertex.id: vertex.parallelism for vertex in graph.vertices}
    levels = tuple(_level(index, vertices, routes, widths) for index, vertices in enumerate(by_level))
    return LevelPlan(levels, routes)


def _route(edge: JobEdge, level_of: Mapping[str, int]) -> Route:
    source, target = level_of[edge.source_vertex], level_of[edge.target_vertex]
    if not edge.forward:
        kind = RouteKind.EXCHANGE
    else:
        kind = RouteKind.LOCAL if source == target else RouteKind.CARRIED
    return Route(edge, kind, source, target)


def _level(
    index: int, vertices: list[JobVertex], routes: tuple[Route, ...], widths: Mapping[str, int]
) -> Level:
    """:param widths: the parallelism of each vertex."""
    local = tuple(r for r in routes if r.kind is RouteKind.LOCAL and r.source_level == index)
    exchanged = [r for r in routes if r.spark_exchange]
    passing = tuple(r for r in exchanged if r.source_level < index < r.target_level)
    parallelism = max(vertex.parallelism for vertex in vertices)
    return Level(
        index=index,
        parallelism=parallelism,
        tasks=max([parallelism, *(widths[r.edge.target_vertex] for r in passing)]),
        vertices=tuple(vertices),  # in the order of the job graph, which is topological
        local=local,
        incoming=tuple(r for r in exchanged if r.target_level == index),
        outgoing=tuple(r for r in exchanged if r.source_level == index),
        passing=passing,
    )
