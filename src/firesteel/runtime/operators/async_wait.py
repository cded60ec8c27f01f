"""Async I/O: requests that overlap, in input order or as they come (Flink: ``AsyncWaitOperator``).

**All requests belong to the epoch.** They overlap across its batches and are all answered when it ends, so
that none is open at the cut and none has to be stored. An attempt that is left cancels its requests. How long
an epoch waits for the last answers does not depend on its size, so its ack tells the pacing, which would
otherwise make epochs ever shorter that are only waiting.

**The event loop has a thread of its own**, one for each operator and subtask, open from epoch to epoch with
the user's clients. Run only inside ``process()`` it would stand still while the task reads, waits for Spark
or works in other operators: connections would miss their heartbeats, and requests would run into their
timeout with the answer unread (measured with a reader that blocks 0.4 s for each batch: 800 of 12,000
requests at a timeout of 200 ms, none with the thread). Requests that go on while the next batch is read took
1.76 s instead of 2.56 s there; with nothing to overlap, a thread costs 5 us a request (10,000 of 5 ms at
capacity 100: 0.71 s and 0.66 s; the bare sleeps are 0.5 s). A task that keeps the interpreter busy delays
each turn of the loop by up to the switch interval of 5 ms; a shorter one gained less than a tenth.

**Unordered results come in the order of their completion**, not in that of the input, although within an
epoch nobody would wait longer for the latter. It is what the method promises, it holds no more than
``capacity`` results back, and what is behind the operator works while requests run. The price is that what
crosses the next exchange depends on timing, so that Spark may have an epoch run again when it loses an
executor near its end. It would with whatever an outside system answers differently the second time, and with
every timeout and retry; for a service that always gives the same answer there is ``ordered_wait``.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

from firesteel.program.operators import AsyncWait
from firesteel.runtime.async_requests import Released, Requests
from firesteel.runtime.batch import Batch
from firesteel.runtime.event_loop import EventLoop
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.stateless import FunctionOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.state.backend import OperatorState


class AsyncWaitOperator(FunctionOperator):
    def __init__(self, program: OperatorProgram, spec: AsyncWait) -> None:
        super().__init__(program, spec.function)
        self._spec = spec
        self._loop = EventLoop(program.name)
        self._requests = Requests(spec, self._loop)

    def call(self, hook: Callable[..., Any], *arguments: Any) -> None:
        """Where the method is a coroutine it runs on the loop, as clients want it that are bound
        to the running one."""
        if inspect.iscoroutinefunction(hook):
            self._loop.run(hook(*arguments))
        else:
            hook(*arguments)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        try:
            super().open(context, state)
        except BaseException:
            self._loop.close()  # what was not opened will not be closed
            raise

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._requests.abandon()  # of an attempt that did not come to its end
        self._requests = Requests(self._spec, self._loop)

    def process(self, batch: Batch, input_index: int = 0) -> None:
        if not batch.values and not self._requests.outstanding:
            self._collect([mark for _, mark in batch.marks])  # marks alone have nobody to wait for
            self.outputs.flush()
            return
        self.records_in += len(batch.values)
        submitted = self._requests.submit(batch)
        # As much as a batch may wait: requests go on while the next one is read.
        self._hand_on(allowed=self._spec.capacity + submitted)

    def tick(self) -> None:
        super().tick()
        self.flush()

    def flush(self) -> None:
        self._requests.flush()
        self._hand_on(allowed=self._requests.outstanding)

    @property
    def is_waiting(self) -> bool:
        return self._requests.outstanding > 0

    def end_epoch(self) -> None:
        self._hand_on(allowed=self._spec.capacity)
        begun_s = time.monotonic()
        self._hand_on(allowed=0)
        self.waited_ms = (time.monotonic() - begun_s) * 1000
        super().end_epoch()

    def _hand_on(self, allowed: int) -> None:
        for released in self._requests.results(allowed):
            self._collect(released)
            self.outputs.flush()

    def _collect(self, released: list[Released]) -> None:  # hot
        outputs = self.outputs
        add = outputs.main.collector.add
        for item in released:
            if isinstance(item, tuple):
                results, timestamp = item
                for result in results:
                    add(result, timestamp)
            else:
                outputs.mark(item)

    def abandon(self) -> None:
        self._requests.abandon()

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._loop.close()
