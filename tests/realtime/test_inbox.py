"""The rows of a task, taken with a time limit."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from firesteel.runtime.inbox import Inbox, InboxEnded
from firesteel.runtime.wire import RowKind, WireRow


def row(number: int) -> WireRow:
    return WireRow(0, number, 0, RowKind.DATA, b"")


def test_rows_come_in_their_order_and_then_the_end() -> None:
    inbox = Inbox(row(i) for i in range(1_000))
    taken = [inbox.take(10_000) for _ in range(1_000)]
    assert taken == [row(i) for i in range(1_000)]
    for _ in range(2):  # it stays ended
        with pytest.raises(InboxEnded):
            inbox.take(10_000)


def test_a_row_that_does_not_come_is_none() -> None:
    may_end = threading.Event()

    def rows() -> Iterator[WireRow]:
        may_end.wait(30)
        yield row(1)

    inbox = Inbox(rows())
    assert inbox.take(0) is None
    assert inbox.take(5) is None
    may_end.set()
    assert inbox.take(10_000) == row(1)


def test_what_reading_raises_is_raised_behind_the_rows() -> None:
    def rows() -> Iterator[WireRow]:
        yield row(1)
        raise OSError("gone")

    inbox = Inbox(rows())
    assert inbox.take(10_000) == row(1)
    with pytest.raises(OSError, match="gone"):
        inbox.take(10_000)


def test_who_is_not_read_from_has_to_wait() -> None:
    given: list[int] = []

    def rows() -> Iterator[WireRow]:
        for i in range(10_000):
            given.append(i)
            yield row(i)

    inbox = Inbox(rows())
    assert inbox.take(10_000) == row(0)
    for _ in range(200):
        threading.Event().wait(0.005)
        if len(given) >= 33:
            break
    assert len(given) <= 40
    inbox.close()
