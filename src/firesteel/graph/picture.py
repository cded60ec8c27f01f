"""The job graph as a picture: SVG that needs nothing else, for notebooks.

As the dashboard draws it: a box for each chain with its operators and its parallelism, from the sources on
the left to the sinks on the right, and on each edge how its records find their subtask. The column of a
vertex is the length of the longest way to it. An edge over several columns has a place in each it passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape

from firesteel.common.masking import masked
from firesteel.graph.job_graph import JobEdge, JobGraph, JobVertex

__all__ = ["pictured"]

_MOST_VERTICES: Final = 60
_MOST_OPERATORS: Final = 4  # that a box names
_WIDTH: Final = 176
_GAP: Final = 92  # between columns
_BETWEEN: Final = 18  # between the boxes of a column
_MARGIN: Final = 14
_LINE: Final = 16
_LONGEST: Final = 26  # characters of a name
_LANE: Final = 10  # the height of the place of an edge that passes

_STYLE: Final = (
    "text{font:12px ui-sans-serif,system-ui,sans-serif;fill:#1d2733}svg{background:#fff}"
    ".box{fill:#eaf2fa;stroke:#2c6aa6}.edge{fill:none;stroke:#5d6977;stroke-width:1.3}"
    ".quiet{fill:#5d6977;font-size:10px}.tip{fill:#5d6977}"
    "@media (prefers-color-scheme:dark){text{fill:#e7ecf2}svg{background:#12171d}"
    ".box{fill:#18293a;stroke:#78b4ea}.edge{stroke:#9aa7b4}.quiet,.tip{fill:#9aa7b4}}"
)


@dataclass(slots=True)
class _Place:
    """Where something stands in a column; `vertex` is None for an edge that passes."""

    column: int
    height: int
    vertex: JobVertex | None = None
    top: float = 0.0

    @property
    def left(self) -> int:
        return _MARGIN + self.column * (_WIDTH + _GAP)

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def pictured(graph: JobGraph) -> str:
    """The graph, or of a very large one the first vertices."""
    vertices = graph.vertices[:_MOST_VERTICES]
    places = _in_columns(vertices)
    ways = [(edge, _way(edge, places)) for edge in graph.edges if edge.target_vertex in places]
    columns: list[list[_Place]] = [[] for _ in range(1 + max((p.column for p in places.values()), default=0))]
    for place in [*places.values(), *(passed for _, way in ways for passed in way[1:-1])]:
        columns[place.column].append(place)
    height = _arranged(columns, [way for _, way in ways])
    shapes = [_edge(edge, way) for edge, way in ways]
    shapes += [_box(place) for place in places.values()]
    width = 2 * _MARGIN + len(columns) * (_WIDTH + _GAP) - _GAP
    if len(graph.vertices) > len(vertices):
        shapes.append(_label(_MARGIN, height + 4, f"and {len(graph.vertices) - len(vertices)} more vertices"))
        height += _LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
        f'height="{height:.0f}" role="img"><title>{_text(graph.name, 200)}</title><style>{_STYLE}</style>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def _in_columns(vertices: tuple[JobVertex, ...]) -> dict[str, _Place]:
    places: dict[str, _Place] = {}
    for vertex in vertices:  # in topological order
        before = [places[e.source_vertex].column for e in vertex.inputs if e.source_vertex in places]
        lines = min(len(vertex.operators), _MOST_OPERATORS)
        places[vertex.id] = _Place(max(before, default=-1) + 1, 30 + lines * _LINE, vertex)
    return places


def _way(edge: JobEdge, places: dict[str, _Place]) -> list[_Place]:
    """The places of an edge from its source to its target, one in each column."""
    source, target = places[edge.source_vertex], places[edge.target_vertex]
    passed = [_Place(column, _LANE) for column in range(source.column + 1, target.column)]
    return [source, *passed, target]


def _arranged(columns: list[list[_Place]], ways: list[list[_Place]]) -> float:
    """Set the tops of all places, each near the middle of what leads to it; the height of the picture."""
    before: dict[int, list[_Place]] = {}
    for way in ways:
        for source, target in pairwise(way):
            before.setdefault(id(target), []).append(source)
    heights = [sum(p.height for p in column) + _BETWEEN * (len(column) - 1) for column in columns]
    most = max(heights, default=0)
    for column, height in zip(columns, heights, strict=True):
        column.sort(key=lambda p: _mean([b.middle for b in before.get(id(p), ())]))
        top = _MARGIN + (most - height) / 2
        for place in column:
            place.top = top
            top += place.height + _BETWEEN
    return most + 2 * _MARGIN


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _box(place: _Place) -> str:
    vertex = place.vertex
    assert vertex is not None
    lines = list(_lines(vertex))
    corner = f'x="{place.left}" y="{place.top:.1f}"'
    shapes = [f'<rect class="box" {corner} width="{_WIDTH}" height="{place.height}" rx="8"/>']
    y = place.top + 20
    for line in lines:
        shapes.append(f'<text x="{place.left + 10}" y="{y:.1f}">{_text(line, _LONGEST)}</text>')
        y += _LINE
    shapes.append(_label(place.left + 10, y, f"parallelism {vertex.parallelism}"))
    return f"<g><title>{_text(vertex.name, 2_000)}</title>{''.join(shapes)}</g>"


def _lines(vertex: JobVertex) -> Iterator[str]:
    """The operators of a chain, the first ones of a long one."""
    names = [operator.node.name for operator in vertex.operators]
    kept = names if len(names) <= _MOST_OPERATORS else names[: _MOST_OPERATORS - 1]
    yield from kept
    if len(kept) < len(names):
        yield f"and {len(names) - len(kept)} more"


def _edge(edge: JobEdge, way: list[_Place]) -> str:
    path = ""
    for source, target in pairwise(way):
        x1, y1 = source.left + _WIDTH, source.middle
        x2, y2 = target.left, target.middle
        bend = _GAP / 2
        begin = f"M{x1} {y1:.1f}" if not path else f"L{x1} {y1:.1f}"
        path += f"{begin}C{x1 + bend:.0f} {y1:.1f} {x2 - bend:.0f} {y2:.1f} {x2} {y2:.1f}"
    x = way[0].left + _WIDTH + _GAP / 2
    y = (way[0].middle + way[1].middle) / 2 - 5
    name = edge.ship_strategy.lower() + (f", {edge.tag_id}" if edge.tag_id else "")
    label = f'<text class="quiet" x="{x:.0f}" y="{y:.1f}" text-anchor="middle">{_text(name, 18)}</text>'
    return f'<path class="edge" marker-end="url(#tip)" d="{path}"/>{label}'


def _label(x: float, y: float, text: str) -> str:
    return f'<text class="quiet" x="{x:.1f}" y="{y:.1f}">{_text(text, 80)}</text>'


def _text(text: str, most: int) -> str:
    """A text of the program's: without secrets, cut, escaped."""
    text = masked(text)
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")
