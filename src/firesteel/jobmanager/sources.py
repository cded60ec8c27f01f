"""Source coordinators: which splits there are, who reads them, and how far each epoch goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from firesteel.common.errors import StateError
from firesteel.common.logs import logger
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.alignment import group_watermarks, limit_of
from firesteel.jobmanager.enumerators import NamedEnumerator
from firesteel.jobmanager.lines import Subtask
from firesteel.program.sources import (
    Boundedness,
    EnumeratorContext,
    ReadRange,
    Source,
    Split,
    SplitEnumerator,
)
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.runtime.messages import Order
from firesteel.runtime.operators.planned_ranges import ReadSoFar
from firesteel.runtime.program import Ack, SourceAssignment, SplitTime
from firesteel.storage import records
from firesteel.storage.records import record

log = logger(__name__)

# Of a range in real time: a task has nothing to read from the end of one until the driver has planned the
# next, so they are long; an enumerator may have to look so far ahead.
_RECORDS: Final = 1 << 20
_BYTES: Final = 256 << 20
_ASK_MS: Final = 100  # how often a source that had nothing is asked again when it does not say itself

_UNKNOWN: Final = SplitTime(MIN_WATERMARK, idle=False)  # as long as no ack of an aligned source says it


@record("split progress")
@dataclass(slots=True)
class SplitProgress:
    """How far the committed epochs came with one split."""

    split: Split
    subtask: int
    position: Any = None
    announced: bool = False  # a committed epoch has told the subtask of it
    ended: bool = False
    time: SplitTime = _UNKNOWN
    waits: bool = False  # for the others of its group, when the last committed epoch ended

    def is_ahead(self, limit: int | None) -> bool:
        return limit is not None and self.time.watermark > limit


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one epoch may read of one split."""

    max_records: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What one source does in an epoch. ``wanted``: the epoch is needed for this source's sake.
    ``next_ms``: when to ask again at the latest, when nothing can be read now."""

    assignments: dict[int, SourceAssignment]
    wanted: bool
    next_ms: int | None


@dataclass(frozen=True, slots=True)
class Lag:
    """How many records wait in each source, by operator id and split, and which subtask reads each split."""

    pending: Mapping[str, Mapping[str, int]]
    readers: Mapping[str, Mapping[str, int]]


class SourceCoordinator:
    """One source of the job, on the driver (Flink: ``SourceCoordinator``)."""

    def __init__(
        self,
        vertex: str,
        uid: str,
        source: Source,
        strategy: WatermarkStrategy | None,
        context: EnumeratorContext,
        name: str = "source",
    ) -> None:
        self.vertex = vertex
        self.uid = uid
        self.alignment = None if strategy is None else strategy.alignment
        self._kind, self._name = source.splits_kind, name
        self.bounded = source.boundedness is Boundedness.BOUNDED
        self._parallelism = context.parallelism
        self._splits: dict[str, SplitProgress] = {}
        reader = source.create_reader()
        self._polls = reader.polls
        self._acknowledges = context.polled and reader.polls and reader.acknowledges
        self._covered: dict[str, Any] = {}  # positions of a checkpoint that tasks have not heard of
        context = replace(context, polled=context.polled and reader.polls)
        self._enumerator: SplitEnumerator = NamedEnumerator(source, context, name, uid)
        self._ended_subtasks: set[int] = set()
        self._limit: int | None = None  # of the epoch that was planned last
        self._drains = False
        self._handed_out: set[str] = set()  # ids of splits, in real-time mode
        self._given: Counter[str] = Counter()  # split -> how many ranges were planned, in real-time mode
        self._silent: set[str] = set()  # ids of splits that had nothing when they were asked
        self._ask_at_ms = 0  # when they are asked again

    def open(self) -> None:
        self._enumerator.open()

    def close(self) -> None:
        self._enumerator.close()

    @property
    def split_times(self) -> list[SplitTime]:
        """The event time of each split that has not ended."""
        return [p.time for p in self._splits.values() if not p.ended]

    def plan(self, now_ms: int, budget: Budget, limit: int | None) -> SourcePlan:
        """``limit``: splits whose watermark is above it wait (alignment)."""
        self._limit = limit
        if self._drains:
            return self._last_plan()
        self._discover(now_ms)
        ranges: dict[int, list[ReadRange]] = {}
        new: dict[int, list[str]] = {}
        waiting = resumed = False
        for progress in self._splits.values():
            if progress.ended:
                continue
            if not progress.announced:
                new.setdefault(progress.subtask, []).append(progress.split.id)
            if progress.is_ahead(limit):
                waiting = True
                continue
            resumed = resumed or progress.waits
            readable = self._enumerator.plan(
                progress.split, progress.position, budget.max_records, budget.max_bytes, now_ms
            )
            if readable is not None:
                ranges.setdefault(progress.subtask, []).append(readable)
        last = self._enumerator.finished
        assignments = {
            i: SourceAssignment(tuple(ranges.get(i, ())), tuple(new.get(i, ())), last, limit)
            for i in range(self._parallelism)
        }
        # A split that goes on may have nothing to give: the epoch lets its idleness timeout begin.
        wanted = bool(ranges or new or resumed) or (last and self._has_ending_subtask())
        # When a waiting split has data is of no use: what lets it go on is an epoch of others.
        return SourcePlan(assignments, wanted, None if waiting else self._enumerator.next_data_ms(now_ms))

    def hand_out(self, now_ms: int, everything: bool) -> dict[int, list[tuple[Split, Any]]]:
        """Real-time mode: the splits that each subtask is to read from now on, with where to begin.

        :param everything: those, too, that were handed out before: to tasks that have just begun.
        """
        self._discover(now_ms)
        if everything:
            self._given.clear()
            self._silent.clear()
        found: dict[int, list[tuple[Split, Any]]] = {}
        for progress in self._splits.values():
            if not progress.ended and (everything or progress.split.id not in self._handed_out):
                split, position = progress.split, progress.position
                if self._polls:
                    split = self._enumerator.hand_out(split, position)
                found.setdefault(progress.subtask, []).append((split, position))
                self._handed_out.add(progress.split.id)
        return found

    @property
    def plans_ahead(self) -> bool:
        """Whether the driver says what tasks read, in real-time mode, too."""
        return not self._polls

    def plan_ahead(self, now_ms: int, read: Mapping[str, ReadSoFar]) -> dict[int, list[ReadRange]]:
        """Real-time mode: what each subtask may read now of splits whose last range is over.

        :param read: how far the tasks are, by split.
        """
        if self._polls or self._drains:
            return {}
        asks = now_ms >= self._ask_at_ms
        found: dict[int, list[ReadRange]] = {}
        for progress in self._splits.values():
            id = progress.split.id
            so_far = read.get(id, ReadSoFar(0, progress.position, ended=False))
            is_read = progress.ended or so_far.ended or id not in self._handed_out
            if is_read or so_far.ranges < self._given[id] or (id in self._silent and not asks):
                continue
            readable = self._enumerator.plan(progress.split, so_far.position, _RECORDS, _BYTES, now_ms)
            if readable is None:
                self._silent.add(id)
            else:
                self._silent.discard(id)
                self._given[id] += 1
                found.setdefault(progress.subtask, []).append(readable)
        if asks:
            hint = self._enumerator.next_data_ms(now_ms)
            self._ask_at_ms = now_ms + _ASK_MS if hint is None else max(now_ms + 1, hint)
        return found

    def are_read(self, read: Mapping[str, ReadSoFar]) -> bool:
        """Real-time mode: whether nothing is left to be read, as far as the tasks say by ranges."""
        return not self._polls and all(
            progress.ended or (progress.split.id in read and read[progress.split.id].ended)
            for progress in self._splits.values()
        )

    @property
    def is_complete(self) -> bool:
        """No split will be added."""
        return self._drains or self._enumerator.finished

    def _discover(self, now_ms: int) -> None:
        for split in self._enumerator.discover(now_ms):
            known = self._splits.get(split.id)
            if known is None:
                self._splits[split.id] = SplitProgress(split, len(self._splits) % self._parallelism)
            else:
                known.split = split  # after a restore: what it is read from may lie elsewhere now

    def checkpoint_completed(self) -> None:
        """A checkpoint holds how far the committed epochs came."""
        positions = {s: p.position for s, p in self._splits.items() if p.position is not None}
        if self._acknowledges:
            self._covered = positions
        try:
            self._enumerator.checkpoint_completed(positions)
        except Exception:  # the checkpoint is complete whatever others make of it
            log.exception("a source could not tell of a checkpoint uid=%s", self.uid)

    @property
    def acknowledges(self) -> bool:
        """Whether the tasks are told of checkpoints."""
        return self._acknowledges

    def take_covered(self) -> dict[str, Any]:
        """Real-time mode: the positions of a checkpoint of which the tasks are to be told now, by split."""
        covered, self._covered = self._covered, {}
        return covered

    def pending_records(self) -> dict[str, int]:
        """By split, as far as the source knows."""
        return dict(self._enumerator.pending_records())

    def readers(self, splits: Iterable[str]) -> dict[str, int]:
        """Which subtask reads each of these splits, if it is assigned."""
        return {id: self._splits[id].subtask for id in splits if id in self._splits}

    def drain(self) -> None:
        """Nothing more is read: with the next epoch the source comes to its end, as if all were read."""
        self._drains = True

    def _last_plan(self) -> SourcePlan:
        end = SourceAssignment(last=True, drain=True)
        wanted = len(self._ended_subtasks) < self._parallelism
        return SourcePlan(dict.fromkeys(range(self._parallelism), end), wanted, None)

    def snapshot(self) -> bytes:
        """How far the committed epochs came, for ``restore``."""
        splits = list(self._splits.values())
        return records.pack((self._enumerator.snapshot(), splits, self._ended_subtasks, self._kind))

    def restore(self, snapshot: bytes, exact: bool) -> None:
        """Go on from a snapshot; before the first ``plan``.

        :param exact: subtasks keep their splits. Otherwise the splits are assigned again, and a source that
            had ended reports its end again.
        :raises StateError: it is of a source of another kind.
        """
        state, splits, ended, *kind = records.unpack(snapshot)
        if kind and kind[0] != self._kind:  # earlier releases do not say it
            raise StateError(
                f"The checkpoint or savepoint holds how far a source of another kind came ({kind[0]}), "
                f"and the job has one of kind {self._kind} in its place.",
                detail="what one has read says nothing to the other",
                hint="give the new source another uid; to drop what is known of the old one use "
                "--allow-non-restored-state (execution.state-recovery.ignore-unclaimed-state)",
                operator=self._name,
                uid=self.uid,
            )
        if state is not None:
            self._enumerator.restore(state)
        for number, progress in enumerate(splits):
            if not exact:
                progress = SplitProgress(
                    progress.split, number % self._parallelism, progress.position, ended=progress.ended
                )
            self._splits[progress.split.id] = progress
        if exact:
            self._ended_subtasks = ended

    def rescale(self, parallelism: int) -> None:
        """Deal the splits out over another number of subtasks; between two epochs. What is known of them
        stays, and a source that had ended reports its end again."""
        self._parallelism = parallelism
        for number, progress in enumerate(self._splits.values()):
            progress.subtask = number % parallelism
        self._ended_subtasks = set()
        self._handed_out.clear()
        self._given.clear()
        self._silent.clear()

    @property
    def split_ids(self) -> list[list[str]]:
        """Of each subtask, the splits that it reads and has heard of."""
        found: list[list[str]] = [[] for _ in range(self._parallelism)]
        for progress in self._splits.values():
            if progress.announced and not progress.ended:
                found[progress.subtask].append(progress.split.id)
        return found

    def _has_ending_subtask(self) -> bool:
        live = {p.subtask for p in self._splits.values() if not p.ended}
        return any(i not in live and i not in self._ended_subtasks for i in range(self._parallelism))

    def commit(self, ack: Ack) -> None:
        """The epoch of this answer is committed: go on from where it came to."""
        for split, position in ack.positions.get(self.uid, {}).items():
            self._splits[split].position = position
            self._enumerator.came_to(self._splits[split].split, position)
        for split in ack.ended_splits.get(self.uid, ()):
            self._splits[split].ended = True
            self._enumerator.split_ended(self._splits[split].split)
        for split, time in ack.split_times.get(self.uid, {}).items():
            self._splits[split].time = time
        for progress in self._splits.values():
            if progress.subtask == ack.subtask:
                progress.announced = True
                progress.waits = progress.is_ahead(self._limit)
        if ack.ended:
            self._ended_subtasks.add(ack.subtask)


class JobSources:
    """All sources of a job."""

    def __init__(self, graph: JobGraph, work_dir: str, checkpointing: bool, real_time: bool = False) -> None:
        self._coordinators = [
            SourceCoordinator(
                vertex.id,
                operator.operator_id,
                operator.node.operator,
                operator.node.watermark_strategy,
                EnumeratorContext(vertex.parallelism, work_dir, checkpointing, polled=real_time),
                operator.node.name,
            )
            for vertex in graph.vertices
            for operator in vertex.operators
            if isinstance(operator.node.operator, Source)
        ]
        self.vertices = frozenset(c.vertex for c in self._coordinators)
        self.unbounded = not all(c.bounded for c in self._coordinators)

    def open(self) -> None:
        for coordinator in self._coordinators:
            coordinator.open()

    @property
    def closing(self) -> list[Callable[[], None]]:
        return [c.close for c in self._coordinators]

    def checkpoint_completed(self) -> None:
        """A checkpoint is complete, and no epoch was run since it was taken."""
        for coordinator in self._coordinators:
            coordinator.checkpoint_completed()

    def lag(self) -> Lag:
        """What waited in each source when the last epoch was planned."""
        pending = {c.uid: c.pending_records() for c in self._coordinators}
        return Lag(pending, {c.uid: c.readers(pending[c.uid]) for c in self._coordinators})

    drains = False  # the sources end with the next epoch

    def drain(self) -> None:
        """End all sources where they are."""
        self.drains = True
        for coordinator in self._coordinators:
            coordinator.drain()

    def snapshot(self) -> dict[str, bytes]:
        """The progress of each source, by operator id."""
        return {c.uid: c.snapshot() for c in self._coordinators}

    def restore(self, progress: Mapping[str, bytes], exact: bool) -> None:
        """Go on from ``snapshot``; sources that are not in it begin at their start."""
        for coordinator in self._coordinators:
            if coordinator.uid in progress:
                coordinator.restore(progress[coordinator.uid], exact)

    def rescale(self, parallelism: Mapping[str, int]) -> None:
        """Deal all splits out again: vertex id -> how many subtasks it has."""
        for coordinator in self._coordinators:
            coordinator.rescale(parallelism[coordinator.vertex])

    def split_ids(self) -> dict[tuple[str, str], list[list[str]]]:
        """Of each (vertex, operator id) and subtask, the splits that it reads and has heard of."""
        return {(c.vertex, c.uid): c.split_ids for c in self._coordinators}

    def plan(self, now_ms: int, budget: Budget) -> ReadPlan:
        watermarks = group_watermarks((c.alignment, c.split_times) for c in self._coordinators)
        plans = {
            (c.vertex, c.uid): c.plan(now_ms, budget, limit_of(c.alignment, watermarks))
            for c in self._coordinators
        }
        return ReadPlan(plans)

    def hand_out(self, now_ms: int, everything: bool) -> Order:
        """Real-time mode: what the tasks are to read that they do not know of, and how far all may read."""
        splits: dict[Subtask, dict[str, list[tuple[Split, Any]]]] = {}
        for c in self._coordinators:
            for subtask, found in c.hand_out(now_ms, everything).items():
                splits.setdefault((c.vertex, subtask), {})[c.uid] = found
        complete = frozenset(c.uid for c in self._coordinators if c.is_complete)
        return Order(splits=splits, complete=complete, limits=self.limits())

    @property
    def plans_ahead(self) -> bool:
        """Whether there are sources of which the driver says what tasks read, in real-time mode, too."""
        return any(c.plans_ahead for c in self._coordinators)

    def plan_ahead(self, now_ms: int, read: Mapping[str, Mapping[str, ReadSoFar]]) -> Order | None:
        """Real-time mode: what may be read now where the last range is over; None: nothing.

        :param read: how far the tasks are: source -> split -> what they have said.
        """
        ranges: dict[Subtask, dict[str, list[ReadRange]]] = {}
        for c in self._coordinators:
            for subtask, found in c.plan_ahead(now_ms, read.get(c.uid, {})).items():
                ranges.setdefault((c.vertex, subtask), {})[c.uid] = found
        return Order(ranges=ranges) if ranges else None

    def are_read(self, complete: Collection[str], read: Mapping[str, Mapping[str, ReadSoFar]]) -> bool:
        """Real-time mode: whether the input of the job has come to its end, and only waits for its epoch to.

        :param complete: the sources of which the tasks know that they get no more splits.
        """
        return all(c.uid in complete and c.are_read(read.get(c.uid, {})) for c in self._coordinators)

    @property
    def acknowledge(self) -> bool:
        """Real-time mode: whether there are tasks that are told of checkpoints."""
        return any(c.acknowledges for c in self._coordinators)

    def take_covered(self) -> Order | None:
        """Real-time mode: the checkpoint of which the tasks are to be told; None: there is none."""
        covered = {c.uid: positions for c in self._coordinators if (positions := c.take_covered())}
        return Order(covered=covered) if covered else None

    def limits(self) -> dict[str, int | None]:
        """Source -> the watermark above which its splits wait (alignment)."""
        watermarks = group_watermarks((c.alignment, c.split_times) for c in self._coordinators)
        return {c.uid: limit_of(c.alignment, watermarks) for c in self._coordinators}

    def commit(self, acks: Sequence[Ack]) -> None:
        for ack in acks:
            for coordinator in self._coordinators:
                if coordinator.vertex == ack.vertex:
                    coordinator.commit(ack)


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What all sources do in an epoch, by (vertex, uid)."""

    plans: dict[tuple[str, str], SourcePlan]

    @property
    def wanted(self) -> bool:
        return any(p.wanted for p in self.plans.values())

    @property
    def next_ms(self) -> int | None:
        """The latest instant at which there may be something to read; None: unknown."""
        hints = [p.next_ms for p in self.plans.values()]
        known = [h for h in hints if h is not None]
        return min(known) if known and len(known) == len(hints) else None

    def of(self, subtask: Subtask) -> dict[str, SourceAssignment]:
        """The assignments of one subtask, by source uid."""
        vertex, index = subtask
        return {uid: plan.assignments[index] for (v, uid), plan in self.plans.items() if v == vertex}
