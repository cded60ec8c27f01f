"""Results as a client shows them: what kind of statement it was, and its rows as texts, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from firesteel.sql import types as t
from firesteel.table._printing import Change, changes
from firesteel.table.result_kind import ResultKind
from firesteel.table.table_result import TableResult

__all__ = ["Content", "TextResult", "text_result"]

NULL = "<NULL>"


class Content(Enum):
    """What a statement gives."""

    OK = "ok"  # nothing: it has been done
    ROWS = "rows"  # the answer of SHOW and the like
    TEXT = "text"  # one text, such as a plan
    JOB = "job"  # a job that writes
    QUERY = "query"  # the rows of a job


@dataclass(frozen=True)
class TextResult:
    """
    :param pages: the changes as they come; a page may have none.
    :param streaming: the changes have a meaning of their own; else all rows are inserted.
    :param width: the widest column whose type has no width.
    :param close: ends the job of a query.
    """

    content: Content
    row: t.RowType
    pages: Iterator[list[Change]]
    streaming: bool = False
    width: int = 30
    job_id: str | None = None
    close: Callable[[], None] = lambda: None


def text_result(result: TableResult) -> TextResult:
    """:param result: nobody else may read its rows."""
    client = result.get_job_client()
    content = _content(result)
    null = result._null

    def pages() -> Iterator[list[Change]]:
        for part in result._parts:
            yield list(changes(part, result._row, result._zone, null))

    return TextResult(
        content,
        result._row,
        pages(),
        result._streaming,
        result._width,
        None if client is None else str(client.get_job_id()),
        result.collect().close,
    )


def _content(result: TableResult) -> Content:
    if result.get_result_kind() is ResultKind.SUCCESS:
        return Content.OK
    if result._is_count():
        return Content.JOB
    if result.get_job_client() is not None:
        return Content.QUERY
    return Content.TEXT if result._plain else Content.ROWS
