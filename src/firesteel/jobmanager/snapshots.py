"""Takes the checkpoints and savepoints of a job, between two of its epochs."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.common.clock import Clock
from firesteel.common.errors import EngineError
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.jobmanager.checkpoints.coordinator import CheckpointCoordinator
from firesteel.jobmanager.checkpoints.savepoints import write_savepoint
from firesteel.jobmanager.checkpoints.statistics import CheckpointReport, CheckpointStatus, file_sizes
from firesteel.jobmanager.epochs import DoParts
from firesteel.jobmanager.requests import CheckpointRequest, SavepointRequest, refusal
from firesteel.jobmanager.run import for_savepoint
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest

log = logger(__name__)


class Snapshots:
    """Belongs to the job's own thread.

    :param settle: brings what is committed up to an instant, and lets nothing more be done if told so.
    :param cut: makes the manifest of the job as it is, for an id and the time of the trigger.
    :param covered: makes visible what a checkpoint that is complete covers, by its id.
    :param failed: is told of a checkpoint that has failed, by its id, where the job goes on.
    """

    def __init__(
        self,
        job_id: JobID,
        checkpoints: CheckpointCoordinator,
        files: StateFiles,
        do: DoParts,
        clock: Clock,
        settle: Callable[[int, bool], None],
        cut: Callable[[int, int], Manifest],
        covered: Callable[[int], None],
        failed: Callable[[int], None],
    ) -> None:
        self._job_id = job_id
        self._checkpoints = checkpoints
        self._files = files
        self._do = do
        self._clock = clock
        self._settle = settle
        self._cut = cut
        self._covered = covered
        self._failed = failed

    def is_due(self, step_ms: float) -> bool:
        """Whether a checkpoint is to be taken now, and not ``step_ms`` later."""
        return self._checkpoints.is_due(self._clock.now_ms(), step_ms)

    def checkpoint(self) -> bool:
        """Take one and make visible what it covers; False when it failed and that is tolerated."""
        now_ms, due_ms = self._clock.now_ms(), self._checkpoints.due_ms
        self._settle(now_ms if due_ms is None else min(now_ms, due_ms), False)
        return self._take()

    def _take(self) -> bool:
        triggered_ms, number = self._clock.now_ms(), self._checkpoints.next_id
        done = self._checkpoints.take(triggered_ms, lambda number: self._cut(number, triggered_ms))
        if done is None:
            self._failed(number)
            return False
        begun_s = self._clock.monotonic_s()
        self._covered(number)
        self._checkpoints.statistics.committed((self._clock.monotonic_s() - begun_s) * 1000)
        return True

    def checkpoint_for(self, request: CheckpointRequest) -> None:
        """Take a checkpoint that was asked for; a failure that is not tolerated is raised, too."""
        if not self._checkpoints.enabled:
            why = "it has no checkpoints; set execution.checkpointing.interval"
            request.failed(refusal(request.name, self._job_id, why))
            return
        try:
            done = self.checkpoint()
        except Exception as e:
            request.failed(e)
            raise
        latest = self._checkpoints.completed.latest
        if done and latest is not None:
            request.done(latest.id)
        else:
            request.failed(EngineError("The checkpoint failed", detail=self._why_failed()))

    def savepoint_for(self, request: SavepointRequest) -> None:
        """A checkpoint first, where there are any: so a savepoint holds no output that is not committed."""
        try:
            self._settle(self._clock.now_ms(), request.stop)
            complete = not self._checkpoints.enabled or self._take()
        except Exception as e:
            request.failed(e)
            raise
        if complete:
            self.write_savepoint(request)
        else:
            request.failed(
                EngineError("The checkpoint failed that comes before a savepoint", detail=self._why_failed())
            )

    def write_savepoint(self, request: SavepointRequest) -> None:
        """When it cannot be written the job goes on."""
        directory = request.directory or self._checkpoints.options.savepoint_directory
        number, triggered_ms = self._checkpoints.new_id(), self._clock.now_ms()
        begun_s = self._clock.monotonic_s()
        statistics = self._checkpoints.statistics
        statistics.triggered(number, True, triggered_ms)
        try:
            manifest = for_savepoint(self._cut(number, triggered_ms))
            cut_s = self._clock.monotonic_s()
            statistics.answered(manifest, (cut_s - begun_s) * 1000)
            request.path = write_savepoint(manifest, self._files, directory, self._do)
        except Exception as e:
            log.warning("savepoint failed job=%s: %s", self._job_id, e)
            why = f"{type(e).__name__}: {e}"
            statistics.report(
                CheckpointReport(number, CheckpointStatus.FAILED, True, triggered_ms, failure=why)
            )
            request.failed(e)
            return
        size = sum(file_sizes(manifest).values())
        statistics.report(
            CheckpointReport(
                number,
                CheckpointStatus.COMPLETED,
                True,
                triggered_ms,
                write_ms=(self._clock.monotonic_s() - cut_s) * 1000,
                state_bytes=size,
                checkpointed_bytes=size,
                path=request.path,
            )
        )
        if not request.stop:
            request.done(request.path)

    def _why_failed(self) -> str | None:
        failed = self._checkpoints.statistics.view.latest_failed
        return None if failed is None else failed.failure
