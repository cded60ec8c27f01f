"""The graph of a job with its present parallelism, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from firesteel.graph.job_graph import JobGraph
from firesteel.graph.levels import LevelPlan
from firesteel.jobmanager.job_view import JobInfo
from firesteel.jobmanager.lines import Subtask


@dataclass(frozen=True, slots=True)
class Layout:
    """:param program: the name of the blob with the code of the job, as the workers find it.
    :param info: what views say of it.
    """

    graph: JobGraph
    plan: LevelPlan
    program: str
    info: JobInfo

    @property
    def subtasks(self) -> list[Subtask]:
        return sorted((v.id, i) for v in self.plan.vertices for i in range(v.parallelism))


#: Lays a graph out: plans its levels and ships its code.
LayOut: TypeAlias = Callable[[JobGraph], Layout]
