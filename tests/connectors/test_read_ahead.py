"""Elements that are made in a thread come as without it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from firesteel.connectors._read_ahead import ReadAhead
from tests.waiting import patience


def counted(made: list[int], last: int = 5) -> Iterator[int]:
    for number in range(last):
        made.append(number)
        yield number


def test_all_elements_come_in_order_one_ahead() -> None:
    ahead, made = ReadAhead(), []
    found = []
    for number in ahead.of(counted(made)):
        found.append(number)
        assert len(made) <= number + 2
    assert found == list(range(5))
    assert list(ahead.of(iter(()))) == []
    ahead.close()


def test_an_element_is_made_while_the_one_before_is_used() -> None:
    second_is_made = threading.Event()

    def elements() -> Iterator[int]:
        yield 1
        second_is_made.set()
        yield 2

    ahead = ReadAhead()
    with closing(ahead.of(elements())) as found:
        assert next(found) == 1
        assert second_is_made.wait(patience(10))
        assert list(found) == [2]
    ahead.close()


def test_an_error_comes_where_its_element_would_be() -> None:
    def elements() -> Iterator[int]:
        yield 1
        raise ValueError("the second")

    ahead = ReadAhead()
    with closing(ahead.of(elements())) as found:
        assert next(found) == 1
        with pytest.raises(ValueError, match="the second"):
            next(found)
    ahead.close()


def test_nobody_uses_what_is_read_once_it_is_closed() -> None:
    """Else a file would be read by two threads, or after it was closed."""
    begun, goes_on, in_use = threading.Event(), threading.Event(), threading.Event()

    def elements() -> Iterator[int]:
        yield 1
        in_use.set()
        begun.set()
        goes_on.wait(patience(10))
        in_use.clear()
        yield 2

    ahead = ReadAhead()
    found = ahead.of(elements())
    assert next(found) == 1
    assert begun.wait(patience(10))
    threading.Timer(0.2, goes_on.set).start()
    found.close()
    assert not in_use.is_set()
    ahead.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("firesteel-read-ahead")]
