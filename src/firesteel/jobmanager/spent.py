"""What subtasks have spent the time of an epoch on: being busy, and waiting for those that they send to.

The rest of the time they are idle. In real time all levels run at once, and each task measures how long it
waits. In an epoch of its own the levels run one after the other: a task that is done waits for the next epoch
until all deeper levels are done, too. That is back pressure when there was more to read than the epoch has
taken; otherwise the task waits for input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from firesteel.jobmanager.lines import Subtask
from firesteel.runtime.task_report import TaskReport


class Spent(NamedTuple):
    """Milliseconds of one subtask in one epoch."""

    busy: float
    back_pressured: float


NOTHING: Final = Spent(0.0, 0.0)


class EpochWork(NamedTuple):
    """What the tasks of an epoch have said of themselves, beside their answers."""

    reports: Sequence[TaskReport] = ()
    spent: Mapping[Subtask, Spent] = MappingProxyType({})

    @property
    def stages(self) -> tuple[int, ...]:
        """Of Spark, from the sources on."""
        found = {report.level: report.stage for report in self.reports if report.stage is not None}
        return tuple(found[level] for level in sorted(found))


def work_in(reports: Sequence[TaskReport], elapsed_ms: float, *, is_behind: bool) -> EpochWork:
    """See ``spent``."""
    return EpochWork(reports, spent(reports, elapsed_ms, is_behind=is_behind))


def spent(reports: Sequence[TaskReport], elapsed_ms: float, *, is_behind: bool) -> Mapping[Subtask, Spent]:
    """What each subtask has spent in an epoch that lasted so long.

    :param is_behind: there was more to read than the epoch has taken.
    """
    ends: dict[int, float] = {}
    for report in reports:  # by the clock of a machine, which may say anything
        ends[report.level] = max(report.ended_ms, ends.get(report.level, report.ended_ms))
    # When all levels behind each had ended; the deepest one has none.
    deeper = {level: max((e for other, e in ends.items() if other > level), default=None) for level in ends}
    found: dict[Subtask, Spent] = {}
    for report in reports:
        held_back_ms = report.held_back_ms
        if held_back_ms is None:
            end_ms = deeper[report.level]
            held_back_ms = 0.0 if end_ms is None or not is_behind else end_ms - report.ended_ms
        for vertex, busy_ms in report.busy_ms.items():
            busy = min(busy_ms, elapsed_ms)
            found[vertex, report.subtask] = Spent(busy, max(0.0, min(held_back_ms, elapsed_ms - busy)))
    return found
