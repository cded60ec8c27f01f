"""The frame that says which task a stack is of."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from firesteel.runtime.task_name import in_task, rows_in_task, task_name


def names() -> list[str]:
    """Of the functions in the stack, the innermost first."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        found.append(frame.f_code.co_qualname)
        frame = frame.f_back  # type: ignore[assignment]
    return found


def test_work_has_the_frame_around_it() -> None:
    assert task_name("j1", 2) in in_task("j1", 2, names)
    assert task_name("j1", 2) not in names()


def test_rows_are_made_with_the_frame_around_them() -> None:
    closed = []

    def rows() -> Iterator[list[str]]:
        try:
            yield names()
            yield names()
        finally:
            closed.append(True)

    made = rows_in_task("j1", 3, rows())
    assert task_name("j1", 3) in next(made)
    made.close()  # type: ignore[attr-defined]
    assert closed == [True]
