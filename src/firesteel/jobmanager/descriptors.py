"""What each level has to do in an epoch, as the workers are told it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firesteel.graph.levels import Level, LevelPlan
from firesteel.jobmanager.run import JobRun
from firesteel.jobmanager.sources import ReadPlan
from firesteel.runtime.checkpoint_news import CheckpointNews
from firesteel.runtime.program import LevelDescriptor, Pace


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the workers find a job: the same for all its epochs.

    :param program: name of the blob with the user's code in ``state_dir``.
    :param local_dir: directory of each host for local stores; ``{epoch}`` in ``host_id`` is its number.
    """

    job_id: str
    plan: LevelPlan
    program: str
    state_dir: str
    local_dir: str | None
    host_id: str
    live_jobs: Callable[[], tuple[str, ...]]

    @property
    def widths(self) -> list[int]:
        """The parallelism of each level."""
        return [level.parallelism for level in self.plan.levels]

    @property
    def tasks(self) -> list[int]:
        """How many tasks each level has in epochs."""
        return [level.tasks for level in self.plan.levels]

    def descriptors(
        self,
        run: JobRun,
        reading: ReadPlan,
        *,
        attempt: int,
        epoch: int,
        now_ms: int,
        pace: Pace | None,
        news: CheckpointNews,
        marks_latency: bool = False,
    ) -> list[LevelDescriptor]:
        """One for each level."""

        def of(level: Level) -> LevelDescriptor:
            subtasks = [(vertex.id, i) for vertex in level.vertices for i in range(vertex.parallelism)]
            return LevelDescriptor(
                job_id=self.job_id,
                attempt=attempt,
                epoch=epoch,
                now_ms=now_ms,
                level=level.index,
                program=self.program,
                state_dir=self.state_dir,
                local_dir=self._host_dir(epoch),
                live_jobs=self.live_jobs(),
                subtasks={s: run.state.descriptor(s, reading.of(s)) for s in subtasks},
                pace=pace,
                marks_latency=marks_latency,
                news=news,
            )

        return [of(level) for level in self.plan.levels]

    def _host_dir(self, epoch: int) -> str | None:
        if self.local_dir is None or not self.host_id:
            return self.local_dir
        return f"{self.local_dir}/{self.host_id.replace('{epoch}', str(epoch))}"
