"""The tasks of a *stretch*: one run of tasks that go on from epoch to epoch, of all levels at the same time.

Source tasks follow the orders of the driver; all others do what their producers send them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from firesteel.common.errors import EngineError
from firesteel.runtime.error_report import report_of
from firesteel.runtime.flow_control import Pieces, Progress, SentWindow
from firesteel.runtime.inbox import Inbox, InboxEnded
from firesteel.runtime.loop_settings import LoopSettings, directory_of
from firesteel.runtime.messages import IDLE_LOOK, Answer, Cut, Messages, Order
from firesteel.runtime.program import Ack, LevelDescriptor, UserError
from firesteel.runtime.task_loop import IDLE_MS, Rows, TaskLoop
from firesteel.runtime.task_report import TaskReport
from firesteel.runtime.user_code import UserCode, UserCodeError
from firesteel.runtime.user_logs import taken_logs
from firesteel.runtime.worker import acquire_level

#: Sends rows to the next level, at once.
Send: TypeAlias = Callable[[Rows], None]

_OF_NO_OPERATOR: Final = UserCode("", "")
_PAUSE_S: Final = 0.002  # until it is seen again whether others have caught up
_IDLE_S: Final = 1.0  # without a record, after which a task looks for orders less often
_SILENCE_S: Final = 600.0  # a driver that gives no order for so long is lost


class StretchOver(EngineError):
    """The driver is done with the stretch, and the task still runs: Spark has ended the job for another one's
    sake. Its slot is wanted for the next stretch."""


@dataclass(frozen=True, slots=True)
class RunningLevel:
    """What the tasks of one level do until they end.

    :param widths: how many tasks each level has.
    :param stretch: its name: see ``LoopSettings``, also for the next one.
    """

    descriptor: LevelDescriptor
    widths: tuple[int, ...]
    stretch: str
    buffer_timeout_ms: float | None = 5

    @property
    def parallelism(self) -> int:
        return self.widths[self.descriptor.level]

    @property
    def settings(self) -> LoopSettings:
        before, own = self.widths[: self.descriptor.level], self.descriptor.level
        after = self.widths[own + 1 :]
        return LoopSettings(
            self.stretch,
            producers=before[-1] if before else 0,
            consumers=after[0] if after else 0,
            buffer_timeout_ms=self.buffer_timeout_ms,
        )

    @property
    def messages(self) -> Messages:
        return Messages(directory_of(self.descriptor.state_dir, self.stretch))

    @property
    def receivers(self) -> list[tuple[int, int]]:
        """The tasks of all deeper levels: (level, subtask)."""
        first = self.descriptor.level + 1
        return [(level, i) for level in range(first, len(self.widths)) for i in range(self.widths[level])]


class Lifetime:
    """Sees now and then whether the stretch of a task goes on.

    :param every_s: how often that is worth while.
    """

    def __init__(self, messages: Messages, every_s: float) -> None:
        self._messages = messages
        self._every_s = every_s
        self._seen_s = time.monotonic()

    def see(self) -> None:
        """
        :raises StretchOver: it does not.
        """
        now_s = time.monotonic()
        if now_s - self._seen_s >= self._every_s:
            self._seen_s = now_s
            if self._messages.are_removed:
                raise StretchOver("The stretch is over, so the task ends.")


class SourceTask:
    """Follows the orders of the driver.

    :param look_ms: how often it looks for new ones, as long as there is something to read.
    :param window: how far it may be ahead of those that it sends to; None: nothing limits it.
    """

    def __init__(
        self,
        loop: TaskLoop,
        subtask: int,
        messages: Messages,
        look_ms: float,
        window: SentWindow | None = None,
    ) -> None:
        self._subtask = subtask
        self._ranges_said = 0
        self._window = window
        self._pieces = Pieces()
        self._busy_look_ms = self._look_ms = look_ms
        self._read_s = time.monotonic()
        self._is_behind = False  # more was there than was asked for
        self._loop = loop
        self._messages = messages
        self._lifetime = Lifetime(messages, IDLE_LOOK * look_ms / 1000)
        self._next = 0
        self._cut: Cut | None = None
        self._looked_s = 0.0
        self._heard_s = time.monotonic()
        self._stays = False  # until it is told to leave, and reads nothing
        self.has_ended = False

    def look(self) -> None:
        """Take the orders that are new."""
        now_s = time.monotonic()
        if (now_s - self._looked_s) * 1000 < self._look_ms:
            return
        self._looked_s = now_s
        while (order := self._messages.order(self._next)) is not None:
            self._next += 1
            self._heard_s = now_s
            self._obey(order)
        self._lifetime.see()
        if now_s - self._heard_s > _SILENCE_S:
            raise EngineError(
                "The driver gives no orders any more, so the task ends.",
                detail=f"it has said nothing for {_SILENCE_S:.0f} s",
            )

    def _obey(self, order: Order) -> None:
        self.has_ended = self.has_ended or order.leave
        if order.complete is not None:
            self._loop.complete(order.complete)
        if order.limits is not None:
            self._loop.hold_above(order.limits)
        if order.splits:
            self._loop.add_splits(order.splits)
        if order.ranges:
            self._loop.add_ranges(order.ranges)
        if order.covered:
            self._loop.checkpoint_completed(order.covered)
        if order.cut is not None and order.cut.epoch == self._loop.epoch:
            self._cut = order.cut  # instead of an earlier order for this epoch

    def step(self, now_ms: float, wait: bool = True) -> None:
        """Poll once, or end the epoch when that is due.

        :param wait: for a while, when nothing is there.
        """
        self.look()
        if self.has_ended:
            return
        if self._stays:
            self._loop.settle()
            time.sleep(self._look_ms / 1000 if wait else 0.0)
            return
        cut = self._cut
        if cut is not None and now_ms >= cut.at_ms:
            self._cut = None
            self._loop.cut(cut.drain, cut.news)
            self.has_ended = cut.stop and not cut.stays
            self._stays = cut.stop
            return
        wait_ms = 0.0
        if wait and not self._is_behind:
            wait_ms = self._loop.wait_ms(self._look_ms)
            if cut is not None:
                wait_ms = min(wait_ms, cut.at_ms - now_ms)
            wait_ms = self._rested(wait_ms)
        records = self._pieces.records
        if self._window is not None:
            records = min(records, self._window.room(self._loop.sent))
        if records:
            found, worked_s = self._loop.poll(max(0.0, wait_ms), records)
            self._pieces.worked(found, worked_s)
            self._is_behind = found > records // 2
            self._see_to_looks(found)
            self._say_read()
        else:
            with self._loop.watch.held_back():
                time.sleep(_PAUSE_S)
        self._loop.on_time()

    def _rested(self, wait_ms: float) -> float:
        """Sleep while what is read would only wait in a buffer: to read that at once, when the buffer leaves,
        is cheaper than record by record. Returns how long reading may wait after that."""
        rest_ms = min(self._loop.rest_ms(), wait_ms)
        if rest_ms <= 0:
            return wait_ms
        time.sleep(rest_ms / 1000)
        return 0.0

    def _see_to_looks(self, found: int) -> None:
        now_s = time.monotonic()
        if found:
            self._read_s, self._look_ms = now_s, self._busy_look_ms
        elif now_s - self._read_s > _IDLE_S:
            self._look_ms = IDLE_LOOK * self._busy_look_ms

    def _say_read(self) -> None:
        """Have the driver plan what follows ranges that are over."""
        over = self._loop.ranges_over
        if over != self._ranges_said:
            self._ranges_said = over
            self._messages.say_read(self._subtask, self._loop.read_so_far)


def open_loop(level: RunningLevel, subtask: int, messages: Messages, **clock: Any) -> TaskLoop:
    """The loop of a task, which has begun."""
    descriptor = level.descriptor

    def deliver(epoch: int, acks: list[Ack], ending_ms: float, report: TaskReport) -> None:
        messages.answer(epoch, descriptor.level, subtask, Answer(acks, taken_logs(), ending_ms, report))

    with _OF_NO_OPERATOR:
        opened = acquire_level(descriptor, subtask, for_good=True)
    loop = TaskLoop(descriptor, subtask, opened, level.settings, deliver, **clock)
    loop.begin()
    return loop


def run_task(level: RunningLevel, subtask: int, inbox: Inbox, send: Send) -> None:
    """Run until the input ends, or the driver says so."""
    messages = level.messages
    try:
        loop = open_loop(level, subtask, messages)
        window = window_of(level, loop.channels, messages)
        try:
            if level.descriptor.level == 0:
                _read_sources(loop, subtask, messages, window, send)
            else:
                say = partial(messages.say_progress, level.descriptor.level, subtask)
                progress = Progress(loop.received, say, messages.look_ms / 1000)
                lifetime = Lifetime(messages, messages.idle_look_ms / 1000)
                _receive(loop, inbox, window, progress, lifetime, send)
            loop.settle()
        finally:
            loop.close()
    except StretchOver:  # nobody is there to read what it has to say
        raise
    except Exception as e:
        messages.fail(level.descriptor.level, subtask, failure_of(e, subtask))
        raise


def window_of(level: RunningLevel, channels: Collection[int], messages: Messages) -> SentWindow | None:
    """How far a task of the level may be ahead of its receivers; None: it has none."""
    receivers = level.receivers
    if not receivers:
        return None
    look_s = messages.look_ms / 1000
    return SentWindow(channels, lambda: [messages.progress_of(*task) for task in receivers], look_s)


def failure_of(error: Exception, subtask: int) -> UserError:
    known = error if isinstance(error, UserCodeError) else _OF_NO_OPERATOR.failure(error)
    return report_of(known, subtask)


def _read_sources(
    loop: TaskLoop, subtask: int, messages: Messages, window: SentWindow | None, send: Send
) -> None:
    task = SourceTask(loop, subtask, messages, messages.look_ms, window)
    loop.between = partial(_hand_on, loop, send)
    while not task.has_ended:
        task.step(time.time_ns() / 1e6)
        _send(loop, send)


def _send(loop: TaskLoop, send: Send) -> None:
    """Send what is ready."""
    if out := loop.take():
        with loop.watch.held_back():
            send(out)


def _hand_on(loop: TaskLoop, send: Send) -> None:
    """Do what is due, and send what is ready."""
    loop.on_time()
    _send(loop, send)


def _receive(
    loop: TaskLoop,
    inbox: Inbox,
    window: SentWindow | None,
    progress: Progress,
    lifetime: Lifetime,
    send: Send,
) -> None:
    def between() -> None:
        _hand_on(loop, send)
        progress.made()
        progress.is_due()

    loop.between = between
    wait_ms = 0.0
    while True:
        if window is None or window.room(loop.sent):
            try:
                row = inbox.take(wait_ms)
            except InboxEnded:
                return
        else:
            lifetime.see()  # who is to take what was sent may be gone
            with loop.watch.held_back():
                time.sleep(_PAUSE_S)
            row = None
        if row is not None:
            loop.feed(row)
            progress.made()
        _hand_on(loop, send)
        longest_ms = progress.every_ms if progress.is_due() else IDLE_MS
        wait_ms = 0.0 if row is not None else loop.wait_ms(longest_ms)
