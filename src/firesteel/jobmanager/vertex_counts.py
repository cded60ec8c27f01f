"""What the subtasks of a vertex have counted, as columns: lists with one value for each subtask.

An epoch adds to whole columns, which costs a fraction of what an object for each subtask does. Views, which
have such objects, are made when somebody asks for them (``published.py``). A column is never changed, only
replaced, so counts are those of one moment in whatever thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add, attrgetter
from typing import Any, Final, NamedTuple

from firesteel.jobmanager.job_view import AttemptView, SubtaskView, VertexInfo, VertexView
from firesteel.jobmanager.spent import Spent
from firesteel.jobmanager.subtask_metrics import SubtaskMetrics
from firesteel.runtime.program import Ack
from firesteel.runtime.task_report import TaskReport

_NO_RECORDS: Final = (0, 0)


class VertexCounts(NamedTuple):
    """The columns are the fields of ``SubtaskView``. ``operators``: a column for the records in and one for
    those out of each operator."""

    info: VertexInfo
    attempts: list[AttemptView]
    earlier: list[tuple[AttemptView, ...]]
    records_in: list[int]
    records_out: list[int]
    bytes_in: list[int]
    bytes_out: list[int]
    operators: list[tuple[list[int], list[int]]]
    watermarks: list[int | None]
    busy_ms: list[float]
    back_pressured_ms: list[float]
    active_ms: list[int]
    lag_ms: list[int | None]
    metrics: SubtaskMetrics

    @classmethod
    def nothing(cls, info: VertexInfo, attempts: Iterable[AttemptView]) -> VertexCounts:
        """Those of subtasks that have not run."""
        number = info.parallelism
        zeros = [0] * number
        return cls(
            info,
            list(attempts),
            [()] * number,
            *(zeros, zeros, zeros, zeros),
            operators=[(zeros, zeros)] * len(info.operators),
            watermarks=[None] * number,
            busy_ms=[0.0] * number,
            back_pressured_ms=[0.0] * number,
            active_ms=zeros,
            lag_ms=[None] * number,
            metrics=SubtaskMetrics(),
        )

    def with_epoch(
        self, acks: Sequence[Ack], spent: Sequence[Spent], reports: Sequence[TaskReport], now_ms: int
    ) -> VertexCounts:
        """Return the counts with what an epoch adds; the same object if it adds nothing.

        :param acks: of all subtasks, in their order; ``spent`` likewise.
        :param reports: of the tasks of its level.
        """
        assert len(acks) == len(spent) == self.info.parallelism
        uids = [operator.id for operator in self.info.operators]
        after = self._replace(
            records_in=_plus(self.records_in, "records_in", acks),
            records_out=_plus(self.records_out, "records_out", acks),
            bytes_in=_plus(self.bytes_in, "bytes_in", acks),
            bytes_out=_plus(self.bytes_out, "bytes_out", acks),
            operators=[
                _with_records(*columns, [ack.operators.get(uid, _NO_RECORDS) for ack in acks])
                for uid, columns in zip(uids, self.operators, strict=True)
            ],
            watermarks=[
                before if ack.watermark is None else ack.watermark
                for before, ack in zip(self.watermarks, acks, strict=True)
            ],
            busy_ms=_plus(self.busy_ms, "busy", spent),
            back_pressured_ms=_plus(self.back_pressured_ms, "back_pressured", spent),
            active_ms=[
                now_ms if _worked(ack) else before for before, ack in zip(self.active_ms, acks, strict=True)
            ],
            lag_ms=_with_lags(self.lag_ms, reports, uids),
            metrics=self.metrics.with_epoch(acks, reports, uids),
        )
        return self if after == self else after

    def with_attempts(self, moved: Mapping[int, tuple[AttemptView, tuple[AttemptView, ...]]]) -> VertexCounts:
        """Return the counts with other attempts of some subtasks, each with those before it."""
        attempts, earlier = self.attempts.copy(), self.earlier.copy()
        for index, (attempt, before) in moved.items():
            attempts[index], earlier[index] = attempt, before
        return self._replace(attempts=attempts, earlier=earlier)

    def rescaled(self, info: VertexInfo, attempts: Iterable[AttemptView]) -> VertexCounts:
        """Return the counts of other subtasks. What those have counted that are no more is added to the ones
        that are, so that the sums stay."""
        number = info.parallelism
        return VertexCounts.nothing(info, attempts)._replace(
            records_in=_folded(self.records_in, number),
            records_out=_folded(self.records_out, number),
            bytes_in=_folded(self.bytes_in, number),
            bytes_out=_folded(self.bytes_out, number),
            operators=[(_folded(into, number), _folded(out, number)) for into, out in self.operators],
            watermarks=[_least(self.watermarks[n::number]) for n in range(number)],
            busy_ms=_folded(self.busy_ms, number),
            back_pressured_ms=_folded(self.back_pressured_ms, number),
            active_ms=[max(self.active_ms[n::number], default=0) for n in range(number)],
            metrics=self.metrics.rescaled(number),
        )

    def view(self) -> VertexView:
        pairs = [zip(into, out, strict=True) for into, out in self.operators]
        subtasks = map(  # by position: the columns are in the order of its fields
            SubtaskView,
            range(self.info.parallelism),
            self.attempts,
            self.earlier,
            self.records_in,
            self.records_out,
            self.bytes_in,
            self.bytes_out,
            zip(*pairs, strict=True),
            self.watermarks,
            self.busy_ms,
            self.back_pressured_ms,
            self.active_ms,
            self.lag_ms,
            self.metrics.shown(self.info.parallelism),
        )
        return VertexView(self.info, tuple(subtasks))


def _plus(column: list[Any], name: str, more: Iterable[object]) -> list[Any]:
    return list(map(add, column, map(attrgetter(name), more)))


def _with_records(
    into: list[int], out: list[int], more: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    return (
        [before + added for before, (added, _) in zip(into, more, strict=True)],
        [before + added for before, (_, added) in zip(out, more, strict=True)],
    )


def _worked(ack: Ack) -> bool:
    """Whether the subtask had records."""
    return bool(ack.records_in or ack.records_out) or any(map(any, ack.operators.values()))


def _with_lags(
    before: list[int | None], reports: Iterable[TaskReport], uids: Sequence[str]
) -> list[int | None]:
    lags = [(report.subtask, report.lags_ms) for report in reports if report.lags_ms]
    if not lags:
        return before
    after = before.copy()
    for index, lags_ms in lags:
        known = [lags_ms[uid] for uid in uids if uid in lags_ms]
        if known:
            after[index] = known[0]
    return after


def _folded(column: list[Any], number: int) -> list[Any]:
    return [sum(column[n::number]) for n in range(number)]


def _least(watermarks: Sequence[int | None]) -> int | None:
    """None: one of them is not known, or there is none."""
    known = [watermark for watermark in watermarks if watermark is not None]
    return min(known, default=None) if len(known) == len(watermarks) else None
