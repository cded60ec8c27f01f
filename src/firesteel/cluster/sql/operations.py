"""Statements that run: their states, and their results page by page (Flink: ``OperationManager``)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from firesteel.common.errors import FiresteelError

__all__ = ["Operation", "OperationError", "Operations", "Page", "Rows", "Status", "UnknownOperationError"]

_BUFFERED: Final = 5_000  # rows, before the job waits for the client (Flink: the same)
_PATIENCE_S: Final = 0.2  # how long a request waits for the first row: clients ask again and again


class Status(Enum):
    """Where an operation is; those of ``ENDED`` it does not leave, except to be closed."""

    INITIALIZED = "INITIALIZED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    CLOSED = "CLOSED"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"


ENDED: Final = frozenset((Status.FINISHED, Status.CANCELED, Status.CLOSED, Status.ERROR, Status.TIMEOUT))


class OperationError(FiresteelError):
    """What is asked of an operation that cannot give it."""


class UnknownOperationError(OperationError):
    """There is no operation of this id."""


class Rows(Protocol):
    """What a statement has given."""

    def parts(self) -> Iterator[Sized]:
        """The rows as they come."""

    def close(self) -> None:
        """End what computes the rows."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a result. :param next_token: None: there are no more."""

    rows: Rows
    parts: Sequence[Any]
    next_token: int | None


class Operation:
    """One statement. Any thread may call its methods.

    :param run: runs the statement, and gives its rows.
    :param timeout_ms: after which it is ended; 0: never.
    """

    def __init__(self, run: Callable[[], Rows], timeout_ms: int = 0) -> None:
        self.id = str(uuid.uuid4())
        self._run = run
        self._timeout_ms = timeout_ms
        self._changed = threading.Condition()
        self._status = Status.INITIALIZED
        self._error: BaseException | None = None
        self._rows: Rows | None = None
        self._buffer: list[Sized] = []
        self._complete = False  # no rows come any more
        self._failure: BaseException | None = None  # of the job, after the statement was accepted
        self._token = 0
        self._previous: list[Sized] = []
        self._at_end = False
        self._timer: threading.Timer | None = None

    @property
    def status(self) -> Status:
        return self._status

    def start(self) -> None:
        self._turn_to(Status.PENDING)
        threading.Thread(target=self._work, daemon=True, name=f"firesteel-sql-{self.id[:8]}").start()
        if self._timeout_ms > 0:
            self._timer = threading.Timer(self._timeout_ms / 1000, self._end, (Status.TIMEOUT,))
            self._timer.daemon = True
            self._timer.start()

    def cancel(self) -> None:
        self._end(Status.CANCELED)

    def close(self) -> None:
        """End it; what was fetched cannot be fetched again."""
        self._end(Status.CLOSED)
        with self._changed:
            self._status = Status.CLOSED

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the statement is accepted, has failed or was ended; whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._status in ENDED, timeout_s)

    def check(self) -> None:
        """Raise what the statement has failed with."""
        if self._error is not None:
            raise self._error

    # ---- running it

    def _work(self) -> None:
        if not self._turn_to(Status.RUNNING):
            return
        try:
            rows = self._run()
        except BaseException as error:
            self._error = error
            self._turn_to(Status.ERROR)
            return
        with self._changed:
            self._rows = rows
        if not self._turn_to(Status.FINISHED):  # it was ended meanwhile
            rows.close()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._read(rows)

    def _read(self, rows: Rows) -> None:
        try:
            for part in rows.parts():
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting() < _BUFFERED or self._is_ended_early())
                    if self._is_ended_early():
                        return
                    self._buffer.append(part)
                    self._changed.notify_all()
        except BaseException as error:
            self._failure = error
        finally:
            with self._changed:
                self._complete = True
                self._changed.notify_all()

    def _waiting(self) -> int:
        """How many rows nobody has fetched yet."""
        return sum(map(len, self._buffer))

    def _is_ended_early(self) -> bool:
        return self._status in (Status.CANCELED, Status.CLOSED, Status.TIMEOUT)

    def _turn_to(self, status: Status) -> bool:
        """Whether it was still on its way."""
        with self._changed:
            if self._status in ENDED:
                return False
            self._status = status
            self._changed.notify_all()
            return True

    def _end(self, status: Status) -> None:
        """End it whatever it does. Of a result that is complete nothing is left to be ended."""
        with self._changed:
            going_on = self._status not in ENDED or (self._status is Status.FINISHED and not self._complete)
            if going_on:
                self._status = status
            rows = self._rows
            self._changed.notify_all()
        if self._timer is not None and status is not Status.TIMEOUT:
            self._timer.cancel()
        if going_on and rows is not None:
            rows.close()

    # ---- its result

    def fetch(self, token: int, patience_s: float = _PATIENCE_S) -> Page | None:
        """The page of a token: the next one, or the one before it once more. None: it is not ready.

        :raises OperationError: there is no such page, or the operation was ended. What the statement, or its
            job, has failed with is raised as well.
        """
        with self._changed:
            self.check()
            if self._status in (Status.INITIALIZED, Status.PENDING, Status.RUNNING):
                return None
            if self._status is not Status.FINISHED or self._rows is None:
                raise OperationError(
                    f"Can not fetch results from the {self.id} in {self._status.value} status."
                )
            rows = self._rows
            if token == self._token - 1 and token >= 0:
                return Page(rows, self._previous, self._token)
            if token != self._token:
                raise OperationError(self._wrong(token))
            if self._at_end:
                return Page(rows, [], None)
            self._changed.wait_for(lambda: self._buffer or self._complete, patience_s)
            if not self._buffer and self._complete:
                if self._failure is not None:
                    raise self._failure
                self._at_end = True
                self._previous = []
                return Page(rows, [], None)
            self._previous, self._buffer = self._buffer, []
            self._token += 1
            self._changed.notify_all()
            return Page(rows, self._previous, self._token)

    def _wrong(self, token: int) -> str:
        wanted = f"{self._token} or {self._token - 1}" if self._token else "0"
        return f"Expecting token to be {wanted}, but found {token}."


class Operations:
    """Those of a session."""

    def __init__(self) -> None:
        self._known: dict[str, Operation] = {}

    def start(self, run: Callable[[], Rows], timeout_ms: int = 0) -> Operation:
        operation = Operation(run, timeout_ms)
        self._known[operation.id] = operation
        operation.start()
        return operation

    def get(self, operation_id: str) -> Operation:
        """Raises UnknownOperationError."""
        found = self._known.get(operation_id)
        if found is None:
            raise UnknownOperationError(
                f"Can not find the submitted operation in the OperationManager with the {operation_id}."
            )
        return found

    def close(self, operation_id: str) -> Operation:
        found = self.get(operation_id)
        found.close()
        del self._known[operation_id]
        return found

    def close_all(self) -> None:
        for operation_id in list(self._known):
            self.close(operation_id)
