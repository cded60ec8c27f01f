"""Those who advise another parallelism, and the slots that they look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.published import Published
from firesteel.jobmanager.rescale_view import Bounds, RescaleCause


class Advice(NamedTuple):
    """The parallelism is to be thought over. ``wanted``: with these bounds; None: with those that there
    are."""

    cause: RescaleCause
    wanted: Mapping[str, Bounds] | None = None


class Adviser(Protocol):
    """Looks at a job now and then. It belongs to the job's own thread."""

    def advice(
        self, graph: JobGraph, job: Published, wanted: Mapping[str, Bounds], now_ms: int
    ) -> Advice | None:
        """None: all is well. Asked in each step of the job, so it looks at the view only when it must."""

    def changed(self, now_ms: int) -> None:
        """The parallelism has changed, for whatever reason."""


class Slots:
    """How many there are. ``used``: as many as there were when the parallelism was last chosen."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self.used: int | None = None

    def count(self) -> int:
        return self._count()

    def use(self) -> int:
        self.used = max(1, self._count())
        return self.used
