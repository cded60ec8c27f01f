"""How large an epoch is, and how soon the next one follows.

Two things keep an epoch short. A *budget* says how many records are planned; it is adapted to a target length
and capped by records, bytes and dirty state. A *pace* says how long tasks may work: it catches code that is
slower than anybody knew. What is learned of one epoch decides about both of the next.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from firesteel.jobmanager.epoch_overhead import EpochOverhead
from firesteel.jobmanager.sources import Budget
from firesteel.runtime.program import Ack, Pace
from firesteel.runtime.task_report import TaskReport
from firesteel.state.backend import CHANGES_BYTES
from firesteel.state.line import EpochDelta

_FIRST_RECORDS: Final = 20_000  # their size is not known yet
_DIRTY_ENTRIES: Final = 1_000_000  # changed state entries of one subtask in one epoch
_FIRST_CHEAP_PER_MS: Final = 262.144  # where each is known to cost microseconds: 131,072 for 500 ms
_STEP: Final = 8.0  # an epoch is at most this many times larger than the one before
#: The same where no task is sent anything: all of them stop when their time is over.
_STEP_OF_SOURCES: Final = 64.0
_FIRST_LIMIT_MS: Final = 500.0  # of an epoch while the cost of a record is unknown
_FIRST_CHEAP_LIMIT: Final = 1 / 3  # of the target, if that is longer, where it should be small
_OVERRUN: Final = 4.0  # a task that works for this many limits gives the epoch up
_AFTER_GIVING_UP: Final = 0.5  # the part of the target that is aimed at then: output is late already
_PIECES: Final = 4  # the first look at the clock comes after this part of the limit
_LATE: Final = 4  # an epoch is never cut shorter than this part of the checkpoint interval ...
_LEAST_LIMIT_MS: Final = 100.0  # ... nor than this
_LEAST_OVERRUN_MS: Final = 1000.0
_FIRST_CHEAP_OVERRUN_MS: Final = 4000.0  # the same while nothing is known of records that should be cheap
_QUICK_MS: Final = 20.0  # the first record says nothing if it takes no longer: code that runs first is slow
_FORGOTTEN: Final = 0.7  # of what the slowest records cost, what is still believed an epoch later


@dataclass(frozen=True, slots=True)
class PacingOptions:
    """``target_ms`` is the length aimed at while there is a backlog; the two caps hold for each split;
    ``min_interval_ms`` lies between the starts of two epochs while there is no backlog;
    ``checkpoint_interval_ms`` bounds the length of an epoch, because checkpoints come between epochs;
    ``with_exchange``: there are tasks that cannot stop before they have processed what they were sent;
    ``is_cheap``: no code of the user's runs for a record, and nobody outside is waited for;
    ``dirty_bytes``: of state, that one subtask should change at most in one epoch;
    ``limited`` says whether tasks look at the clock (BATCH mode has one epoch, however long it takes)."""

    target_ms: int
    max_records: int | None = None
    max_bytes: int = 512 * 1024 * 1024
    min_interval_ms: int = 100
    checkpoint_interval_ms: int | None = None
    with_exchange: bool = False
    is_cheap: bool = False
    dirty_bytes: int = CHANGES_BYTES
    limited: bool = True


@dataclass(frozen=True, slots=True)
class EpochSize:
    """What an epoch may take. ``pace`` None: its ranges are processed whole."""

    budget: Budget
    pace: Pace | None


@dataclass(frozen=True, slots=True)
class Work:
    """What one epoch did.

    :param elapsed_ms: without what the tasks only waited for at its end, which does not become less with
        fewer records.
    :param records: read by all sources.
    :param most_records: the most that one subtask read; ``most_of_split``: that was read of one split, on
        average over the splits of a subtask.
    :param most_dirty: the most state that one subtask changed, as a share of what it should (``dirt``).
    :param busy_ms: how long the busiest task of each level worked on records, in all; 0: it is not known.
    :param is_cut: the time limit ended it before its ranges did.
    :param is_start: nothing was run before it since the job began or was restarted: it has waited for
        workers, and for imports of what the functions use.
    """

    elapsed_ms: float
    records: int
    most_records: int
    most_dirty: float = 0.0
    is_cut: bool = False
    most_of_split: float = 0.0
    busy_ms: float = 0.0
    is_start: bool = False

    @property
    def overhead_ms(self) -> float | None:
        """What the epoch took beside the work on records: planning, scheduling, the exchange, the commit.
        None: it is not known, because no task has said how long it worked."""
        is_known = self.busy_ms > 0 or not self.records
        return max(0.0, self.elapsed_ms - self.busy_ms) if is_known else None


def dirt(delta: EpochDelta, most_bytes: int = CHANGES_BYTES) -> float:
    """What an epoch has changed of the state of a subtask; 1 is the most that it should."""
    return max(delta.entries / _DIRTY_ENTRIES, delta.length / most_bytes)


def _pace_of(limit_ms: float, overrun_ms: float, records: int) -> Pace:
    return Pace(math.ceil(limit_ms), math.ceil(overrun_ms), max(1, records))


def work_of(
    acks: Sequence[Ack],
    sources: Collection[str],
    elapsed_ms: float,
    reports: Sequence[TaskReport] = (),
    *,
    is_start: bool = False,
    dirty_bytes: int = CHANGES_BYTES,
) -> Work:
    """What the tasks of an epoch say; ``sources`` are the vertices that read."""
    reading = [a for a in acks if a.vertex in sources]
    return Work(
        elapsed_ms - max((a.waited_ms for a in acks), default=0.0),
        sum(a.records_in for a in reading),
        max((a.records_in for a in reading), default=0),
        max((dirt(a.delta, dirty_bytes) for a in acks if a.delta is not None), default=0.0),
        any(a.is_cut for a in reading),
        max((a.records_in / max(1, sum(map(len, a.positions.values()))) for a in reading), default=0.0),
        _busy_ms(reports),
        is_start,
    )


def _busy_ms(reports: Sequence[TaskReport]) -> float:
    most: dict[int, float] = {}
    for report in reports:
        on_records_ms = sum(report.busy_ms.values()) - report.compacting_ms
        most[report.level] = max(most.get(report.level, 0.0), on_records_ms)
    return sum(most.values())  # the levels of an epoch run one after the other


class Pacer:
    """Learns from each epoch how many records fit into the target length."""

    def __init__(self, options: PacingOptions) -> None:
        self._options = options
        interval_ms = options.checkpoint_interval_ms or options.target_ms
        self._target_ms = float(min(options.target_ms, max(interval_ms, _LEAST_LIMIT_MS)))
        first = self._target_ms * _FIRST_CHEAP_PER_MS if options.is_cheap else _FIRST_RECORDS
        self._records = float(options.max_records or first)  # of a split, in an epoch of full length
        self._planned = int(self._records)  # the same in the epoch that was planned last
        self._overhead = EpochOverhead()
        self._per_ms: float | None = None  # records of a split for each millisecond of work
        self._slow_ms = 0.0  # what a record of each split has cost lately, at worst
        self._gave_up = False  # the last epoch
        stop_alone = options.limited and not options.with_exchange
        self._step = _STEP_OF_SOURCES if stop_alone else _STEP
        # Whether the first record is to come, and alone: if one takes seconds behind an exchange, an epoch of
        # many would be given up, and what has been waited for would have to be waited for again.
        self._tries = (
            options.with_exchange
            and not options.is_cheap
            and options.limited
            and options.max_records is None
            and options.checkpoint_interval_ms is not None
        )
        self._tried_ms: float | None = None  # how long tasks have worked on the first record

    @property
    def dirty_bytes(self) -> int:
        """Of state, that one subtask should change at most in one epoch."""
        return self._options.dirty_bytes

    @property
    def least_ms(self) -> float:
        """How long an epoch of one record of each split takes, at worst."""
        return self._overhead.ms + self._slow_ms

    @property
    def _room_ms(self) -> float:
        """How long an epoch may work on records. Where checkpoints are to come sooner than an empty epoch
        ends, each still does as much as it costs: else it would shrink to one record."""
        return max(self._target_ms - self._overhead.ms, self._overhead.ms)

    def next_epoch(self, to_checkpoint_ms: float | None = None) -> EpochSize:
        """How large the next epoch should be.

        :param to_checkpoint_ms: how long it is until a checkpoint is due; None: there is none.
        """
        limit_ms = self._limit_ms(to_checkpoint_ms)
        self._planned = int(self._records)  # down: one record more may be seconds
        if self._tries:
            self._planned = 1
        elif self._options.max_records is None:
            self._planned = max(1, int(self._records * limit_ms / self._target_ms))
        budget = Budget(self._planned, self._options.max_bytes)
        return EpochSize(budget, self._pace(limit_ms))

    def _limit_ms(self, to_checkpoint_ms: float | None) -> float:
        interval_ms = self._options.checkpoint_interval_ms
        if to_checkpoint_ms is None or interval_ms is None:
            return self._target_ms
        return min(self._target_ms, max(to_checkpoint_ms, interval_ms / _LATE, _LEAST_LIMIT_MS))

    def _pace(self, limit_ms: float) -> Pace | None:
        if self._gave_up or not self._options.limited:
            return None  # an epoch that was given up is run again as small as it is planned
        if self._per_ms is None:
            return self._first_pace(limit_ms)
        overrun_ms = max(limit_ms * _OVERRUN, _LEAST_OVERRUN_MS)
        return _pace_of(limit_ms, overrun_ms, int(self._per_ms * limit_ms / _PIECES))

    def _first_pace(self, limit_ms: float) -> Pace:
        if not self._options.is_cheap:
            return _pace_of(min(limit_ms, _FIRST_LIMIT_MS), _LEAST_OVERRUN_MS, 1)
        limit_ms = min(limit_ms, max(_FIRST_LIMIT_MS, self._target_ms * _FIRST_CHEAP_LIMIT))
        return _pace_of(limit_ms, max(limit_ms * _OVERRUN, _FIRST_CHEAP_OVERRUN_MS), 1)

    def is_full(self, work: Work) -> bool:
        """Whether there may have been more to read than the epoch has taken, of some split at least."""
        return work.is_cut or work.most_of_split >= self._planned

    def pause_ms(self, elapsed_ms: float, work: Work) -> int:
        """How long to wait after an epoch that took ``elapsed_ms`` in all."""
        if work.is_cut or work.records >= self._planned:
            return 0
        return max(0, int(self._options.min_interval_ms - elapsed_ms))

    def learn(self, work: Work) -> None:
        """An epoch that was not run twice is committed."""
        self._gave_up = False
        if self._tries:
            self._tried(work)
            return
        if work.is_start and (work.is_cut or not work.busy_ms):
            return  # the time may be that of an import, so as much is tried again
        worked_ms = max(1.0, self._elapsed_ms(work) - self._overhead.ms)
        if work.most_of_split:
            self._per_ms = work.most_of_split / worked_ms
            self._slow_ms = max(worked_ms / max(1.0, work.most_of_split), self._slow_ms * _FORGOTTEN)
        if not work.is_cut and work.most_records < self._planned * 0.9:
            return  # it was not cut by the budget: nothing to learn
        factor = min(self._step, max(1 / _STEP, self._room_ms / worked_ms))
        if work.most_dirty:
            factor = min(factor, 1 / work.most_dirty)
        base = min(self._planned, work.most_of_split) if work.is_cut else self._planned
        self._set(base * factor)

    def _elapsed_ms(self, work: Work) -> float:
        """How long the epoch would have taken between two others."""
        overhead_ms = work.overhead_ms
        if work.is_start:
            return work.busy_ms + self._overhead.ms
        if overhead_ms is not None:
            self._overhead.learn(work.records, overhead_ms)
        elif not work.is_cut:
            self._overhead.at_most(work.records, work.elapsed_ms)
        return work.elapsed_ms

    def _tried(self, work: Work) -> None:
        """The first epoch's time is mostly that of the job's start, so what its tasks say counts. If they say
        that a record takes long, it may have been an import, and another record is tried."""
        if not work.records:
            return
        if work.busy_ms > _QUICK_MS and self._tried_ms is None:
            self._tried_ms = work.busy_ms
            return
        self._tries = False
        each_ms = min(work.busy_ms, self._tried_ms or work.busy_ms)
        if each_ms > _QUICK_MS:
            self._per_ms = 1 / each_ms
            self._slow_ms = each_ms
            self._set(self._room_ms / each_ms)

    def gave_up(self, work: Work, done: float, worked_ms: float) -> None:
        """A task gave the epoch up after ``worked_ms``, having processed the part ``done`` of its input.
        ``work`` is what is known of the epoch."""
        self._gave_up = True
        read = min(self._planned, work.most_of_split or self._planned)
        self._set(read * done * _AFTER_GIVING_UP * self._target_ms / worked_ms)

    def _set(self, records: float) -> None:
        most = self._options.max_records
        if most is None:
            self._records = max(1.0, records)
        elif self._gave_up or self._records < most:  # what the program says is the most, and what is usual
            self._records = min(float(most), max(1.0, records))
