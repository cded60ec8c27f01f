"""What notebooks show of tables and of results. Showing runs no query and takes no row away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.common import html
from firesteel.common.columns import Columns
from firesteel.program.execution import Arriving
from firesteel.sql import logical as l, types as t
from firesteel.table._explaining import explain
from firesteel.table._printing import changes
from firesteel.table._streams import CollectionTable

__all__ = ["result_html", "table_html"]


def table_html(session: Any, node: l.Node, zone: str, null: str = "<NULL>") -> str:
    """The first rows of a table that is a collection, of another one the columns, and how it is computed."""
    collection = node.table.stream if isinstance(node, l.Scan) else None
    if isinstance(collection, CollectionTable):
        source = collection.source
        rows = [fields for _, fields in changes(source.first(html.MOST_ROWS), node.row, zone, null)]
        return html.piece("Table", html.table(node.row.names, rows), html.rows_note(source.count, True))
    columns = [(field.name, field.data_type.text()) for field in node.row.fields]
    plan = html.drawn(lambda: html.preformatted(explain(session, [node])))
    return html.piece(
        "Table",
        html.table(["column", "type"], columns),
        html.note("execute() runs the query and gives its rows."),
        html.folded("How it is computed", plan),
    )


def result_html(
    parts: Iterator[Columns], row: t.RowType, streaming: bool, zone: str, plain: bool, null: str
) -> str:
    """The first rows that are still to be read; those of a job are waited for for a while.

    :param streaming: rows are shown with their kinds, as the changes that they are.
    :param plain: the result is one text. :param null: what stands for NULL.
    """
    if not isinstance(parts, Arriving):
        return html.piece("Result")
    found = parts.arrived(html.MOST_ROWS + 1, html.WAIT_S)
    count = sum(map(len, found.records))
    rows = [change for part in found.records for change in changes(part[: html.MOST_ROWS], row, zone, null)]
    below = html.rows_note(count, found.ended, found.failure)
    if plain and rows:
        return html.piece("Result", html.preformatted(rows[0][1][0]))
    names = ["op", *row.names] if streaming else list(row.names)
    shown = html.table(names, ([kind, *fields] if streaming else fields for kind, fields in rows))
    return html.piece("Result", shown, below)
