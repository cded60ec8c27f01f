"""What is done in threads comes as without them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from firesteel.connectors._read_ahead import ReadAhead
from tests.waiting import patience


def counted(taken: list[int], last: int = 5) -> Iterator[Callable[[], int]]:
    for number in range(last):
        taken.append(number)
        yield partial(int, number)


def test_all_results_come_in_order_two_ahead() -> None:
    ahead, taken = ReadAhead(), []
    found = []
    for number in ahead.of(counted(taken)):
        found.append(number)
        assert len(taken) <= number + 3
    assert found == list(range(5))
    assert list(ahead.of(iter(()))) == []
    ahead.close()


def test_the_first_to_be_done_is_not_the_first_to_come() -> None:
    third_is_done = threading.Event()

    def third() -> int:
        third_is_done.set()
        return 3

    works: list[Callable[[], Any]] = [lambda: 1, lambda: third_is_done.wait(patience(10)) and 2, third]
    ahead = ReadAhead()
    assert list(ahead.of(iter(works))) == [1, 2, 3]
    ahead.close()


def test_works_are_done_while_a_result_is_used() -> None:
    done = [threading.Event(), threading.Event()]
    ahead = ReadAhead()
    with closing(ahead.of(iter([lambda: None, *(event.set for event in done)]))) as found:
        next(found)
        assert all(event.wait(patience(10)) for event in done)
        assert len(list(found)) == 2
    ahead.close()


def failing() -> int:
    raise ValueError("the second")


def takes_one() -> Iterator[Callable[[], int]]:
    yield lambda: 1
    raise ValueError("the second")


@pytest.mark.parametrize("works", [lambda: iter([lambda: 1, failing, lambda: 3]), takes_one])
def test_an_error_comes_where_its_result_would_be(works: Callable[[], Iterator[Callable[[], int]]]) -> None:
    ahead = ReadAhead()
    with closing(ahead.of(works())) as found:
        assert next(found) == 1
        with pytest.raises(ValueError, match="the second"):
            next(found)
    ahead.close()


@pytest.mark.parametrize("where", ["taken", "done"])
def test_nobody_uses_what_is_read_once_it_is_closed(where: str) -> None:
    """Else a file would be read by two threads, or after it was closed."""
    begun, goes_on, in_use = threading.Event(), threading.Event(), threading.Event()

    def use() -> None:
        in_use.set()
        begun.set()
        goes_on.wait(patience(10))
        in_use.clear()

    def taken() -> Iterator[Callable[[], object]]:
        yield lambda: 1
        use()
        yield lambda: 2

    ahead = ReadAhead()
    found = ahead.of(taken() if where == "taken" else iter([lambda: 1, use, lambda: 3]))
    assert next(found) == 1
    assert begun.wait(patience(10))
    threading.Timer(0.2, goes_on.set).start()
    found.close()
    assert not in_use.is_set()
    ahead.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("firesteel-read-ahead")]
