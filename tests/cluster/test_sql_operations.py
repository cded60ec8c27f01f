"""Statements of the SQL gateway without a gateway: their states, and the pages of their results."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.cluster.sql.operations import (
    Operation,
    OperationError,
    Operations,
    Status,
    UnknownOperationError,
)
from tests.waiting import patience


class Numbers:
    """Rows that come when they are let."""

    def __init__(self, parts: list[list[int]], *, fails: bool = False) -> None:
        self._parts = parts
        self._fails = fails
        self.may_come = threading.Semaphore(0)
        self.closed = threading.Event()

    def parts(self) -> Iterator[list[int]]:
        for part in self._parts:
            while not self.may_come.acquire(timeout=0.01):
                if self.closed.is_set():
                    return
            yield part
        if self._fails:
            raise ValueError("the job has failed")

    def close(self) -> None:
        self.closed.set()


def started(rows: Numbers) -> Operation:
    operation = Operation(lambda: rows)
    operation.start()
    assert operation.wait(patience(10))
    return operation


def values(operation: Operation, token: int, patience_s: float | None = None) -> list[int]:
    page = operation.fetch(token, patience_s=patience(10) if patience_s is None else patience_s)
    assert page is not None
    return [value for part in page.parts for value in part]


def rest_of(operation: Operation, token: int) -> list[int]:
    found: list[int] = []
    while True:
        page = operation.fetch(token, patience_s=patience(10))
        assert page is not None
        found += [value for part in page.parts for value in part]
        if page.next_token is None:
            return found
        token = page.next_token


def test_pages_come_by_their_tokens_and_the_last_one_comes_again() -> None:
    rows = Numbers([[1, 2], [3]])
    operation = started(rows)
    assert operation.status is Status.FINISHED
    assert values(operation, 0, 0.05) == []  # it is accepted, and no row is there yet
    rows.may_come.release()
    assert values(operation, 1) == [1, 2]
    assert values(operation, 1) == [1, 2]
    rows.may_come.release()
    assert values(operation, 2) == [3]
    assert rest_of(operation, 3) == []
    assert operation.fetch(3).next_token is None  # type: ignore[union-attr]


@pytest.mark.parametrize(("token", "wanted"), [(5, "0"), (2, "0")])
def test_a_token_that_is_not_the_next_one_is_refused(token: int, wanted: str) -> None:
    operation = started(Numbers([[1]]))
    with pytest.raises(OperationError, match=f"Expecting token to be {wanted}, but found {token}"):
        operation.fetch(token)
    operation.fetch(0)
    with pytest.raises(OperationError, match="Expecting token to be 1 or 0, but found 7"):
        operation.fetch(7)
    operation.close()


@given(st.lists(st.lists(st.integers(), max_size=5), max_size=6), st.lists(st.booleans(), max_size=20))
@settings(max_examples=30, deadline=None)
def test_no_row_is_lost_or_comes_twice_whoever_asks_again(parts: list[list[int]], again: list[bool]) -> None:
    rows = Numbers(parts)
    for _ in parts:
        rows.may_come.release()
    operation = started(rows)
    token, found = 0, []
    repeats = iter(again)
    while True:
        page = operation.fetch(token, patience_s=patience(10))
        assert page is not None
        if next(repeats, False) and page.next_token is not None:
            assert operation.fetch(token) == page
        found += [value for part in page.parts for value in part]
        if page.next_token is None:
            break
        token = page.next_token
    assert found == [value for part in parts for value in part]


def test_a_statement_that_is_refused_says_so_whenever_it_is_asked() -> None:
    def run() -> Numbers:
        raise ValueError("no such table")

    operation = Operation(run)
    assert operation.status is Status.INITIALIZED
    operation.start()
    assert operation.wait(patience(10))
    assert operation.status is Status.ERROR
    for _ in range(2):
        with pytest.raises(ValueError, match="no such table"):
            operation.fetch(0)


def test_what_the_job_fails_with_comes_after_its_rows() -> None:
    rows = Numbers([[1]], fails=True)
    rows.may_come.release()
    operation = started(rows)
    with pytest.raises(ValueError, match="the job has failed"):
        rest_of(operation, 0)


def test_cancelling_ends_what_computes_the_rows() -> None:
    rows = Numbers([[1]])
    operation = started(rows)
    operation.cancel()
    assert operation.status is Status.CANCELED
    assert rows.closed.wait(patience(10))
    with pytest.raises(OperationError, match="in CANCELED status"):
        operation.fetch(0)


def test_a_statement_that_is_cancelled_before_it_is_accepted_is_ended_when_it_is() -> None:
    rows, may_run = Numbers([[1]]), threading.Event()

    def run() -> Numbers:
        assert may_run.wait(patience(10))
        return rows

    operation = Operation(run)
    operation.start()
    assert operation.fetch(0) is None  # it is not ready
    operation.cancel()
    may_run.set()
    assert rows.closed.wait(patience(10))
    assert operation.status is Status.CANCELED


def test_a_statement_that_takes_too_long_is_ended() -> None:
    may_run = threading.Event()

    def run() -> Numbers:
        may_run.wait(patience(10))
        return Numbers([])

    operation = Operation(run, timeout_ms=20)
    operation.start()
    assert operation.wait(patience(10))
    may_run.set()
    assert operation.status is Status.TIMEOUT


def test_an_operation_that_is_closed_is_not_known_any_more() -> None:
    operations, rows = Operations(), Numbers([[1]])
    operation = operations.start(lambda: rows)
    assert operation.wait(patience(10))
    assert operations.close(operation.id).status is Status.CLOSED
    assert rows.closed.wait(patience(10))
    with pytest.raises(UnknownOperationError, match=operation.id):
        operations.get(operation.id)


def test_a_job_waits_for_a_client_that_does_not_fetch() -> None:
    rows = Numbers([[0] * 4_000 for _ in range(5)])
    for _ in range(5):
        rows.may_come.release()
    operation = started(rows)
    assert len(values(operation, 0)) < 20_000
    assert len(rest_of(operation, 0)) == 20_000
