"""Results as printed: what the client says of each kind of statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from firesteel.table._printing import Change, rows_text, write_changes, write_table
from firesteel.table._text_results import Content, TextResult

__all__ = ["INTERRUPTED", "print_result", "submitted"]

INTERRUPTED = "[INFO] Result retrieval cancelled."

Write = Callable[[str], None]


def print_result(result: TextResult, write: Write, *, time_cost: bool = False) -> None:
    """Print what a statement has given, up to its end.

    :raises KeyboardInterrupt: after a line that says how many rows were there; the job of a query has ended.
    """
    match result.content:
        case Content.OK:
            write("[INFO] Execute statement succeeded.")
        case Content.JOB:
            write(submitted(result.job_id))
        case Content.TEXT:
            for page in result.pages:
                for _, fields in page:
                    write(fields[0])
        case Content.ROWS | Content.QUERY:
            _print_rows(result, write, time_cost=time_cost)


def submitted(job_id: str | None) -> str:
    return (
        "[INFO] Submitting SQL update statement to the cluster...\n"
        "[INFO] SQL update statement has been successfully submitted to the cluster:\n"
        f"Job ID: {job_id}\n"
    )


def _print_rows(result: TextResult, write: Write, *, time_cost: bool) -> None:
    begun_s = time.monotonic()

    def cost() -> str:
        return f" ({time.monotonic() - begun_s:.2f} seconds)" if time_cost else ""

    counted = _Counted(result)
    try:
        if result.content is Content.QUERY and result.streaming:
            write_changes(counted, result.row, result.width, write, eager=True)
            write(f"Received a total of {rows_text(counted.count)}{cost()}")
        elif not write_table((fields for _, fields in counted), result.row, write):
            write(f"Empty set{cost()}")
        elif time_cost:
            write(cost().strip())
    except KeyboardInterrupt:
        result.close()
        write(f"\nQuery terminated, received a total of {rows_text(counted.count)}{cost()}")
        raise
    except BaseException:
        result.close()
        raise


class _Counted(Iterator[Change]):
    """The changes of all pages."""

    def __init__(self, result: TextResult) -> None:
        self.count = 0
        self._changes = (change for page in result.pages for change in page)

    def __next__(self) -> Change:
        found = next(self._changes)
        self.count += 1
        return found
