"""Tasks in real time without Spark: the same loops and messages, moved in turn in this process."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence

from firesteel.common.errors import EngineError
from firesteel.runtime import worker
from firesteel.runtime.error_report import summary_of
from firesteel.runtime.messages import Messages
from firesteel.runtime.stretch import RunningLevel, SourceTask, StretchOver, failure_of, open_loop
from firesteel.runtime.task_loop import TaskLoop
from firesteel.runtime.wire import WireRow


class LocalStretch:
    """Implements the protocol of the job manager.

    Each subtask is a process of its own as far as its memory goes. ``go_on`` gives every task one turn.

    :param now_ms: the clock of the tasks.
    """

    def __init__(
        self, levels: Sequence[RunningLevel], on_end: Callable[[], None], now_ms: Callable[[], float]
    ) -> None:
        self._on_end = on_end
        self._now_ms = now_ms
        self._levels = [pickle.loads(pickle.dumps(level, 5)) for level in levels]
        self._tasks: list[list[_Task]] = []
        self._has_ended = False
        self._error: Exception | None = None

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    @property
    def error(self) -> Exception | None:
        return self._error

    def go_on(self) -> None:
        if self._has_ended:
            return
        place = (0, 0)
        messages = self._levels[0].messages
        try:
            if not self._tasks:
                for number, level in enumerate(self._levels):
                    self._tasks.append([])
                    for i in range(level.parallelism):
                        place = number, i
                        self._tasks[-1].append(_Task(level, i, messages, self._now_ms))
            for number, tasks in enumerate(self._tasks):
                for i, task in enumerate(tasks):
                    place = number, i
                    for row in task.turn():
                        following = self._tasks[number + 1]
                        following[row.target % len(following)].inbox.append(row)
            if all(task.sources is None or task.sources.has_ended for task in self._tasks[0]):
                for number, tasks in enumerate(self._tasks):
                    for i, task in enumerate(tasks):
                        place = number, i
                        task.settle()
                self._end()
        except StretchOver as e:
            self._error = e
            self._end()
        except Exception as e:
            messages.fail(*place, failure_of(e, place[1]))
            self._error = EngineError(f"A task failed: {summary_of(e)}")
            self._end()

    def _end(self) -> None:
        self._has_ended = True
        for tasks in self._tasks:
            for task in tasks:
                task.close()
        self._on_end()

    def cancel(self) -> None:
        if not self._has_ended:
            self._error = EngineError("The tasks were cancelled.")
            self._end()

    def wait_for_end(self, timeout_s: float) -> bool:
        self.go_on()
        return self._has_ended


class _Task:
    """One subtask of one level."""

    def __init__(
        self, level: RunningLevel, subtask: int, messages: Messages, now_ms: Callable[[], float]
    ) -> None:
        self._memory = worker.ProcessMemory()
        self._now_ms = now_ms
        self.inbox: deque[WireRow] = deque()
        with worker.as_process(self._memory):
            self._loop: TaskLoop = open_loop(level, subtask, messages, now_ms=now_ms, cpu_s=lambda: 0.0)
        self._out: list[WireRow] = []
        self._loop.between = self._hand_on
        first = level.descriptor.level == 0
        self.sources: SourceTask | None = (
            SourceTask(self._loop, subtask, messages, look_ms=0.0) if first else None
        )

    def turn(self) -> list[WireRow]:
        """What the task sends in one turn."""
        with worker.as_process(self._memory):
            if self.sources is not None:
                self.sources.step(self._now_ms(), wait=False)
            while self.inbox:
                self._loop.feed(self.inbox.popleft())
            self._hand_on()
            out, self._out = self._out, []
            return out

    def _hand_on(self) -> None:
        self._loop.on_time()
        self._out += self._loop.take()

    def settle(self) -> None:
        with worker.as_process(self._memory):
            self._loop.settle()

    def close(self) -> None:
        with worker.as_process(self._memory):
            self._loop.close()
