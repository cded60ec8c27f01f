"""What a sink offers the engine: a writer in the tasks, a committer in the driver, which may have tasks do
its work (Flink: Sink V2).

The writer of an epoch stages its records and says in *committables*, plain picklable data, what it has
staged. The committables of committed epochs are part of the next checkpoint; when that is complete the
committer makes visible what they stand for. Nothing else may make records visible, unless the sink promises
no more than at least once.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from firesteel.common.errors import ProgramError
from firesteel.program.promises import SinkPromise
from firesteel.storage.records import record

_NO_WATERMARK: Final = -(2**63)

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class WriterContext:
    """Where and when a writer writes (Flink: ``WriterInitContext``).

    ``epoch_dir`` is a directory reachable from driver and workers for what is staged by this job.
    ``attempt_token`` differs for every task attempt: files that an attempt is writing have it in their names,
    so that two attempts at once never touch the same file. Committables should not contain it: they pass
    through Spark's shuffle, and where they differ between two attempts Spark runs more again after a failure
    than it must. So name what is finished by ``transaction_id`` and the hash of its content (see
    ``firesteel.connectors._staging``).

    ``job_id`` and ``sink_id`` (the operator id of the sink) stay when the job is restarted or another driver
    goes on with it; ``run`` tells the restarts apart, because numbers of epochs come again after one.
    ``now_ms`` is the processing time at which the writer is made; never read another clock.
    ``buffer_timeout_ms`` is how long a record may wait in the writer for others, where the writer itself
    makes records visible; None: to the end of the epoch.
    ``check_waited_for()`` raises EngineError where Spark has given the task up, as with the slower one
    of two copies: a writer that buffers calls it right before it writes to the target, where rows that come
    late would stand in place of newer ones. The engine calls it before ``write_batch`` and ``flush``.
    """

    subtask_index: int
    parallelism: int
    attempt_token: str
    epoch_dir: str
    epoch: int = 0
    job_id: str = ""
    sink_id: str = ""
    run: str = ""
    now_ms: int = 0
    buffer_timeout_ms: float | None = None
    check_waited_for: Callable[[], None] = lambda: None

    @property
    def transaction_id(self) -> str:
        """A name for what the writer stages: the same for all attempts of its task, and never used again by
        another subtask, epoch, restart or sink. Begins with ``CommitterContext.transaction_prefix``."""
        prefix = transaction_prefix(self.job_id, self.sink_id)
        return f"{prefix}{self.run}-{self.epoch}-{self.subtask_index}"


def transaction_prefix(job_id: str, sink_id: str) -> str:
    return f"{job_id}-{sink_id}-"


class ElementContext:
    """What a writer may know of the record it gets (Flink: ``SinkWriter.Context``). One object serves all
    records of a writer: do not keep it."""

    __slots__ = ("_timestamp", "_watermark")

    def __init__(self) -> None:
        self._timestamp: int | None = None
        self._watermark = _NO_WATERMARK

    def timestamp(self) -> int | None:
        """The event time of the record, in epoch milliseconds; None when it has none."""
        return self._timestamp

    def current_watermark(self) -> int:
        """The watermark at the sink, in epoch milliseconds; -(2**63) before the first."""
        return self._watermark


class SinkWriter(ABC):  # noqa: B024  # write or write_batch, whichever fits the target
    """Lives in a task for one epoch, and is made when the first record of the epoch comes.

    The engine calls ``write_batch`` with some records at once; a writer that needs no speed defines
    ``write``. At the end of the epoch come ``flush``, ``prepare_commit``, ``snapshot_state`` and ``close``. A
    connection that is to outlive the epoch may be kept in an attribute of the sink: each subtask has its own
    copy in each worker process.
    """

    __element: ElementContext | None = None

    def write(self, element: Any, context: ElementContext) -> None:
        """Take one record."""
        raise ProgramError(
            "A sink writer needs a write method.",
            operator=type(self).__name__,
            hint="define write(self, element, context), or write_batch(self, values, timestamps)",
        )

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Take some records in order; by default one after the other with ``write``. ``timestamps`` None: no
        record has one. Read-only."""
        context = self.__element_context()
        write = self.write
        for i, value in enumerate(values):  # hot
            if timestamps is not None:
                stamp = timestamps[i]
                context._timestamp = None if stamp == _NO_WATERMARK else stamp
            write(value, context)

    def write_watermark(self, watermark: int) -> None:
        """The watermark has come to this instant. An override that does not call ``super()`` leaves
        ``ElementContext.current_watermark`` where it was."""
        self.__element_context()._watermark = watermark

    def __element_context(self) -> ElementContext:
        if self.__element is None:
            self.__element = ElementContext()
        return self.__element

    def flush(self, end_of_input: bool) -> None:
        """Bring what is buffered to where it is safe; ``end_of_input``: nothing comes after it. Called at the
        end of the epoch, and before that where a record has waited for ``flush_interval_ms``."""

    @property
    def flush_interval_ms(self) -> float | None:
        """How long a record may wait here for others in real time, where an epoch lasts for seconds and is
        not what it waits for; None: until its epoch ends."""
        return None

    def prepare_commit(self) -> list[Any]:
        """What was staged, as committables (picklable): handed to the committer when the epoch counts, and
        dropped with the epoch when it does not. A sink without a committer has none."""
        return []

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        """Return what the writer of the next epoch needs to know, as a list of picklable elements, which are
        redistributed when the parallelism changes; called only if the sink is a ``SupportsWriterState``."""
        return []

    def close(self) -> None:
        """The epoch is written: let go of what is open."""

    def abort(self) -> None:
        """The attempt failed: remove what can be removed, and let go of what is open. A process that was
        killed does not call it."""


class CommitOutcome(enum.Enum):
    """What became of a request."""

    COMMITTED = "committed"
    RETRY = "to be tried again"
    DISCARDED = "given up"
    FAILED = "failed"


@record("committable")
@dataclass(frozen=True, slots=True)
class Committable:
    """One thing that a writer has staged. ``payload``: what ``prepare_commit`` said of it."""

    subtask_index: int
    epoch: int
    payload: Any


class CommitRequest:
    """A committable that is to be committed, and the committer's answer: committed, unless it signals
    something else (Flink: ``Committer.CommitRequest``). The last signal counts.

    :param recovered: it comes from a checkpoint that the job goes on from, so it may have been committed
        before.
    """

    __slots__ = ("error", "origin", "outcome", "recovered", "retries")

    def __init__(self, origin: Committable, *, recovered: bool = False) -> None:
        self.origin = origin
        self.recovered = recovered
        self.retries = 0
        self.outcome = CommitOutcome.COMMITTED
        self.error: BaseException | None = None

    def get_committable(self) -> Any:
        """What ``prepare_commit`` returned, or what ``update_and_retry_later`` put in its place."""
        return self.origin.payload

    def get_number_of_retries(self) -> int:
        """0 at the first time."""
        return self.retries

    def signal_already_committed(self) -> None:
        """It was committed before, so nothing was left to do."""
        self._answer(CommitOutcome.COMMITTED, None)

    def signal_failed_with_known_reason(self, error: BaseException) -> None:
        """It can never be committed, and the sink knows that nothing has to be done about it: logged as an
        error and given up. The job goes on."""
        self._answer(CommitOutcome.DISCARDED, error)

    def signal_failed_with_unknown_reason(self, error: BaseException) -> None:
        """It cannot be committed: the job fails. Its last checkpoint still holds the committable."""
        self._answer(CommitOutcome.FAILED, error)

    def retry_later(self) -> None:
        """Not now (the target cannot be reached ...): it comes again, after a while, and so does everything
        else that was answered like this."""
        self._answer(CommitOutcome.RETRY, None)

    def update_and_retry_later(self, committable: Any) -> None:
        """As ``retry_later``, with another committable: what is left of this one. After a failure of the job
        the one before comes again."""
        self.origin = Committable(self.origin.subtask_index, self.origin.epoch, committable)
        self._answer(CommitOutcome.RETRY, None)

    def _answer(self, outcome: CommitOutcome, error: BaseException | None) -> None:
        self.outcome = outcome
        self.error = error


class RunTasks(Protocol):
    """Has ``work`` done for each argument; the answers in their order."""

    def __call__(self, work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]: ...


def run_here(work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
    return [work(argument) for argument in arguments]


@dataclass(frozen=True, slots=True)
class CommitterContext:
    """Whose output a committer commits (Flink: ``CommitterInitContext``). ``now_ms()`` is the job's clock at
    the commit under way; never read another one. ``tasks`` is what ``run_tasks`` asks."""

    job_id: str
    sink_id: str
    now_ms: Callable[[], int]
    tasks: RunTasks = run_here

    def run_tasks(self, work: Callable[[Argument], Answer], arguments: Sequence[Argument]) -> list[Answer]:
        """Have ``work`` done for each argument by a task of its own, in parallel; waits for all, and gives
        their answers in the order of the arguments. Only while ``commit`` runs.

        ``work`` is shipped with its code; arguments and answers are plain picklable data. All arguments
        travel to every executor, so they should be names, numbers and some kilobytes: what is large is
        staged in files. Nothing is kept between two tasks but what the module of ``work`` keeps itself.

        **A task may run several times**: again after a failure, twice at the same time (speculation), and
        even when its executor was given up for lost and the driver has gone on. So what it does must not mind
        being done again, and of two that do it at once the target must let one win. Where the answer of a
        task is lost, what it did is done. With the engine of the tests tasks run in this process, one after
        the other.

        :raises FiresteelError: what ``work`` raised for one of the arguments; what became of the others is
            not known then. Let ``work`` return what went wrong where the others are to be heard of.
        :raises EngineError: Spark could not run the tasks, or ``work`` raised something else as often as a
            task is tried. Some of it may be done.
        """
        return self.tasks(work, arguments)

    @property
    def transaction_prefix(self) -> str:
        """What all names begin with that writers of this sink in this job have from
        ``WriterContext.transaction_id``."""
        return transaction_prefix(self.job_id, self.sink_id)


class Committer(ABC):
    """Lives on the driver and commits what all writers of the sink have staged (Flink: ``Committer``; because
    it sees the committables of all subtasks at once it is Flink's global committer too). Where a commit moves
    records, tasks should do it: ``CommitterContext.run_tasks``.

    ``commit`` must be idempotent: it is called again after a failure, also by another driver, and then
    perhaps with committables that were committed before. An exception it raises fails the job, which goes
    back to its last checkpoint and commits again what that holds.
    """

    #: Whether committables wait for the checkpoint that covers them. False: they are committed with their
    #: epoch, and after a failure those of the epochs since the last checkpoint come again (at least once).
    waits_for_checkpoint: bool = True
    #: Whether somebody looks at what is committed and waits for it: in real time epochs are short then.
    is_watched: bool = False

    def open(self) -> None:
        """Called once, before anything else but ``restore``."""

    def pre_commit(self, committables: Sequence[Committable]) -> Sequence[Committable]:
        """What is to be committed in place of ``committables``: those of the epochs since this was last
        asked, in the order of epochs and subtasks. What comes back is what the checkpoint holds and
        ``commit`` gets; here many small ones become one. (Flink: the pre-commit topology.)"""
        return committables

    @abstractmethod
    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """All that the checkpoint (without checkpoints: the epoch) covers, in the order of epochs and
        subtasks; also called when that is nothing."""

    def post_commit(self, committables: Sequence[Committable]) -> None:
        """These are committed now: tell somebody, merge files. Comes again when ``commit`` does. (Flink: the
        post-commit topology.)"""

    def recover(self, kept: Sequence[Committable], dropped: Sequence[Committable]) -> None:
        """The job begins, or goes back to a checkpoint: ``kept`` is what that holds, to be committed next,
        ``dropped`` what this driver knows to have been staged since; its records come again. Whatever else of
        this sink and job is staged in the target was left by tasks or drivers that were lost, and may be
        removed.

        Also behind an epoch whose tasks Spark has run again, and when the job has ended normally: ``kept`` is
        what is still to be committed, nothing is dropped."""

    def snapshot(self) -> Any:
        """What the committer of another driver must know to go on (picklable); None: nothing."""
        return None

    def restore(self, state: Any) -> None:
        """Go on from ``snapshot``; called before ``open``."""

    def finish(self) -> None:
        """The job ends normally: make visible what is still staged. Nobody has recorded that yet. A driver
        that dies now is followed by one that goes back to the last checkpoint, and a job that was stopped
        with a savepoint then has more to write: what ``restore`` and ``open`` need must stay."""

    def clean_up(self) -> None:
        """That the job has ended normally is recorded, nobody goes on with it: remove what only such a driver
        would need. If a driver dies before this, the committer of another one that is started for the job has
        its last checkpoint ``restore``d and this called, without ``open``."""

    def close(self) -> None:
        """Let go of what is open. Called once, however the job ended."""


class Sink(ABC):
    """A description of a sink: plain configuration, picklable."""

    @property
    def description(self) -> str:
        return type(self).__name__

    @property
    def is_cheap(self) -> bool:
        """Whether a record costs microseconds: no code of the user's runs for it, and nobody outside is
        waited for."""
        return False

    @property
    def writes_every_epoch(self) -> bool:
        """Whether each subtask has a writer in each epoch, also in one without records: when a committer has
        to hear of watermarks."""
        return False

    @property
    def promise(self) -> SinkPromise:
        """What an outsider sees of a record after a failure: once where a committer decides, else at least
        once. A sink that does otherwise says so."""
        commits = type(self).create_committer is not Sink.create_committer
        return SinkPromise.EXACTLY_ONCE if commits else SinkPromise.AT_LEAST_ONCE

    def validate(self) -> None:
        """Raise a FiresteelError for what can be known before Spark starts."""

    @abstractmethod
    def create_writer(self, context: WriterContext) -> SinkWriter: ...

    def create_committer(self, context: CommitterContext) -> Committer | None:
        """None: there is nothing to commit, and what writers write is visible at least once."""
        return None


class SupportsWriterState(ABC):
    """A mixin for sinks whose writers keep state between epochs (Flink: ``SupportsWriterState``). What
    ``SinkWriter.snapshot_state`` returns is operator state: it is part of checkpoints and savepoints and is
    redistributed when the parallelism changes."""

    @abstractmethod
    def restore_writer(self, context: WriterContext, recovered_state: Iterable[Any]) -> SinkWriter:
        """A writer that goes on from the state; called in place of ``create_writer`` when there is some."""
