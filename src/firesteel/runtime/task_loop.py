"""A task that goes on from epoch to epoch: the chains that ``task.py`` runs for one epoch, cut by barriers.

A source task polls its readers, hands on what they give, and ends an epoch when it is told to: its answers
go to the driver, a barrier goes to all tasks of the next level. Each task behind it does the same when the
barriers of all its producers have come. In between processing time moves with every buffer and, when none
comes, as soon as something is due.

What moves a loop, a thread of a worker or a test, calls ``feed`` or ``poll``, then ``on_time``, and sends
what ``take`` gives it.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from firesteel.program.sources import ReadRange, Split
from firesteel.runtime.barriers import BarrierAligner
from firesteel.runtime.chain import Chain
from firesteel.runtime.checkpoint_news import CheckpointNews
from firesteel.runtime.flow_control import Pieces
from firesteel.runtime.loop_settings import LoopSettings, delta_file, epoch_name
from firesteel.runtime.operators.base import BaseOperator
from firesteel.runtime.operators.planned_ranges import ReadSoFar
from firesteel.runtime.operators.source import SourceOperator
from firesteel.runtime.program import Ack, LevelDescriptor, SubtaskDescriptor
from firesteel.runtime.reporting import report_of_task, wall_ms
from firesteel.runtime.task_report import TaskReport
from firesteel.runtime.wire import RowKind, WireRow, edge_of
from firesteel.runtime.worker import OpenLevel
from firesteel.state.background import PendingDelta
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine, advance

Rows: TypeAlias = list[WireRow]
#: Takes the answers of a task for an epoch to the driver, how many milliseconds of CPU its end has cost, and
#: what the task reports beside them.
Deliver: TypeAlias = Callable[[int, list[Ack], float, TaskReport], None]

#: Splits, each with the position to go on from.
Splits: TypeAlias = Sequence[tuple[Split, Any]]

_WAITING_MS: Final = 5.0  # how often it is seen whether answers from outside, or files, are there
# A function that takes so long for a record keeps what is in a buffer from leaving in time. So nothing waits
# in one for a while after it.
_SLOW_MS: Final = 100.0
_AFTER_SLOW_MS: Final = 1000.0
# So many records come one by one, and leave at once: those of a small collection, with which a program may
# wait as long as it likes for each.
_SINGLY: Final = 64
#: A tick comes at least so often.
IDLE_MS: Final = 1000.0


#: Each with its vertex.
_Operators: TypeAlias = Sequence[tuple[str, BaseOperator]]


def _overriding(level: OpenLevel, name: str) -> _Operators:
    """The operators of the task that have an own answer to what *name* asks."""
    plain = getattr(BaseOperator, name)
    return [
        (chain.vertex.id, operator)
        for chain in level.chains
        for operator in chain.operators.values()
        if getattr(type(operator), name) is not plain
    ]


def _nothing() -> None:
    """Nobody takes what is done before all is."""


@dataclass(slots=True)
class _Unsettled:
    """An epoch that has ended, and for which there is no answer yet."""

    epoch: int
    acks: list[Ack]
    ending_ms: float
    report: TaskReport

    @property
    def is_written(self) -> bool:
        return all(ack.delta.is_done for ack in self.acks if isinstance(ack.delta, PendingDelta))


class TaskLoop:
    """The chains of one subtask of one level, epoch after epoch.

    :param deliver: called at the end of each epoch.
    :param now_ms: the wall clock, in milliseconds.
    :param cpu_s: how many seconds the thread has computed.
    """

    def __init__(
        self,
        descriptor: LevelDescriptor,
        subtask: int,
        level: OpenLevel,
        settings: LoopSettings,
        deliver: Deliver,
        now_ms: Callable[[], float] = lambda: time.time_ns() / 1e6,
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._descriptor = descriptor
        self._subtask = subtask
        self._level = level
        self._settings = settings
        self._deliver = deliver
        self._now_ms = now_ms
        self._cpu_s = cpu_s
        self._files = StateFiles(descriptor.state_dir)
        self._aligner = BarrierAligner(settings.producers)
        self._out: Rows = []
        self._states = [chain.state for chain in level.chains if chain.state is not None]
        self._own: dict[str, SubtaskDescriptor] = {
            chain.vertex.id: descriptor.subtasks[chain.vertex.id, subtask] for chain in level.chains
        }
        for chain in level.chains:
            chain.context.buffer_timeout_ms = settings.writer_timeout_ms
            chain.context.clock.follow(now_ms)
        self.watch = level.watch
        self._begun_ms = wall_ms()  # the epoch
        self._unsettled: _Unsettled | None = None
        self._ended: dict[str, Ack] = {}  # vertices whose input has ended, with what they say from then on
        self._sources = {
            (chain.vertex.id, uid): operator
            for chain in level.chains
            for uid, operator in chain.operators.items()
            if isinstance(operator, SourceOperator)
        }
        self._sent = 0  # in the epochs that have ended
        self._received: Counter[int] = Counter()
        self._last: frozenset[str] = frozenset()  # uids of sources that get no more splits
        self._flushed_ms = 0.0
        self._slices = Pieces(sys.maxsize, singly=_SINGLY)
        #: Called between two records, or groups of them, that came together: what is done may leave.
        self.between: Callable[[], None] = _nothing
        self._is_dirty = False  # something may wait to be flushed
        self._at_once_until_ms = 0.0  # and does not wait for others
        self._tick_ms = 0.0  # when the next tick is due at the latest
        self._latency = level.latency
        self._mark_ms = float("inf")  # when sources send the next latency markers
        self._looked_ms = 0.0  # when it was last seen what is due
        # Most operators have neither, and it is asked twice for each buffer.
        self._timed = _overriding(level, "next_timer_ms")
        self._waiting = _overriding(level, "is_waiting")
        interval = level.chains[0].context.watermark_interval_ms if level.chains else 0
        self._interval_ms = float(interval) if interval > 0 else IDLE_MS
        self.epoch = descriptor.epoch

    def _work_in_background(self, wanted: bool) -> None:
        for state in self._states:
            state.work_in_background(wanted)

    # ---- what comes

    def begin(self) -> None:
        """Begin the first epoch."""
        self._work_in_background(True)
        self.watch.take()  # what an earlier attempt has left
        if self._latency is not None:
            self._latency.reset()
            if self._sources:
                self._mark_ms = 0.0
        self.watch.rest()
        for source in self._sources.values():
            with source.user_code:
                source.stop_polling()  # what an earlier attempt of this process had
        self._begin_epoch(self._descriptor.news)
        for source in self._sources.values():
            with source.user_code:
                source.start_polling()

    def feed(self, row: WireRow) -> None:
        """Take a row of a producer. ``WireRow.ord`` says which one it is."""
        for item in self._aligner.feed(row.ord, row):
            if item.kind == RowKind.BARRIER:
                self._end_epoch(pickle.loads(item.body))
            else:
                self._receive(item)

    def _receive(self, row: WireRow) -> None:
        """Process a buffer, or let one pass that is for a deeper level."""
        edge = edge_of(row.channel)
        gate = self._level.gates.get(edge)
        if gate is None:
            self._out.append(row)
            self._is_dirty = True
            return
        if row.kind == RowKind.LATENCY:
            if self._latency is not None:
                self._latency.receive(edge, row.body, self._now_ms())
                self._is_dirty = True
            return
        batch = gate.decode(row.body)
        at, records = 0, len(batch.values)
        while True:
            begun_ms = self._now_ms()
            self._move_time(begun_ms)
            stop = min(records, at + self._slices.records)
            if at == 0 and (stop == records or type(batch.values) is not list):
                part, stop = batch, records
            else:
                part = batch.part(at, stop)
            with self.watch.on(self._level.vertex_of[edge]):
                gate.receive(row.channel, part)
            self._worked(stop - at, self._now_ms() - begun_ms)
            if stop == records:
                return
            at = stop
            self.between()

    def _worked(self, records: int, ms: float) -> None:
        """So many records were processed in so much time."""
        self._is_dirty = True
        if self._unsettled is not None and any(state.is_full for state in self._states):
            self.settle()  # no more of it in memory before the epoch behind is written
        self._slices.worked(records, ms / 1000)
        if ms > _SLOW_MS * max(1, records):
            self._at_once_until_ms = self._now_ms() + _AFTER_SLOW_MS

    # ---- sources

    def add_splits(self, splits: Mapping[tuple[str, int], Mapping[str, Splits]]) -> None:
        """Read these, too: (vertex, subtask) -> operator -> splits with their positions."""
        for (vertex, uid), source in self._sources.items():
            mine = splits.get((vertex, self._subtask), {}).get(uid)
            if mine and vertex not in self._ended:
                with source.user_code:
                    source.add_splits(mine)

    def add_ranges(self, ranges: Mapping[tuple[str, int], Mapping[str, Sequence[ReadRange]]]) -> None:
        """Read what the driver has planned: (vertex, subtask) -> operator -> ranges."""
        for (vertex, uid), source in self._sources.items():
            mine = ranges.get((vertex, self._subtask), {}).get(uid)
            if mine and vertex not in self._ended:
                with source.user_code:
                    source.add_ranges(mine)

    @property
    def ranges_over(self) -> int:
        """How many of those were read."""
        return sum(source.ranges_over for source in self._sources.values())

    @property
    def read_so_far(self) -> dict[str, dict[str, ReadSoFar]]:
        """How far: operator -> split."""
        return {uid: source.read_so_far for (_, uid), source in self._sources.items()}

    def complete(self, uids: frozenset[str]) -> None:
        """These sources get no more splits."""
        self._last = uids

    def hold_above(self, limits: Mapping[str, int | None]) -> None:
        """Source operator -> the watermark above which its splits wait (alignment)."""
        for (_, uid), source in self._sources.items():
            source.hold_above(limits.get(uid))

    def checkpoint_completed(self, covered: Mapping[str, Mapping[str, Any]]) -> None:
        """A checkpoint is complete that holds these positions: source operator -> split -> position."""
        for (vertex, uid), source in self._sources.items():
            if uid in covered and vertex not in self._ended:
                with source.user_code:
                    source.checkpoint_completed(covered[uid])

    def poll(self, wait_ms: float, max_records: int) -> tuple[int, float]:
        """Hand on about *max_records* records that the readers have, and wait for a while when they have
        none; how many that were, and how many seconds they took."""
        found, worked_s = 0, 0.0
        live = [s for (vertex, _), s in self._sources.items() if vertex not in self._ended and not s.ended]
        if not live:
            time.sleep(wait_ms / 1000)
            return 0, 0.0
        self._move_time(self._now_ms())

        def wait() -> float:
            return 0.0 if found else wait_ms / len(live)

        parts = deque((source, source.poll(max_records, wait, self._slices)) for source in live)
        while parts:
            source, following = parts.popleft()
            with source.user_code:
                part = next(following, None)
            if part is None:
                continue
            parts.append((source, following))  # in turn: one may be slow
            found += part.records
            worked_s += part.seconds
            self._worked(part.records, part.seconds * 1000)
            if part.has_more or len(parts) > 1:
                self.between()
                self._move_time(self._now_ms())
        return found, worked_s

    def cut(self, drain: bool, news: CheckpointNews) -> None:
        """End the epoch here.

        :param drain: and the input with it.
        :param news: the checkpoint that is to cover the epoch, and those that had ended before it did.
        """
        for (vertex, uid), source in self._sources.items():
            if vertex not in self._ended and not source.ended:
                with source.user_code:
                    source.end_polling(uid in self._last, drain)
        self._end_epoch(news)

    # ---- time

    def on_time(self) -> None:
        """Do what is due by now: timers, periodic watermarks, buffers that have waited for long enough."""
        if self._unsettled is not None and self._unsettled.is_written:
            self.settle()
        now_ms = self._now_ms()
        if now_ms - self._looked_ms >= 1 or now_ms >= self._tick_ms:
            self._looked_ms = now_ms
            due = self._due_ms()
            if now_ms >= min(self._tick_ms, due):
                self._move_time(now_ms)
                self._each(Chain.tick)
                self._is_dirty = True
                self._tick_ms = now_ms + self._interval_ms
        if self._latency is not None and now_ms >= self._mark_ms:
            self._mark_ms = now_ms + self._latency.interval_ms
            self._latency.mark(now_ms, now_ms)
            self._is_dirty = True
        if self._is_dirty and self._is_flush_due(now_ms):
            self._each(Chain.flush)
            self._send_markers()
            self._flushed_ms = self._settings.flushed_ms(now_ms)
            self._is_dirty = False

    def wait_ms(self, at_most: float) -> float:
        """How long nothing will be due."""
        now_ms = self._now_ms()
        until = min(self._tick_ms, self._mark_ms, self._due_ms())
        if self._waiting and any(o.is_waiting for o in self._running(self._waiting)):
            until = min(until, now_ms + _WAITING_MS)
            self._is_dirty = True
        if self._unsettled is not None:
            until = min(until, now_ms + _WAITING_MS)
        timeout = self._settings.buffer_timeout_ms
        if self._is_dirty and timeout is not None:
            until = min(until, self._flushed_ms + timeout)
        return min(at_most, max(0.0, until - now_ms))

    def rest_ms(self) -> float:
        """How long a record that is read now would wait in a buffer for others."""
        timeout = self._settings.buffer_timeout_ms
        return 0.0 if timeout is None else max(0.0, self._flushed_ms + timeout - self._now_ms())

    def _due_ms(self) -> float:
        """When the next timer of any operator is due."""
        if not self._timed:
            return float("inf")
        due = (o.next_timer_ms() for o in self._running(self._timed))
        return min((float(ms) for ms in due if ms is not None), default=float("inf"))

    def _running(self, operators: _Operators) -> Iterator[BaseOperator]:
        """Those of them whose input has not ended."""
        return (o for vertex, o in operators if vertex not in self._ended)

    def _is_flush_due(self, now_ms: float) -> bool:
        timeout = self._settings.buffer_timeout_ms
        if timeout is None:
            return False
        if now_ms - self._flushed_ms >= timeout or now_ms < self._at_once_until_ms:
            return True
        return self._slices.come_singly

    def _move_time(self, now_ms: float) -> None:
        for chain in self._live():
            chain.move_time(int(now_ms))

    # ---- what leaves

    @property
    def channels(self) -> frozenset[int]:
        """By which records leave for other tasks."""
        return frozenset(channel for chain in self._level.chains for channel in chain.sent)

    @property
    def sent(self) -> int:
        """How many records have left for other tasks since the loop began."""
        return self._sent + sum(sum(chain.sent.values()) for chain in self._live())

    def received(self) -> Counter[int]:
        """How many have come from other tasks, and were processed, by channel."""
        total = self._received.copy()
        for chain in self._live():
            total.update(chain.received)
        return total

    def take(self) -> Rows:
        """What is to be sent, each row with its sender: barriers are aligned by that."""
        rows = [row._replace(ord=self._subtask) for row in self._out]
        self._out.clear()
        return rows

    def _live(self) -> list[Chain]:
        if not self._ended:
            return self._level.chains
        return [chain for chain in self._level.chains if chain.vertex.id not in self._ended]

    def _each(self, act: Callable[[Chain], None]) -> None:
        for chain in self._live():
            with chain.user_code, self.watch.on(chain.vertex.id):
                act(chain)

    # ---- epochs

    def _begin_epoch(self, news: CheckpointNews) -> None:
        now_ms = self._now_ms()
        for chain in self._live():
            with chain.user_code, self.watch.on(chain.vertex.id):
                chain.begin(self._own[chain.vertex.id], self.epoch, int(now_ms), self._out.append)
                chain.hear(news)
        self._each(Chain.on_processing_time)
        self._is_dirty = True
        self._tick_ms = now_ms + self._interval_ms

    def _send_markers(self) -> None:
        """Send the latency markers that have waited behind the records of their buffers."""
        if self._latency is not None:
            self._latency.send()

    def _end_epoch(self, news: CheckpointNews) -> None:
        """Cut the epoch and go on with the next one from here. The answer follows when all is written."""
        self.settle()
        begun_s = self._cpu_s()
        acks = []
        for chain in self._level.chains:
            id = chain.vertex.id
            if id in self._ended:
                acks.append(self._ended[id])
                continue
            chain.context.checkpoint_id = news.next_id
            with chain.user_code, self.watch.on(id):
                ack = chain.end_epoch()
            self._own[id] = replace(self._own[id], carry=ack.carry)
            if ack.delta is not None and not isinstance(ack.delta, PendingDelta):
                # At once, whether the other chains have written or not: its state goes on from there.
                self._advance(ack, self.epoch)
            acks.append(ack)
            self._sent += sum(chain.sent.values())
            self._received.update(chain.received)
            if ack.ended:
                self._ended[id] = Ack(
                    ack.vertex,
                    ack.subtask,
                    carry=ack.carry,
                    ended=True,
                    watermark=ack.watermark,
                    listens=ack.listens,
                    operators=dict.fromkeys(ack.operators, (0, 0)),
                )
                with chain.user_code:
                    chain.close()
        self._send_markers()
        self._unsettled = _Unsettled(self.epoch, acks, (self._cpu_s() - begun_s) * 1000, self._report())
        if self._unsettled.is_written:
            self.settle()
        body = pickle.dumps(news, 5)
        self._out += [WireRow(to, -1, 0, RowKind.BARRIER, body) for to in range(self._settings.consumers)]
        self.epoch += 1
        self._begin_epoch(news)

    def _report(self) -> TaskReport:
        place = (self.epoch, self._descriptor.level, self._subtask)
        begun_ms, self._begun_ms = self._begun_ms, wall_ms()
        return report_of_task(place, begun_ms, self.watch.take(), self._level, is_held_back=True)

    def settle(self) -> None:
        """Answer for the epoch that has ended, if that was not done yet; waits until all of it is written."""
        unsettled, self._unsettled = self._unsettled, None
        if unsettled is None:
            return
        states = {chain.vertex.id: chain.state for chain in self._level.chains}
        for ack in unsettled.acks:
            if isinstance(ack.delta, PendingDelta):
                ack.delta = ack.delta.result()
                line = self._advance(ack, unsettled.epoch)
                state = states[ack.vertex]
                if state is not None:
                    state.settle(line)
        self._deliver(unsettled.epoch, unsettled.acks, unsettled.ending_ms, unsettled.report)

    def _advance(self, ack: Ack, epoch: int) -> StateLine:
        """Move the line of a vertex by an epoch. The driver makes the same one when it commits, so the delta
        is a file already."""
        name = epoch_name(self._settings.stretch, epoch)
        if ack.delta.payload is not None:
            file = delta_file(self._settings.stretch, epoch, ack.vertex, ack.subtask)
            self._files.write_once(file, ack.delta.payload)
            ack.delta = ack.delta.in_file(file)
        own = self._own[ack.vertex]
        line, _ = advance(own.line, name, ack.delta.run, ack.delta.compaction)
        self._own[ack.vertex] = replace(own, line=line)
        return line

    def close(self) -> None:
        """The task ends: what is held is not needed any more."""
        self._work_in_background(False)
        for chain in self._level.chains:
            chain.context.clock.follow(None)
        self._aligner.close()
        for source in self._sources.values():
            source.stop_polling()
