"""One epoch, from its descriptors to a complete set of answers, whatever Spark does to it in between."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from firesteel.common.errors import EngineError, EngineLostError, FiresteelError, JobExecutionError
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.lines import Subtask
from firesteel.jobmanager.user_logs import pass_on
from firesteel.runtime.exchange_check import edges_that_differ
from firesteel.runtime.program import Ack, Answer, LevelDescriptor, Overrun, UserError
from firesteel.runtime.stretch import RunningLevel
from firesteel.runtime.task_report import TaskReport

log = logger(__name__)

_UNKNOWN_PART: Final = 1 / 64  # assumed done by a task that gave up, where its input is unknown

#: ``EpochEngine.do``.
DoParts = Callable[[int, Callable[[int], bytes], str], list[bytes]]


class Stretch(Protocol):
    """Tasks of all levels that go on from epoch to epoch, until they are told to end or one of them fails."""

    @property
    def has_ended(self) -> bool: ...

    @property
    def error(self) -> Exception | None:
        """What it has ended in; None: in nothing wrong, or it has not."""

    def go_on(self) -> None:
        """Called often in the job's own thread: the tasks of a twin of Spark move then."""

    def cancel(self) -> None:
        """End the tasks, whatever they do. Nothing more of them counts."""

    def wait_for_end(self, timeout_s: float) -> bool:
        """Whether it has ended within the time."""


class EpochEngine(Protocol):
    """What runs a job: Spark, or an in-process twin in tests."""

    def run(self, levels: list[LevelDescriptor], parallelism: list[int]) -> list[Answer]:
        """Raises EngineError when the epoch could not be run; it is discarded whole and may be run again."""

    def start(self, levels: list[RunningLevel], on_end: Callable[[], None]) -> Stretch:
        """Run all tasks at the same time. ``on_end`` is called, in whatever thread, when they have ended.

        :raises EngineError: they cannot run here, and why.
        """

    def cancel(self) -> None:
        """Stop what is running: the job is cancelled."""

    def do(self, parts: int, work: Callable[[int], bytes], what: str) -> list[bytes]:
        """Do ``parts`` numbered pieces of work, each once or several times, in any order: their answers,
        which must be small. ``what`` it is, for those who look at Spark. Raises the FiresteelError of a
        piece, and EngineError when a piece could not be done or failed with anything else."""


class EpochGivenUp(Exception):
    """An epoch takes far longer than it should and is to be run again with fewer records."""

    def __init__(self, overrun: Overrun, width: int, acks: list[Ack]) -> None:
        super().__init__(overrun)
        self.overrun = overrun
        self.width = width  # the number of tasks beside it
        self.acks = acks  # of the subtasks that have answered

    def part_done(self) -> float:
        """Which part of its input the task had processed, as far as that is known."""
        sent: Counter[str] = Counter()
        for ack in self.acks:
            sent[ack.vertex] += ack.records_out
        share = max(sent.values(), default=0) / self.width
        return min(1.0, self.overrun.records / share) if share else _UNKNOWN_PART


class EpochAnswers(NamedTuple):
    """What an epoch came back with.

    :param acks: of all subtasks, in their order.
    :param reports: what tasks have said beside that, one for each; some may be missing.
    :param attempts: how many it took.
    :param leaves: whether tasks may have left something behind that nobody has answered for, as they were
        lost or given up, and ran again.
    """

    acks: list[Ack]
    reports: list[TaskReport]
    attempts: int
    leaves: bool


class EpochRunner:
    """Runs epochs until they answer. ``attempts``: how often one is tried that Spark could not run."""

    def __init__(
        self,
        engine: EpochEngine,
        job_id: JobID,
        graph: JobGraph,
        subtasks: list[Subtask],
        attempts: int,
        is_cancelled: Callable[[], bool],
    ) -> None:
        self._engine = engine
        self._job_id = job_id
        self._graph = graph
        self._subtasks = subtasks
        self._attempts = attempts
        self._is_cancelled = is_cancelled

    def cancel(self) -> None:
        self._engine.cancel()

    def run(self, levels: list[LevelDescriptor], tasks: list[int]) -> EpochAnswers | None:
        """The answers of all subtasks; None when the job is cancelled. What a failed attempt did is
        discarded whole.

        :raises JobExecutionError: the user's code failed.
        :raises EngineError: no attempt could be run.
        :raises EpochGivenUp: it takes far longer than it should; nothing of it counts.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                answers = self._engine.run(levels, tasks)
                pass_on(answers)
                self._check_time(answers, levels)
                errors = [a for a in answers if isinstance(a, UserError)]
                if errors:
                    raise user_failure(errors[0], self._job_id, self._graph)
                if self._is_cancelled():
                    return None
                acks = complete([a for a in answers if isinstance(a, Ack)], self._subtasks)
                reports = [a for a in answers if isinstance(a, TaskReport) and a.epoch == levels[0].epoch]
                of_tasks = newest(reports)
                leaves = attempt > 1 or len(of_tasks) < len(reports) or any(r.ran_before for r in reports)
                return EpochAnswers(acks, of_tasks, attempt, leaves)
            except EngineError as e:
                if self._is_cancelled():
                    return None
                if attempt == self._attempts or isinstance(e, EngineLostError):
                    raise
                epoch = levels[0].epoch
                log.warning("epoch failed and is run again job=%s epoch=%d: %s", self._job_id, epoch, e)
        raise AssertionError("unreachable")

    def _check_time(self, answers: list[Answer], levels: Sequence[LevelDescriptor]) -> None:
        """A task that gave up is told of before an error: what others did with a part of its output may be
        the reason of that error."""
        overruns = [a for a in answers if isinstance(a, Overrun)]
        if overruns:
            worst = max(overruns, key=lambda a: a.worked_ms / max(1, a.records))
            width = len({subtask for _, subtask in levels[worst.level].subtasks})
            raise EpochGivenUp(worst, width, [a for a in answers if isinstance(a, Ack)])


def newest(reports: Iterable[TaskReport]) -> list[TaskReport]:
    """The last one of each task: a task that ran again has reported again."""
    return list({(report.level, report.subtask): report for report in reports}.values())


def complete(acks: list[Ack], subtasks: list[Subtask]) -> list[Ack]:
    """The answers in the order of the subtasks. Every subtask has answered exactly once, and what was sent
    has arrived: an epoch with less must never count.

    :raises EngineError: it is not so.
    """
    acks.sort(key=lambda a: (a.vertex, a.subtask))
    if [(a.vertex, a.subtask) for a in acks] != subtasks:
        raise EngineError(
            "An epoch came back incomplete",
            detail=f"{len(acks)} answers of {len(subtasks)} subtasks",
        )
    if edges := edges_that_differ(acks):
        raise EngineError(
            "An epoch came back with records of two runs of one task",
            detail=f"on the edges {edges} not every record that was sent has arrived exactly once",
        )
    return acks


def _uid_of(operator_id: str, graph: JobGraph) -> str | None:
    """The uid that the program gave the operator, else its id."""
    operators = (o for v in graph.vertices for o in v.operators if o.operator_id == operator_id)
    return next((o.node.uid for o in operators if o.node.uid), operator_id or None)


def user_failure(error: UserError, job_id: JobID, graph: JobGraph) -> JobExecutionError:
    """The error of the job, with the user's own exception as its cause."""
    cause: BaseException | None = None
    if error.error is not None:
        try:
            cause = pickle.loads(error.error)
        except BaseException:  # whatever a class of the user's raises that is made here
            cause = None
    if cause is None or isinstance(cause, FiresteelError):
        cause = cause or UserCodeException(error.summary)
    cause.add_note(f"\nTraceback in the worker:\n{error.traceback}")
    failure = JobExecutionError(
        f"Job {job_id} failed: {error.summary}",
        job_id=str(job_id),
        operator=error.operator or None,
        uid=_uid_of(error.uid, graph),
        subtask=error.subtask,
        detail=error.traceback,
    )
    failure.__cause__ = cause
    return failure


class UserCodeException(Exception):
    """Stands for an exception of the user's code that could not be pickled."""
