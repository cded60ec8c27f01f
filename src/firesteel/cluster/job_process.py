"""The process of one job: its driver, which shares the Spark application with those of other jobs.

    python -P -c "from firesteel.cluster.job_process import main; main()" DESCRIPTOR PLATFORM

It is told by its dispatcher what to run, reports views, and ends when the dispatcher is gone.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

import msgspec

from firesteel.cluster.blobs import BlobStore
from firesteel.cluster.collecting import Collector
from firesteel.cluster.messages import (
    Answered,
    Begin,
    Cancel,
    Channel,
    GiveAccumulators,
    GiveCollected,
    GiveKeyState,
    GiveStates,
    Order,
    Refused,
    Rescale,
    TakeCheckpoint,
    TakeSavepoint,
    Viewed,
)
from firesteel.cluster.shipped import unpack
from firesteel.cluster.store import END, EndedJob
from firesteel.cluster.views import ended_view, new_view
from firesteel.cluster.workplace import Workplace, enter, script_of, set_up
from firesteel.common.clock import SystemClock
from firesteel.common.exit_codes import ORPHANED
from firesteel.common.job_status import JobStatus
from firesteel.common.logs import log_to_stderr, logger
from firesteel.jobmanager.checkpoints import accumulators as stored_accumulators
from firesteel.jobmanager.checkpoints.results import JobFinishedBeforeError
from firesteel.jobmanager.executor import Executor, Platform
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.reported import failure_of
from firesteel.jobmanager.requests import JobOutcome, SavepointRequest
from firesteel.jobmanager.rescale_view import Bounds
from firesteel.rest.answers.states import job_states, key_state
from firesteel.rest.shown import shown_value
from firesteel.runtime.error_report import summary_of
from firesteel.storage.filesystems import PRIVATE

log = logger(__name__)

_LOOK_S: Final = 0.1  # how often there may be a newer view
_SHARE: Final = 0.05  # of the time that views may cost

#: Makes the platform of a job: of its id and what its workers import. Where the engine has died, that and
#: ``Platform.loss`` end the process, with the exit code ENGINE_LOST.
MakePlatform = Callable[[str, tuple[str, ...]], Platform]


class JobProcess:
    """Runs the job of this process."""

    def __init__(self, channel: Channel, begin: Begin, make_platform: MakePlatform) -> None:
        self._channel = channel
        self._begin = begin
        self._submission = begin.record.submission
        self._directory = Path(begin.directory)
        self._make_platform = make_platform
        self._clock = SystemClock()
        self._platform: Platform | None = None
        self._job: JobGateway | None = None
        self._last_answers: list[Answered] = []
        self._lock = threading.Lock()  # of the job, and of what is asked before it is there
        self._waiting: list[Callable[[JobGateway], None]] = []
        self._collectors: dict[str, Collector] = {}
        self._reported = threading.Event()  # that nothing is to be reported any more

    # ---- the job

    def run(self) -> int:
        """The whole life of the job; the exit code."""
        reporting = threading.Thread(target=self._report, name="firesteel-views", daemon=True)
        reporting.start()
        threading.Thread(target=self._listen, name="firesteel-orders", daemon=True).start()
        error: BaseException | None = None
        accumulators: dict[str, Any] = {}
        status: JobStatus | None = None
        try:
            outcome = self._run()
            error, accumulators, status = outcome.error, dict(outcome.accumulators), outcome.status
        except JobFinishedBeforeError as e:  # by an earlier process, that could not say so any more
            accumulators = stored_accumulators.unpack(e.result.accumulators)
            status = JobStatus.FINISHED
        except BaseException as e:  # also SystemExit, of the user's
            error, status = e, JobStatus.FAILED
        if error is not None:
            if self._platform is not None:
                self._platform.loss()  # of a dying engine it may be the first sign: then the job goes on
            log.error("the job has failed job=%s", self._submission.job_id, exc_info=error)
        self._end(status, error, accumulators)
        return 0

    def _run(self) -> JobOutcome:
        place = Path(self._begin.directory) / "work" / self._submission.job_id
        blobs = BlobStore(self._directory / "blobs")
        workplace = set_up(self._begin.record, blobs, place, self._begin.settings)
        self._become_the_program(workplace, place)

        def make_platform() -> Platform:
            self._platform = self._make_platform(self._submission.job_id, workplace.modules)
            return self._platform

        executor = Executor(make_platform)
        executor.on_start = lambda view, engine_log: None
        executor.archives_jobs = False  # the dispatcher does it
        executor.jobs.watch(self._started)

        def run_bootstrap(setup: bytes) -> None:
            executor.add_bootstrap(setup)
            pickle.loads(setup)()

        program = unpack(blobs.read(self._submission.program), run_bootstrap)
        program.configuration = workplace.configuration
        for sink in program.collecting:
            collector = self._collectors.setdefault(sink.id, Collector(self._begin.generation))
            sink.attach_blocks(collector.put)
        handle = executor.submit(program, program.transformations, self._submission.name)
        failure: BaseException | None = None
        try:
            handle.result()
        except BaseException as e:  # the outcome has it, too
            failure = e
        return handle.job.outcome or JobOutcome(handle.job_id, JobStatus.FAILED, 0, error=failure)

    def _become_the_program(self, workplace: Workplace, place: Path) -> None:
        enter(workplace, place)
        script = script_of(self._submission, place)
        main: Any = sys.modules["__main__"]
        if script is not None:
            main.__file__ = script
        else:
            main.__dict__.pop("__file__", None)

    def _end(
        self, status: JobStatus | None, error: BaseException | None, accumulators: dict[str, Any]
    ) -> None:
        view = self._view()
        if view is None or not view.status.is_terminal_state():
            view = ended_view(
                view or new_view(self._begin.record), status or JobStatus.FAILED, self._clock.now_ms(), error
            )
        try:
            packed = stored_accumulators.pack(accumulators)
        except Exception as e:  # of a user's class
            log.warning("the accumulators are not kept: %s", summary_of(e))
            packed = b""
        shown = {name: _shown(value) for name, value in accumulators.items()}
        for sink, collector in self._collectors.items():
            collector.end(self._left(sink))
        ended = EndedJob(view, packed, shown, self._begin.record.number)
        place = self._directory / "jobs" / self._submission.job_id
        PRIVATE.write(str(place / END), msgspec.msgpack.encode(ended))
        self._reported.set()
        for answer in self._last_answers:
            self._channel.send(answer)

    def _left(self, sink: str) -> Path:
        return self._directory / "collected" / f"{self._submission.job_id}-{sink}"

    # ---- views up

    def _view(self) -> JobView | None:
        return None if self._job is None else self._job.view

    def _report(self) -> None:
        sent = -1
        while not self._reported.wait(_LOOK_S):
            view = self._view()
            if view is None or view.version == sent:
                continue
            begun_s = time.monotonic()
            self._channel.send(Viewed(msgspec.msgpack.encode(view)))
            sent = view.version
            self._reported.wait((time.monotonic() - begun_s) / _SHARE)

    def _started(self, job: JobGateway) -> None:
        with self._lock:
            self._job = job
            waiting, self._waiting = self._waiting, []
        if self._begin.wanted:  # of a process before this one
            _rescale(job, self._begin.wanted)
        for ask in waiting:
            ask(job)

    # ---- orders down

    def _listen(self) -> None:
        try:
            while (order := self._channel.receive()) is not None:
                self._obey(order)
        except OSError:
            pass
        except BaseException as e:  # a mistake of ours; the dispatcher sees that the process has ended
            log.error("an order cannot be obeyed: %s", summary_of(e), exc_info=e)
        # Whoever is dispatcher now starts this job again, and until then nobody may commit for it.
        os._exit(ORPHANED)

    def _obey(self, order: Order) -> None:
        match order:
            case Cancel():
                for collector in list(self._collectors.values()):
                    collector.give_up()
                self._with_job(lambda job: _in_a_thread(job.cancel))
            case TakeSavepoint(number, asked):
                request = SavepointRequest(asked.directory, stop=asked.stop, drain=asked.drain)
                answer = self._answer_at_the_end if asked.stop else self._answer
                self._with_job(lambda job: answer(number, job.savepoint(request)))
            case TakeCheckpoint(number):
                self._with_job(lambda job: self._answer(number, job.checkpoint()))
            case Rescale(wanted):
                self._with_job(lambda job: _rescale(job, wanted))
            case GiveAccumulators(number):
                self._with_job(lambda job: self._answer(number, job.accumulators(), _all_shown))
            case GiveStates(number):
                self._with_job(lambda job: self._answer(number, job.look(job_states)))
            case GiveKeyState(number, operator, state, key):
                self._with_job(lambda job: self._answer(number, job.look(key_state(operator, state, key))))
            case GiveCollected():
                _in_a_thread(lambda: self._give_collected(order))

    def _with_job(self, ask: Callable[[JobGateway], None]) -> None:
        """Ask the job, or wait until it is there."""
        with self._lock:
            job = self._job
            if job is None:
                self._waiting.append(ask)
        if job is not None:
            ask(job)

    def _answer(self, number: int, future: Future[Any], shown: Callable[[Any], Any] = lambda v: v) -> None:
        def done(answered: Future[Any]) -> None:
            error = answered.exception()
            if error is None:
                self._channel.send(Answered(number, shown(answered.result())))
            else:
                self._channel.send(Refused(number, failure_of(error)))

        future.add_done_callback(done)

    def _answer_at_the_end(self, number: int, future: Future[Any]) -> None:
        """That a job has stopped is said when its end is on disk: else it would be started again, should
        the dispatcher die."""

        def done(answered: Future[Any]) -> None:
            error = answered.exception()
            if error is None:
                self._last_answers.append(Answered(number, answered.result()))
            else:
                self._channel.send(Refused(number, failure_of(error)))

        future.add_done_callback(done)

    def _give_collected(self, asked: GiveCollected) -> None:
        until_s = time.monotonic() + asked.timeout_s
        while (collector := self._collectors.get(asked.sink)) is None and time.monotonic() < until_s:
            time.sleep(_LOOK_S)  # the program is not there yet
        value = None
        if collector is not None:
            blocks = collector.take(asked.generation, asked.first, max(0.0, until_s - time.monotonic()))
            value = msgspec.msgpack.encode(blocks)
        self._channel.send(Answered(asked.number, value))


def _rescale(job: JobGateway, wanted: Mapping[str, Bounds]) -> None:
    # What comes of it is in the views of the job.
    job.rescale(wanted).add_done_callback(Future.exception)


def _all_shown(values: dict[str, Any]) -> dict[str, str]:
    return {name: shown_value(value) for name, value in values.items()}


def _shown(accumulator: Any) -> str:
    try:
        return shown_value(accumulator.get_local_value())
    except Exception as e:  # of a user's class
        return f"(showing it raises {summary_of(e)})"


def _in_a_thread(do: Callable[[], Any]) -> None:
    threading.Thread(target=do, daemon=True).start()


def main() -> None:
    """The program of the process."""
    descriptor, platform = sys.argv[1:3]
    sys.argv[1:] = []
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the dispatcher says what is to be done
    log_to_stderr()
    channel = Channel(socket.socket(fileno=int(descriptor)))
    begin = channel.receive()
    if not isinstance(begin, Begin):
        os._exit(ORPHANED)
    module, _, name = platform.partition(":")
    code = 1
    try:
        make_platform: MakePlatform = getattr(importlib.import_module(module), name)
        code = JobProcess(channel, begin, make_platform).run()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()
        os._exit(code)  # whatever threads the user's code has left
