"""The parallelism of a job: what is wanted, and how it has changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from firesteel.common.configuration import Configuration
from firesteel.common.options import scaling
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.rescale_view import (
    RESCALES_KEPT,
    Bounds,
    RescaleReport,
    RescaleStatus,
    Spell,
    VertexRescale,
)
from firesteel.rest.answers.plan import group_id_of
from firesteel.rest.answers.statistics import stats_summary
from firesteel.rest.messages.jobs import Scheduler
from firesteel.rest.messages.rescales import (
    LatestRescales,
    ParallelismBounds,
    Profile,
    Requirements,
    Rescale,
    RescaledSlots,
    RescaledVertex,
    RescalesConfig,
    RescalesCounts,
    RescalesOverview,
    RescalesSummary,
    SchedulerState,
    VertexRequirements,
)


def scheduler_type(view: JobView) -> Scheduler:
    return "Adaptive" if view.rescales.adaptive else "Default"


def requirements(view: JobView) -> Requirements:
    return {
        vertex: VertexRequirements(parallelism=ParallelismBounds(lower_bound=b.lower, upper_bound=b.upper))
        for vertex, b in view.rescales.requirements
    }


def bounds(asked: Requirements) -> dict[str, Bounds]:
    return {
        vertex: Bounds(wanted.parallelism.lower_bound, wanted.parallelism.upper_bound)
        for vertex, wanted in asked.items()
    }


def rescales_config(view: JobView) -> RescalesConfig:
    configuration = Configuration.from_dict(dict(view.info.settings))
    mode = configuration.get(scaling.SCHEDULER_MODE)
    return RescalesConfig(
        rescaleHistoryMax=RESCALES_KEPT,
        schedulerExecutionMode=None if mode is None else mode.upper(),
        submissionResourceWaitTimeoutInMillis=0,
        submissionResourceStabilizationTimeoutInMillis=0,
        slotIdleTimeoutInMillis=0,
        executingCooldownTimeoutInMillis=configuration.get(scaling.COOLDOWN),
        executingResourceStabilizationTimeoutInMillis=configuration.get(scaling.STABILIZATION),
        maximumDelayForTriggeringRescaleInMillis=0,
        rescaleOnFailedCheckpointCount=0,
    )


def history(view: JobView) -> list[Rescale]:
    """The newest first."""
    return [short(report) for report in reversed(view.rescales.history)]


def overview(view: JobView) -> RescalesOverview:
    latest = {report.status: short(report) for report in view.rescales.history}
    return RescalesOverview(
        rescales_counts=_counts(view),
        latest=LatestRescales(
            completed=latest.get(RescaleStatus.COMPLETED),
            failed=latest.get(RescaleStatus.FAILED),
            ignored=latest.get(RescaleStatus.IGNORED),
        ),
    )


def summary(view: JobView) -> RescalesSummary:
    """Of those that are kept."""
    lasted = [(report.status, report.ended_ms - report.started_ms) for report in view.rescales.history]

    def of(*statuses: RescaleStatus) -> list[float]:
        return [ms for status, ms in lasted if status in statuses]

    return RescalesSummary(
        rescales_counts=_counts(view),
        rescales_duration_stats_in_millis=stats_summary(of(*RescaleStatus)),
        completed_rescales_duration_stats_in_millis=stats_summary(of(RescaleStatus.COMPLETED)),
        ignored_rescales_duration_stats_in_millis=stats_summary(of(RescaleStatus.IGNORED)),
        failed_rescales_duration_stats_in_millis=stats_summary(of(RescaleStatus.FAILED)),
    )


def _counts(view: JobView) -> RescalesCounts:
    known = view.rescales
    return RescalesCounts(
        ignored=known.ignored, in_progress=0, completed=known.completed, failed=known.failed
    )


def short(report: RescaleReport) -> Rescale:
    """Without what is in the details alone."""
    return _rescale(report, {}, {}, ())


def details(view: JobView, report: RescaleReport) -> Rescale:
    vertices = {v.id: _vertex(view, v) for v in report.vertices}
    groups = dict.fromkeys(v.group for v in report.vertices)
    slots = [_slots(view, g, [v for v in report.vertices if v.group == g]) for g in groups]
    return _rescale(report, vertices, {s.slot_sharing_group_id: s for s in slots}, report.spells)


def _rescale(
    report: RescaleReport,
    vertices: Mapping[str, RescaledVertex],
    slots: Mapping[str, RescaledSlots],
    spells: Collection[Spell],
) -> Rescale:
    return Rescale(
        rescale_uuid=report.id,
        resource_requirements_uuid=report.requirements_id,
        rescale_attempt_id=report.attempt,
        vertices=dict(vertices),
        slots=dict(slots),
        scheduler_states=[
            SchedulerState(
                state=spell.state,
                enter_timestamp_in_millis=spell.entered_ms,
                leave_timestamp_in_millis=spell.left_ms,
                duration_in_millis=max(0, spell.left_ms - spell.entered_ms),
                stringified_exception=spell.failure,
            )
            for spell in spells
        ],
        start_timestamp_in_millis=report.started_ms,
        end_timestamp_in_millis=report.ended_ms,
        terminal_state=report.status.value,
        trigger_cause=report.cause.value,
        terminated_reason=report.reason,
    )


def _vertex(view: JobView, vertex: VertexRescale) -> RescaledVertex:
    return RescaledVertex(
        job_vertex_id=vertex.id,
        job_vertex_name=vertex.name,
        slot_sharing_group_id=group_id_of(view.job_id, vertex.group),
        slot_sharing_group_name=vertex.group,
        desired_parallelism=vertex.wanted.upper,
        sufficient_parallelism=vertex.wanted.lower,
        pre_rescale_parallelism=vertex.before,
        post_rescale_parallelism=vertex.after,
    )


def _slots(view: JobView, group: str, vertices: list[VertexRescale]) -> RescaledSlots:
    return RescaledSlots(
        slot_sharing_group_id=group_id_of(view.job_id, group),
        slot_sharing_group_name=group,
        request_resource_profile=Profile(),
        desired_slots=max(vertex.wanted.upper for vertex in vertices),
        minimal_required_slots=max(vertex.wanted.lower for vertex in vertices),
        pre_rescale_slots=_most([vertex.before for vertex in vertices]),
        post_rescale_slots=_most([vertex.after for vertex in vertices]),
        acquired_resource_profile=Profile(),
    )


def _most(numbers: list[int | None]) -> int | None:
    return max((number for number in numbers if number is not None), default=None)
