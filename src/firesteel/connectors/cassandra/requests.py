"""Writes rows to a cluster with concurrent requests, one row each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConnectorError
from firesteel.connectors.cassandra.client import Connection, said
from firesteel.connectors.cassandra.columns import binder

#: Concurrent requests of a writer if the program sets no limit; a connection supports 32,768.
_USUAL_REQUESTS: Final = 512

OnFailure = Callable[[Exception], None]


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """:param max_concurrent: None: as many as suit one connection.
    :param patience_ms: how long a row may wait for its turn; None: no limit.
    """

    max_concurrent: int | None = None
    patience_ms: int | None = None


class Requests:
    """Executes a statement for each row. The cluster orders writes to the same row by timestamps, which the
    driver assigns in the order of the calls. So the later of two rows with the same key wins.

    :param on_failure: called with the driver's exception for a row; if it does not raise, the row is ignored.
    :param nothing: the value to bind instead of None.
    """

    def __init__(
        self,
        connection: Connection,
        query: str,
        types: Sequence[Any],
        options: RequestOptions,
        on_failure: OnFailure,
        nothing: Any = None,
    ) -> None:
        self._session = connection.session
        self._statement = connection.prepare(query)
        self._bind = binder(types, self._statement)
        self._limit = options.max_concurrent or _USUAL_REQUESTS
        self._patience_ms = options.patience_ms
        self._on_failure = on_failure
        self._nothing = nothing
        self._changed = threading.Condition()
        self._pending = 0
        self._failures: list[tuple[Exception, tuple[Any, ...]]] = []

    def send(self, rows: Sequence[Any]) -> None:
        """Return when all rows have been sent. Raises for earlier failed rows, too."""
        for parameters in self._bind(rows):  # hot
            self._await_turn()
            try:
                future = self._session.execute_async(self._statement, self._filled(parameters))
            except (TypeError, ValueError) as error:
                raise _refused(error, parameters) from error  # it does not reach the cluster
            future.add_callbacks(self._done, self._failed, errback_args=(parameters,))
        self._check()

    def _filled(self, parameters: tuple[Any, ...]) -> Sequence[Any]:
        nothing = self._nothing
        return parameters if nothing is None else [nothing if v is None else v for v in parameters]

    def finish(self) -> None:
        """Return when every row has been written or has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending == 0)  # each request has its own timeout
        self._check()

    def _await_turn(self) -> None:
        patience_s = None if self._patience_ms is None else self._patience_ms / 1000
        with self._changed:
            if not self._changed.wait_for(lambda: self._pending < self._limit, patience_s):
                raise ConnectorError(
                    f"A row has waited for {self._patience_ms} ms and cannot be sent to Cassandra.",
                    detail=f"{self._pending} requests, as many as there may be at once, have no answer",
                    hint="allow more at once or more time: set_max_concurrent_requests()",
                )
            self._pending += 1

    def _done(self, _result: Any) -> None:
        with self._changed:
            self._pending -= 1
            self._changed.notify()

    def _failed(self, error: Exception, parameters: tuple[Any, ...]) -> None:
        self._failures.append((error, parameters))
        self._done(None)

    def _check(self) -> None:
        while self._failures:
            error, parameters = self._failures.pop(0)
            try:
                self._on_failure(error)
            except Exception as raised:
                if raised is not error:
                    raise
                raise _refused(error, parameters) from error


def _refused(error: Exception, parameters: tuple[Any, ...]) -> ConnectorError:
    return ConnectorError(
        "Cassandra does not take a row.",
        detail=f"{type(error).__name__}: {said(error)}; the row: {parameters!r:.300}",
    )


def fail(error: Exception) -> None:
    """Fail the job on every failure."""
    raise error
