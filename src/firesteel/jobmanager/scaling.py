"""When the parallelism of a job changes without anybody asking for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.common.options import scaling as options
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.advice import Advice, Adviser, Slots
from firesteel.jobmanager.autoscaler import Autoscaler
from firesteel.jobmanager.modes import SPARE_SLOTS
from firesteel.jobmanager.options import JobOptions
from firesteel.jobmanager.published import Published
from firesteel.jobmanager.rescale_view import Bounds, RescaleCause
from firesteel.jobmanager.scaling_options import ScalingOptions


def scaling_of(options: JobOptions, count_slots: Callable[[], int]) -> Scaling:
    """What the options say of the parallelism.

    :param count_slots: asks how many there are.
    """
    found = options.scaling
    real_time = options.real_time is not None
    slots = Slots((lambda: count_slots() - SPARE_SLOTS) if real_time else count_slots)
    advisers: list[Adviser] = [Reactive(found, slots)] if found.reactive else []
    if options.autoscaler is not None:
        advisers.append(Autoscaler(options.autoscaler, slots, one_after_another=not real_time))
    return Scaling(found, slots, all_at_once=real_time, advisers=tuple(advisers))


class Scaling:
    """What there is to know about changes of the parallelism of a job.

    :param all_at_once: the job needs slots for all levels at the same time.
    :param advisers: asked in this order.
    """

    def __init__(
        self,
        scaling: ScalingOptions,
        slots: Slots,
        *,
        all_at_once: bool = False,
        advisers: tuple[Adviser, ...] = (),
    ) -> None:
        self.all_at_once = all_at_once
        self._options = scaling
        self._slots = slots
        self._advisers = advisers

    @property
    def is_adaptive(self) -> bool:
        return self._options.adaptive

    @property
    def is_reactive(self) -> bool:
        return self._options.reactive

    def why_not(self, graph: JobGraph) -> str:
        """Why the parallelism cannot change."""
        if graph.batch:
            return "it runs in BATCH mode, as one epoch"
        return (
            "The DefaultScheduler does not support changing the parallelism without a job restart. "
            f"{options.SCHEDULER.key} is default; adaptive allows it, and is what is not set"
        )

    def slots(self) -> int | None:
        """How many the job may use; None: as many as it likes."""
        return self._slots.use() if self.all_at_once or self._options.reactive else None

    def look(
        self, graph: JobGraph, job: Published, wanted: Mapping[str, Bounds], now_ms: int
    ) -> Advice | None:
        """What an adviser says."""
        if graph.batch or not self._options.adaptive:
            return None
        for adviser in self._advisers:
            found = adviser.advice(graph, job, wanted, now_ms)
            if found is not None:
                return found
        return None

    def changed(self, now_ms: int) -> None:
        for adviser in self._advisers:
            adviser.changed(now_ms)


class Reactive:
    """Follows the slots that there are (Flink: reactive mode).

    :param every_ms: how often it counts them.
    """

    def __init__(self, scaling: ScalingOptions, slots: Slots, *, every_ms: int = 2_000) -> None:
        self._options = scaling
        self._slots = slots
        self._every_ms = min(every_ms, max(1, scaling.settle_ms))
        self._looked_ms = 0
        self._seen: int | None = None
        self._since_ms = 0  # that there are as many as were seen
        self._changed_ms = 0

    def advice(
        self, graph: JobGraph, job: Published, wanted: Mapping[str, Bounds], now_ms: int
    ) -> Advice | None:
        used = self._slots.used
        if used is None or now_ms - self._looked_ms < self._every_ms:
            return None
        self._looked_ms = now_ms
        slots = self._slots.count()
        if slots != self._seen:
            self._seen, self._since_ms = slots, now_ms
        if slots in (0, used) or now_ms - self._changed_ms < self._options.cooldown_ms:
            return None
        # Fewer slots than subtasks slow the job down at once; more of them may be about to come.
        if slots > used and now_ms - self._since_ms < self._options.settle_ms:
            return None
        return Advice(RescaleCause.NEW_RESOURCE_AVAILABLE)

    def changed(self, now_ms: int) -> None:
        self._changed_ms = now_ms
