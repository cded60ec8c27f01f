"""Async I/O: the user's client, its event loop, and what is taken at the end of an epoch."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.accumulators import IntCounter
from firesteel.common.errors import JobExecutionError
from firesteel.datastream import (
    AsyncFunction,
    CheckpointedFunction,
    MapFunction,
    RuntimeContext,
)
from firesteel.datastream.state import ListStateDescriptor
from firesteel.jobmanager.pacing import Pacer, Work
from firesteel.runtime.event_loop import EventLoop, cancel
from firesteel.runtime.operators.async_wait import AsyncWaitOperator
from firesteel.testing.local_platform import LocalEngine
from tests.waiting import in_time, until

from .async_support import Echo, async_wait, loop_threads, so_far
from .engines import FaultyEngine
from .support import (
    collect,
    environment,
    local_platform,
    note,
    notes,
)


class Client(AsyncFunction):
    """Notes where its client was made, by which loop it is used, and when it was closed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        note("opened", (self.subtask, threading.current_thread().name))

    async def async_invoke(self, value: Any) -> list[Any]:
        note(f"loop-{self.subtask}", id(asyncio.get_running_loop()))
        await asyncio.sleep(0)
        return [value]

    def close(self) -> None:
        note("closed", self.subtask)


@pytest.mark.row("S-PROC-12")
def test_open_and_close_once_for_each_subtask_and_one_loop_for_all_epochs() -> None:
    with local_platform() as platform:
        env = environment(2, epoch_records=4)
        collect(async_wait(env.from_collection(range(100)).rebalance(), Client()))
        assert platform.engines[0].epochs >= 25
    assert sorted(subtask for subtask, _ in notes["opened"]) == sorted(notes["closed"]) == [0, 1]
    assert len(set(notes["loop-0"])) == len(set(notes["loop-1"])) == 1


def test_coroutines_open_and_close_run_on_the_loop_of_the_requests() -> None:
    class Session(AsyncFunction):
        async def open(self, runtime_context: RuntimeContext) -> None:
            await asyncio.sleep(0)
            self.loop = asyncio.get_running_loop()
            note("life", "open")

        async def async_invoke(self, value: Any) -> list[Any]:
            return [self.loop is asyncio.get_running_loop()]

        async def close(self) -> None:
            await asyncio.sleep(0)
            note("life", ("close", self.loop is asyncio.get_running_loop()))

    assert collect(async_wait(environment(1).from_collection([1]), Session())) == [True]
    assert notes["life"] == ["open", ("close", True)]


def test_an_exception_of_a_coroutine_open_fails_the_job() -> None:
    class Refused(Echo):
        async def open(self, runtime_context: RuntimeContext) -> None:
            raise ConnectionRefusedError("nobody there")

    threads = set(loop_threads())
    with pytest.raises(JobExecutionError, match="nobody there"):
        collect(async_wait(environment(1).from_collection([1]), Refused()))
    assert set(loop_threads()) <= threads


class Heart(AsyncFunction):
    """Its client has a heartbeat, which nothing but the loop keeps going."""

    async def open(self, runtime_context: RuntimeContext) -> None:
        self.heartbeat = asyncio.create_task(self.beat())

    async def beat(self) -> None:
        try:
            while True:
                note("beat")
                await asyncio.sleep(0.001)
        finally:
            note("stopped")

    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


def test_the_loop_runs_while_the_task_does_something_else_and_between_epochs() -> None:
    class Works(MapFunction):
        def map(self, value: Any) -> Any:
            beats = so_far("beat")
            until(lambda: so_far("beat") > beats + 3)
            return value

    class BetweenEpochs(LocalEngine):
        def run(self, levels: Any, parallelism: Any) -> Any:
            answers = super().run(levels, parallelism)
            if not notes["stopped"]:
                Works().map(None)
            return answers

    threads = set(loop_threads())
    with local_platform(BetweenEpochs):
        env = environment(1, epoch_records=1)
        assert collect(async_wait(env.from_collection([1, 2, 3]), Heart()).map(Works())) == [1, 2, 3]
    assert len(notes["stopped"]) == 1, "what is left when the function is closed is cancelled"
    assert set(loop_threads()) <= threads


def test_user_code_that_blocks_the_loop_does_not_hold_up_close_for_ever() -> None:
    loop = EventLoop("blocked")
    freed = threading.Event()
    loop.post(freed.wait)
    threads = [t for t in threading.enumerate() if t.name == "blocked"]
    assert len(threads) == 1
    with in_time(30):
        loop.close()
    assert threads[0].is_alive()
    freed.set()
    until(lambda: not threads[0].is_alive())


def test_a_coroutine_that_does_not_want_to_end_does_not_hold_up_close_for_ever() -> None:
    loop = EventLoop("stubborn")
    freed = asyncio.Event()

    async def stubborn() -> None:
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                note("ignored")
        note("freed")

    async def start() -> asyncio.Task[None]:
        task = asyncio.create_task(stubborn())
        asyncio.get_running_loop().call_later(1.5, freed.set)
        await asyncio.sleep(0)
        return task

    task = loop.run(start())
    with in_time(30):
        loop.run_briefly(cancel({task}))
    assert notes["ignored"]
    until(task.done)
    loop.close()


def test_a_loop_that_is_dropped_ends() -> None:
    loop = EventLoop("dropped")
    loop.run(asyncio.sleep(0))
    threads = [t for t in threading.enumerate() if t.name == "dropped"]
    del loop
    until(lambda: not threads[0].is_alive())


def test_a_loop_starts_again_after_it_was_closed() -> None:
    """As the chain of a subtask does whose input has ended while others go on."""
    loop = EventLoop("twice")
    for _ in range(2):
        assert loop.run(asyncio.sleep(0, "done")) == "done"
        loop.close()
    assert not [t for t in threading.enumerate() if t.name == "twice"]


@pytest.mark.row("S-PROC-10")
def test_operator_state_is_taken_when_nothing_is_open() -> None:
    class Total(AsyncFunction, CheckpointedFunction):
        """The sum of all that was asked for, in operator state."""

        def initialize_state(self, context: Any) -> None:
            self.total = sum(context.get_operator_state_store().get_list_state(self.kept()).get())
            self.running = 0

        def kept(self) -> Any:
            return ListStateDescriptor("total", Types.LONG())

        def snapshot_state(self, context: Any) -> None:
            note("running", self.running)
            context.get_operator_state_store().get_list_state(self.kept()).update([self.total])

        async def async_invoke(self, value: int) -> list[int]:
            self.running += 1
            await asyncio.sleep(0.001)
            self.running -= 1
            self.total += value
            return [self.total]

    with local_platform(lambda: LocalEngine(fresh_process=lambda: True)):
        out = collect(async_wait(environment(1, epoch_records=5).from_collection(range(1, 21)), Total()))
    assert out[-1] == sum(range(1, 21))
    assert set(notes["running"]) == {0}


def test_waiting_for_the_last_answers_is_no_reason_for_shorter_epochs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pacing learns from the rest of the time. Broken by hand: the job master leaves it in."""
    learned: list[float] = []
    learn = Pacer.learn

    def listen(self: Pacer, work: Work) -> None:
        learned.append(work.elapsed_ms)
        learn(self, work)

    waited: list[float] = []
    end_epoch = AsyncWaitOperator.end_epoch

    def end(self: AsyncWaitOperator) -> None:
        end_epoch(self)
        waited.append(self.waited_ms)

    monkeypatch.setattr(Pacer, "learn", listen)
    monkeypatch.setattr(AsyncWaitOperator, "end_epoch", end)
    begun = time.monotonic()
    assert collect(async_wait(environment(1).from_collection([1, 2]), Echo(500))) == [1, 2]
    lasted_ms = (time.monotonic() - begun) * 1000
    assert learned
    assert max(waited) > 0
    assert sum(learned) <= lasted_ms - sum(waited) + 1


def test_metrics_of_an_epoch_that_was_left_do_not_count() -> None:
    class Counts(Echo):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.asked = IntCounter()
            runtime_context.add_accumulator("asked", self.asked)

        async def async_invoke(self, value: Any) -> list[Any]:
            self.asked.add(1)
            return await super().async_invoke(value)

    with local_platform(lambda: FaultyEngine(11)):
        env = environment(1, epoch_records=10)
        async_wait(env.from_collection(range(200)).rebalance(), Counts(0, 2)).print()
        assert env.execute().get_accumulator_result("asked") == 200
