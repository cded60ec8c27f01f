"""What notebooks show of streams and of what comes out of them: it starts nothing and takes nothing away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from firesteel.common import html
from firesteel.program.execution import Arriving, get_executor
from firesteel.program.transformations import VIRTUAL

if TYPE_CHECKING:
    from firesteel.datastream._data_stream import DataStream


def stream_html(stream: DataStream, *more: tuple[str, Any]) -> str:
    """Its facts, and the graph that leads to it. :param more: facts of its kind."""
    env, transformation = stream._env, stream._transformation
    named = not isinstance(transformation, VIRTUAL)
    about = html.facts(
        ("name", transformation.name if named else None),
        ("uid", transformation.uid if named else None),
        ("type", str(stream.get_type())),
        *more,
    )
    graph = html.drawn(
        lambda: html.picture(get_executor().graph_svg(env, transformation), "The graph of the stream")
    )
    return html.piece(type(stream).__name__, about, graph)


def records_html(title: str, records: Iterator[Any]) -> str:
    """The first records of a job that are still to be read; they are waited for for a while."""
    if not isinstance(records, Arriving):
        return html.piece(title)
    found = records.arrived(html.MOST_ROWS + 1, html.WAIT_S)
    shown = [html.records(found.records[: html.MOST_ROWS])] if found.records else []
    below = html.rows_note(len(found.records), found.ended, found.failure, of="record")
    return html.piece(title, *shown, below)
