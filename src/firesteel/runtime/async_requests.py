"""The requests of an async function during one epoch: how many at a time, when again, whose turn it is.

Everything here but ``submit`` and ``results`` runs on the thread of the operator's event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias

from firesteel.common._shown import shown
from firesteel.common.errors import TypeMismatchError
from firesteel.program.operators import AsyncWait
from firesteel.runtime.batch import NO_TIMESTAMP, Batch, Mark
from firesteel.runtime.event_loop import EventLoop, cancel
from firesteel.runtime.user_code import raised

Released: TypeAlias = tuple[list[Any], int] | Mark  # the results for one record and its timestamp, or a mark
_Ready: TypeAlias = SimpleQueue[list[Released] | BaseException]

_HAND_OVER: Final = 256  # requests that wake the task once while more of them wait


class _Segment:
    """Requests that may overtake each other, and the marks after them, which none may overtake."""

    __slots__ = ("finished", "marks", "running")

    def __init__(self) -> None:
        self.running = 0
        self.finished: list[Released] = []  # not their turn yet
        self.marks: list[Mark] = []


class ResultOrder:
    """Holds results back until it is their turn.

    Unordered, they come as they are finished, but stay between the same two marks. Ordered is the same with
    one request in each segment. (Flink: ``OrderedStreamElementQueue``, ``UnorderedStreamElementQueue``.)
    """

    __slots__ = ("_ordered", "_segments", "held", "released")

    def __init__(self, ordered: bool) -> None:
        self._ordered = ordered
        self._segments: deque[_Segment] = deque()
        self.held = 0  # requests that have begun and whose results were not released
        self.released: list[Released] = []

    def begin(self) -> _Segment:
        """A request begins; its segment goes back to ``finish``."""
        segments = self._segments
        if not segments or self._ordered or segments[-1].marks:
            segments.append(_Segment())
        segment = segments[-1]
        segment.running += 1
        self.held += 1
        return segment

    def mark(self, mark: Mark) -> None:
        """A mark follows the requests that have begun."""
        if self._segments:
            self._segments[-1].marks.append(mark)
        else:
            self.released.append(mark)

    def finish(self, segment: _Segment, results: list[Any], timestamp: int) -> None:
        segment.running -= 1
        segments = self._segments
        if segment is not segments[0]:
            segment.finished.append((results, timestamp))
            return
        self.held -= 1
        self.released.append((results, timestamp))
        while not segments[0].running:
            self.released += segments.popleft().marks
            if not segments:
                return
            first = segments[0]
            self.held -= len(first.finished)
            self.released += first.finished
            first.finished = []


class Requests:
    """Runs ``spec.function`` for every record that is submitted, never more than ``spec.capacity`` at a time.

    A request counts until its results are released, so that what a slow one holds back stays bounded too.
    """

    def __init__(self, spec: AsyncWait, loop: EventLoop) -> None:
        self._spec = spec
        self._loop = loop
        self._timeout_s = spec.timeout_ms / 1000 if spec.timeout_ms > 0 else None
        predicate = spec.retry.get_retry_predicate()
        self._retries_result = predicate.result_predicate() or _never
        self._retries_error = predicate.exception_predicate() or _never
        self._waiting: deque[tuple[Any, int] | Mark] = deque()
        self._order = ResultOrder(spec.ordered)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready: _Ready = SimpleQueue()
        self.outstanding = 0  # records and marks that were submitted and not handed back: the task's count

    # ---- on the task's thread

    def submit(self, batch: Batch) -> int:
        """How many records and marks are outstanding from now on because of ``batch``."""
        submitted = len(batch.values) + len(batch.marks)
        self.outstanding += submitted
        self._loop.post(self._accept, batch)
        return submitted

    def results(self, allowed: int) -> Iterator[list[Released]]:
        """What was released meanwhile; waits until no more than ``allowed`` records and marks are
        outstanding. Fails with what a request has raised."""
        while released := self._take(wait=self.outstanding > allowed):
            yield released

    def _take(self, wait: bool) -> list[Released]:
        taken: list[Released] = []
        try:
            while True:
                message = self._ready.get(wait and not taken)
                if isinstance(message, BaseException):
                    raise message
                taken += message
        except Empty:
            self.outstanding -= len(taken)
            return taken

    def flush(self) -> None:
        """Have the loop hand over what is released, also while records wait for room. It does so soon; nobody
        waits for it here."""
        if self.outstanding:
            self._loop.post(self._hand_over)

    def abandon(self) -> None:
        """Cancel what was not handed back; its results will not be asked for."""
        if self.outstanding:
            self.outstanding = 0
            self._loop.run_briefly(self._cancel())

    # ---- on the loop's thread

    def _accept(self, batch: Batch) -> None:
        waiting, stamps = self._waiting, batch.timestamps
        asyncio.get_running_loop().set_exception_handler(partial(_unheard, self._ready))
        try:
            for start, stop, mark in batch.segments():
                values = batch.values[start:stop]
                own = [NO_TIMESTAMP] * len(values) if stamps is None else stamps[start:stop]
                waiting.extend(zip(values, own, strict=True))
                if mark is not None:
                    waiting.append(mark)
            self._go_on()
        except BaseException as error:  # the loop would log it, and the task wait for ever
            self._ready.put(error)

    def _go_on(self) -> None:
        """Begin what there is room for, and hand over what is ready."""
        waiting, order = self._waiting, self._order
        capacity = self._spec.capacity
        while waiting:
            item = waiting[0]
            if not isinstance(item, tuple):
                order.mark(item)
            elif order.held < capacity:
                task = asyncio.create_task(self._request(*item, order.begin()))
                self._tasks.add(task)  # the loop itself keeps only a weak reference
            else:
                break
            waiting.popleft()
        if not waiting or len(order.released) >= _HAND_OVER:
            self._hand_over()

    def _hand_over(self) -> None:
        order = self._order
        if order.released:
            self._ready.put(order.released)
            order.released = []

    async def _request(self, value: Any, timestamp: int, segment: _Segment) -> None:
        try:
            results = await self._results(value)
            self._order.finish(segment, results, timestamp)
            self._go_on()
        except BaseException as error:  # SystemExit too: let through, it would end the loop and not the job
            error = raised(error)
            with suppress(BaseException):  # a user's exception may refuse it
                error.add_note(f"{type(self._spec.function).__name__}, for the input {shown(value)}")
            self._ready.put(error)
        finally:
            self._tasks.discard(asyncio.current_task())

    async def _results(self, value: Any) -> list[Any]:
        """The results within the timeout, which covers all attempts and what lies between them; else what
        ``timeout()`` makes of the input, once the cancelled attempt has ended."""
        results: Any = None
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                results = await self._attempts(value)
        except BaseException:
            if not limit.expired():
                raise
        if limit.expired():
            return self._as_list(self._spec.function.timeout(value), "timeout")
        return self._as_list(results, "async_invoke")

    async def _attempts(self, value: Any) -> Any:
        invoke, retry = self._spec.function.async_invoke, self._spec.retry
        task = asyncio.current_task()
        assert task is not None, "each input is a task"
        cancelled = task.cancelling
        attempt = 1
        while True:
            try:
                results = await invoke(value)
            except Exception as error:
                if cancelled() or not (self._retries_error(error) and retry.can_retry(attempt)):
                    raise
            else:
                unwanted = results is not None and self._retries_result(results)
                if cancelled() or not (unwanted and retry.can_retry(attempt)):
                    return results
            await asyncio.sleep(retry.get_backoff_time_millis(attempt) / 1000)
            attempt += 1

    def _as_list(self, results: Any, method: str) -> list[Any]:
        if type(results) is list:
            return results
        if isinstance(results, Iterable):
            return list(results)
        # Tests of programs for PyFlink look for these words.
        wrong = "cannot be none" if results is None else "should be of list type"
        raise TypeMismatchError(
            f"The result of AsyncFunction {wrong}.",
            detail=f"{type(self._spec.function).__name__}.{method}() returned {shown(results)}",
            hint="return [result], or [] for none",
        )

    async def _cancel(self) -> None:
        self._waiting.clear()
        await cancel(self._tasks.copy())


def _never(_: Any) -> bool:
    return False


def _unheard(ready: _Ready, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A future cannot hold a StopIteration: before Python 3.13 asyncio refuses that of a function in an
    executor with a TypeError that nobody waits for, and the future is never done. Here it fails the task,
    which would wait for ever."""
    error = context.get("exception")
    if isinstance(error, TypeError) and str(error).startswith("StopIteration interacts badly"):
        ready.put(StopIteration("raised into a Future, as by a function in to_thread() or run_in_executor()"))
    loop.default_exception_handler(context)
