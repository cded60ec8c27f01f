"""Sink functions that write in transactions of the target (Flink: ``TwoPhaseCommitSinkFunction``)."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import cloudpickle

from firesteel.common.errors import ProgramError
from firesteel.common.logs import logger
from firesteel.common.typeinfo import TypeInformation
from firesteel.program.functions.legacy_connectors import SinkFunction
from firesteel.program.sinks import (
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    ElementContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from firesteel.storage.records import record

log = logger(__name__)


class TwoPhaseCommitSinkFunction(SinkFunction):
    """A sink for ``add_sink`` whose records become visible exactly once, by transactions of the target.

    Each subtask writes the records of an epoch in a transaction of its own. ``begin_transaction``,
    ``invoke``, ``pre_commit`` and ``abort`` run in the task, ``commit`` and the methods of recovery in the
    driver, which has a copy of the function to itself; in both places they are framed by ``open`` and
    ``close``, in the task for each epoch. Whatever connects the two is in the transaction object, which is
    pickled, kept in checkpoints, and may come to another driver after weeks: a name in the target, not a
    connection.

    What the target shows of a transaction before its commit is for its isolation to say. What is staged must
    outlive the connection that staged it, and do no harm when nobody ever commits it.

    A target that gives transactions up after some time loses what they hold. ``set_transaction_timeout`` says
    after how long; by itself that does nothing but let the two methods behind it work.
    """

    _names: WriterContext | CommitterContext
    _timeout_ms: int | None = None
    _ignores_late_failures: bool = False
    _warning_ratio: float | None = None

    def set_transaction_timeout(self, transaction_timeout: int) -> Self:
        """How many milliseconds after its begin the target gives a transaction up."""
        if transaction_timeout <= 0:
            raise ProgramError(f"a transaction timeout is some milliseconds, not {transaction_timeout}")
        self._timeout_ms = transaction_timeout
        return self

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Let the job go on when ``recover_and_commit`` fails for a transaction that is older than the
        timeout: it is lost, and the log says so. Else the job fails, after each restart again."""
        self._ignores_late_failures = True
        return self

    def enable_transaction_timeout_warnings(self, warning_ratio: float) -> Self:
        """Warn at the commit of a transaction that was open for more than this part of the timeout."""
        if not 0 <= warning_ratio <= 1:
            raise ProgramError(f"the warning ratio must be in the range [0, 1], not {warning_ratio}")
        self._warning_ratio = warning_ratio
        return self

    def get_transaction_id(self) -> str:
        """In the task: a name for the transaction of this subtask and epoch. All attempts of the task have
        the same one, two at once perhaps. So make the hash of what is staged part of the name, or stage it in
        one step in which the later attempt replaces what the earlier has staged."""
        assert isinstance(self._names, WriterContext), "transactions are begun in tasks"
        return self._names.transaction_id

    def get_transaction_prefix(self) -> str:
        """In the driver: what the names of all transactions of this sink in this job begin with."""
        assert isinstance(self._names, CommitterContext), "transactions are recovered in the driver"
        return self._names.transaction_prefix

    @abstractmethod
    def begin_transaction(self) -> Any:
        """A new transaction: any picklable object. Called when the first record of an epoch comes."""

    @abstractmethod
    def invoke(  # type: ignore[override]  # as in Flink: the transaction comes with each record
        self, transaction: Any, value: Any, context: ElementContext
    ) -> None:
        """Write one record in the transaction."""

    @abstractmethod
    def pre_commit(self, transaction: Any) -> None:
        """Flush: after it nothing may keep ``commit`` from succeeding but an outage of the target. The
        transaction is pickled as it is then."""

    @abstractmethod
    def commit(self, transaction: Any) -> None:
        """Make the transaction visible. Called when a checkpoint (without checkpoints: the epoch) covers it,
        and again after a failure, so committing a transaction twice must not be an error. An exception fails
        the job, which commits the transaction again after it is restored."""

    @abstractmethod
    def abort(self, transaction: Any) -> None:
        """The attempt failed: roll back. Best effort: a process that was killed does not call it."""

    def recover_and_commit(self, transaction: Any) -> None:
        """Commit a transaction of the checkpoint that the job goes on from; it may be committed already."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: Any) -> None:
        """Roll back a transaction that was pre-committed after the checkpoint that the job goes back to: its
        records come again. A driver does not know those of the driver before it."""
        self.abort(transaction)

    def finish_recovering_context(self, handled_transactions: Collection[Any]) -> None:
        """Called when the job begins or goes back to a checkpoint, before anything is committed, behind an
        epoch whose tasks Spark has run again, and when the job has ended normally: ``handled_transactions``
        are those that will be committed or were aborted. Any other whose name begins with
        ``get_transaction_prefix()`` was left by a task or a driver that was lost, and may be removed."""

    def to_sink(self, type_info: TypeInformation | None) -> Sink:
        return TwoPhaseCommitSink(self)


@dataclass(frozen=True, slots=True)
class TwoPhaseCommitSink(Sink):
    """Transactions are the committables."""

    function: TwoPhaseCommitSinkFunction

    @property
    def description(self) -> str:
        return type(self.function).__name__

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _TransactionWriter(self.function, context)

    def create_committer(self, context: CommitterContext) -> Committer:
        # A copy: the program's own object must stay as it is, it may be shipped again.
        return _TransactionCommitter(pickle.loads(cloudpickle.dumps(self.function)), context)


@record("begun transaction")
@dataclass(frozen=True, slots=True)
class _Begun:
    """A transaction, and when it was begun."""

    transaction: Any
    at_ms: int


class _TransactionWriter(SinkWriter):
    def __init__(self, function: TwoPhaseCommitSinkFunction, context: WriterContext) -> None:
        self._function = function
        function._names = context
        function.open()
        self._begun_ms = context.now_ms
        self._transaction = function.begin_transaction()

    def write(self, element: Any, context: ElementContext) -> None:  # hot
        self._function.invoke(self._transaction, element, context)

    def prepare_commit(self) -> list[Any]:
        self._function.pre_commit(self._transaction)
        return [_Begun(self._transaction, self._begun_ms)]

    def close(self) -> None:
        self._function.close()

    def abort(self) -> None:
        try:
            self._function.abort(self._transaction)
        finally:
            self._function.close()


class _TransactionCommitter(Committer):
    def __init__(self, function: TwoPhaseCommitSinkFunction, context: CommitterContext) -> None:
        self._function = function
        self._is_open = False
        function._names = context
        self._now_ms = context.now_ms

    def open(self) -> None:
        self._function.open()
        self._is_open = True

    def recover(self, kept: Sequence[Committable], dropped: Sequence[Committable]) -> None:
        for committable in dropped:
            self._function.recover_and_abort(committable.payload.transaction)
        self._function.finish_recovering_context([c.payload.transaction for c in (*kept, *dropped)])

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            begun: _Begun = request.get_committable()
            age_ms = self._now_ms() - begun.at_ms
            self._warn_when_old(begun, age_ms)
            if request.recovered:
                self._recover(begun, age_ms)
            else:
                self._function.commit(begun.transaction)

    def _recover(self, begun: _Begun, age_ms: int) -> None:
        function = self._function
        try:
            function.recover_and_commit(begun.transaction)
        except Exception:
            timeout_ms = function._timeout_ms
            if not function._ignores_late_failures or timeout_ms is None or age_ms <= timeout_ms:
                raise
            log.exception(
                "transaction %r cannot be committed %d ms after its begin, its timeout is %d ms: "
                "its records are lost, and it is not tried again",
                *(begun.transaction, age_ms, timeout_ms),
            )

    def _warn_when_old(self, begun: _Begun, age_ms: int) -> None:
        timeout_ms, ratio = self._function._timeout_ms, self._function._warning_ratio
        if timeout_ms is not None and ratio is not None and age_ms > timeout_ms * ratio:
            log.warning(
                "transaction %r has been open for %d ms, close to its timeout of %d ms or beyond it",
                *(begun.transaction, age_ms, timeout_ms),
            )

    def close(self) -> None:
        if self._is_open:
            self._function.close()
