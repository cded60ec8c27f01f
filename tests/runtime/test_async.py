"""Async I/O: who may overtake whom, how many requests at a time, what comes out, and the epoch's end.

What a test waits for is an event of another request wherever that can be; a sleep only says "some time".
"""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firesteel.common import Row, Time, Types
from firesteel.common.errors import JobExecutionError, TypeMismatchError, UnsupportedFeatureError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    RuntimeContext,
    RuntimeExecutionMode,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.runtime.async_requests import ResultOrder
from firesteel.runtime.batch import ACTIVE, END, IDLE, MIN_WATERMARK, Batch
from tests.waiting import until

from .async_support import BOTH, ByHand, Echo, answer, async_wait, operator_of, so_far
from .engines import FaultyEngine
from .support import (
    NO_TIMESTAMP,
    AfterEach,
    At,
    Probe,
    SplitsSource,
    collect,
    environment,
    local_platform,
    note,
    notes,
    punctuated,
)


class After(AsyncFunction):
    """Each value of ``waits`` is answered after the one that it names."""

    def __init__(self, waits: dict[Any, Any]) -> None:
        self.waits = waits

    async def open(self, runtime_context: RuntimeContext) -> None:
        self.answered = {value: asyncio.Event() for value in self.waits.values()}

    async def async_invoke(self, value: Any) -> list[Any]:
        name = value.value if isinstance(value, At) else value
        if name in self.waits:
            await self.answered[self.waits[name]].wait()
        note("answered", name)
        if name in self.answered:
            self.answered[name].set()
        return [name]


# ---- order


@pytest.mark.parametrize(("ordered", "first"), [(False, ["b", "a"]), (True, ["a", "b"])])
@pytest.mark.row("S-PROC-05", "X3")
def test_results_overtake_each_other_only_between_two_watermarks(ordered: bool, first: list[str]) -> None:
    """In a, b, W5, c; completed c, b, a. Broken by hand: ``ResultOrder.finish`` releases at once."""
    env = environment(1)
    records = [At(1, "a"), At(2, "b", watermark=5), At(7, "c")]
    stream = env.from_collection(records).assign_timestamps_and_watermarks(punctuated())
    out = collect(async_wait(stream, After({"a": "b", "b": "c"}), ordered=ordered).process(Probe()))
    assert notes["answered"] == ["c", "b", "a"]
    stamps = {"a": 1, "b": 2}
    assert out == [*((name, stamps[name], MIN_WATERMARK) for name in first), ("c", 7, 5)]


@BOTH
@pytest.mark.row("S-PERF-07")
def test_requests_overlap_across_the_batches_of_an_epoch(ordered: bool) -> None:
    """The first record of the first batch is answered after the last one of the last."""
    source = SplitsSource([(v, None) for v in range(12)])  # batches of three
    stream = environment(1).from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    out = collect(async_wait(stream, After({0: 11}), ordered=ordered))
    assert notes["answered"] == [*range(1, 12), 0]
    assert out == ([*range(12)] if ordered else [*range(1, 12), 0])


@BOTH
def test_a_watermark_behind_each_record_keeps_the_order_and_goes_with_it(ordered: bool) -> None:
    records = [At(i, i) for i in range(60)]
    env = environment(1, epoch_records=25)
    stream = env.from_collection(records).assign_timestamps_and_watermarks(punctuated(AfterEach))
    out = collect(async_wait(stream, Echo(0, 5), ordered=ordered).process(Probe()))
    assert out == [(At(i, i), i, i - 2 if i else MIN_WATERMARK) for i in range(60)]


@BOTH
def test_marks_of_all_kinds_stay_where_they_are(ordered: bool) -> None:
    operator, seen = operator_of(Echo(0, 3), ordered)
    operator.process(Batch([], None, [(0, 3)]))
    assert seen == [3], "marks alone wait for nobody"
    operator.process(Batch([1, 2], [10, 20], [(0, 4), (0, 5), (1, IDLE), (1, ACTIVE), (2, 15)]))
    operator.process(Batch([], None, [(0, 16)]))
    operator.process(Batch([3], None, [(1, END)]))
    operator.end_epoch()
    expected = [3, 5, (1, 10), IDLE, ACTIVE, (2, 20), 16, (3, NO_TIMESTAMP), END]
    watermarks = [m for m in seen if m not in (4, 15)]  # which may be left out before a later one
    assert watermarks == expected
    operator.close()


def test_an_operator_that_only_sees_marks_starts_no_thread() -> None:
    operator, seen = operator_of(Echo(), False)
    threads = threading.active_count()
    operator.process(Batch([], None, [(0, 3), (0, IDLE)]))
    operator.end_epoch()
    assert seen == [3, IDLE]
    assert threading.active_count() == threads
    operator.close()


@given(st.booleans(), st.lists(st.sampled_from(["begin", "mark", "finish"]), max_size=60), st.randoms())
@pytest.mark.row("S-PROC-06")
def test_the_order_of_results(ordered: bool, steps: list[str], chance: random.Random) -> None:
    """Against a model: nothing passes a mark, nothing is held back without a reason."""
    order = ResultOrder(ordered)
    items: list[tuple[str, int]] = []  # the input: requests and marks, by number
    running: dict[int, Any] = {}
    finished: list[int] = []

    def expected() -> list[Any]:
        """Released: everything before the first mark that an unfinished request holds back."""
        out: list[Any] = []
        segment: list[int] = []
        for kind, number in [*items, ("mark", -1)]:
            if kind == "begin":
                segment.append(number)
            if kind == "mark" or ordered:
                out += [([n], n) for n in sorted(set(segment) & set(finished), key=finished.index)]
                if any(n in running for n in segment):
                    return out
                segment = []
                if kind == "mark" and number >= 0:
                    out.append(number)
        return out

    for number, step in enumerate([*steps, *["finish"] * len(steps)]):
        if step == "begin":
            items.append(("begin", number))
            running[number] = order.begin()
        elif step == "mark":
            items.append(("mark", number))
            order.mark(number)
        elif running:
            done = chance.choice(sorted(running))
            finished.append(done)
            order.finish(running.pop(done), [done], done)
        released = [n for n in order.released if isinstance(n, tuple)]
        assert order.held == sum(kind == "begin" for kind, _ in items) - len(released)
        assert sorted(map(str, order.released)) == sorted(map(str, expected()))
        assert [m for m in order.released if isinstance(m, int)] == [
            m for m in expected() if isinstance(m, int)
        ]
        _assert_between_the_same_marks(items, order.released)
    assert order.held == 0
    if ordered:
        assert order.released == [n if kind == "mark" else ([n], n) for kind, n in items]


def _assert_between_the_same_marks(items: list[tuple[str, int]], released: list[Any]) -> None:
    def place(sequence: list[tuple[str, int]]) -> dict[int, int]:
        marks, places = 0, {}
        for kind, number in sequence:
            if kind == "mark":
                marks += 1
            else:
                places[number] = marks
        return places

    there = place([("begin", r[1]) if isinstance(r, tuple) else ("mark", r) for r in released])
    assert there.items() <= place(items).items()


# ---- how many at a time


class Gauge(AsyncFunction):
    """Notes the most requests that were open at once in each subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.running = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self.running += 1
        note(f"running-{self.subtask}", self.running)
        await asyncio.sleep(random.random() / 1000)
        self.running -= 1
        return [value]


@BOTH
@pytest.mark.parametrize("epoch_records", [1, 100, None])
@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.row("S-PROC-05", "S-PROC-09")
def test_never_more_than_capacity(parallelism: int, epoch_records: int | None, ordered: bool) -> None:
    """Broken by hand: ``<=`` for ``<`` where a request begins."""
    count = 60 if epoch_records == 1 else 300
    env = environment(parallelism, epoch_records=epoch_records)
    stream = env.from_collection(range(count)).rebalance()
    out = collect(async_wait(stream, Gauge(), ordered=ordered, capacity=7))
    assert sorted(out) == list(range(count))
    for subtask in range(parallelism):
        assert max(notes[f"running-{subtask}"]) == (1 if epoch_records == 1 else 7)


def test_capacity_one_is_one_after_the_other() -> None:
    out = collect(async_wait(environment(1).from_collection(range(50)), Echo(0, 2), capacity=1))
    assert out == list(range(50))


@BOTH
def test_what_a_slow_request_holds_back_counts(ordered: bool) -> None:
    """Ordered, a result that waits for its turn keeps its place (Flink does so too): else one slow request
    would pile up the results of the whole epoch."""
    operator, seen = operator_of(function := ByHand(), ordered, capacity=3)
    operator.process(Batch(list(range(6)), None))
    answer(operator, function, 1)
    answer(operator, function, 2)
    begun = {0, 1, 2} if ordered else {0, 1, 2, 3, 4}
    until(lambda: set(function.answers) == begun)
    answer(operator, function, 0)
    for value in (3, 4, 5):
        until(lambda v=value: v in function.answers)
        answer(operator, function, value)
    operator.end_epoch()
    assert [v for v, _ in seen] == ([0, 1, 2, 3, 4, 5] if ordered else [1, 2, 0, 3, 4, 5])
    operator.close()


@pytest.mark.row("S-PROC-09")
def test_the_reader_does_not_run_ahead() -> None:
    """Backpressure: no more than the capacity and two batches are read and not answered."""

    class Ahead(Echo):
        async def async_invoke(self, value: Any) -> list[Any]:
            await asyncio.sleep(0.001)
            note("ahead", so_far("read") - so_far("ahead"))
            return [value]

    source = SplitsSource([(v, None) for v in range(90)])  # batches of three
    stream = environment(1).from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    read = stream.map(lambda v: note("read", v))
    assert len(collect(async_wait(read, Ahead(), capacity=2))) == 90
    assert 2 <= max(notes["ahead"]) <= 2 + 2 * 3


# ---- what comes out


class Several(AsyncFunction):
    async def async_invoke(self, value: int) -> Any:
        return {0: [], 1: ["one"], 2: ("two", "two"), 3: (f"three-{i}" for i in range(3))}[value]


def test_any_number_of_results_with_the_timestamp_of_their_record() -> None:
    stream = environment(1).from_collection([At(v * 10, v) for v in range(4)])
    stamped = stream.assign_timestamps_and_watermarks(punctuated()).map(lambda r: r.value)
    out = collect(async_wait(stamped, Several(), ordered=True).process(Probe()))
    three = [("three-0", 30), ("three-1", 30), ("three-2", 30)]
    assert [(v, ts) for v, ts, _ in out] == [("one", 10), ("two", 20), ("two", 20), *three]


@pytest.mark.parametrize("wrong", [None, 7, 1.5, object()])
def test_what_is_no_list_fails_the_job(wrong: Any) -> None:
    class Wrong(AsyncFunction):
        async def async_invoke(self, value: Any) -> Any:
            return wrong

    reason = "cannot be none" if wrong is None else "should be of list type"
    told = rf"The result of AsyncFunction {reason}\.\n +detail: Wrong\.async_invoke\(\) returned"
    with pytest.raises(JobExecutionError, match=told) as failure:
        collect(async_wait(environment(1).from_collection([1]), Wrong()))
    assert isinstance(failure.value.__cause__, TypeMismatchError)
    assert failure.value.operator == "async wait operator"


def test_the_declared_type_is_applied() -> None:
    class Rows(AsyncFunction):
        async def async_invoke(self, value: int) -> list[Any]:
            return [Row(value, str(value))]

    declared = Types.ROW_NAMED(["number", "text"], [Types.LONG(), Types.STRING()])
    stream = async_wait(environment(1).from_collection([1]), Rows(), output_type=declared)
    assert stream.get_type() == declared
    assert [row.as_dict() for row in collect(stream)] == [{"number": 1, "text": "1"}]


@pytest.mark.row("S-PROC-11")
def test_customers_are_looked_up() -> None:
    """At most 100 requests at a time, 500 ms each, the output is the input enriched."""

    class FakeRedis:
        async def get(self, key: str) -> str:
            await asyncio.sleep(0.001)
            return f"customer of {key}"

    class AsyncCustomerLookup(AsyncFunction):
        async def open(self, runtime_context: RuntimeContext) -> None:
            self.redis = FakeRedis()
            note("clients")

        async def async_invoke(self, order: str) -> list[Any]:
            return [(order, await self.redis.get(order))]

    orders = [f"order-{i}" for i in range(500)]
    stream = environment(2, epoch_records=100).from_collection(orders).rebalance()
    enriched = AsyncDataStream.unordered_wait(stream, AsyncCustomerLookup(), Time.milliseconds(500), 100)
    assert sorted(collect(enriched)) == sorted((o, f"customer of {o}") for o in orders)
    assert len(notes["clients"]) == 2


def test_a_keyed_stream_gives_keys_with_their_records_and_no_state() -> None:
    """As in PyFlink (in Java it is the record alone). Records of one key are asked for in one subtask."""

    class WithSubtask(Echo):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.subtask = runtime_context.get_index_of_this_subtask()
            with pytest.raises(UnsupportedFeatureError):
                runtime_context.get_state(ValueStateDescriptor("s", Types.LONG()))

        async def async_invoke(self, value: Any) -> list[Any]:
            return [(value, self.subtask)]

    keyed = environment(2).from_collection(range(40)).key_by(lambda v: v % 4)
    out = collect(async_wait(keyed, WithSubtask()))
    assert sorted(tuple(row) for row, _ in out) == sorted((v % 4, v) for v in range(40))
    assert len({(row[0], subtask) for row, subtask in out}) == 4


def test_batch_mode() -> None:
    env = environment(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    looked_up = async_wait(env.from_collection(range(200)), Echo(0, 2), capacity=20)
    out = collect(looked_up.key_by(lambda v: v % 3).reduce(lambda a, b: a + b))
    assert sorted(out) == sorted(sum(range(k, 200, 3)) for k in range(3))


def test_one_behind_the_other() -> None:
    stream = async_wait(environment(2, epoch_records=50).from_collection(range(300)), Echo(0, 2), capacity=9)
    again = async_wait(stream.map(lambda v: v + 1000), Echo(0, 2), capacity=5)
    assert sorted(collect(again)) == list(range(1000, 1300))


# ---- the epoch


@BOTH
@pytest.mark.parametrize("epoch_records", [1, 20, None])
@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.row("S-PROC-10", "T25")
def test_every_input_has_its_output_once_whatever_happens_to_an_epoch(
    parallelism: int, epoch_records: int | None, ordered: bool
) -> None:
    """Broken by hand: ``end_epoch`` does not wait; ``abandon`` does nothing and ``begin_epoch``
    keeps the requests of the epoch before."""
    count = 40 if epoch_records == 1 else 200
    engines: list[FaultyEngine] = []

    def engine() -> FaultyEngine:
        engines.append(FaultyEngine(parallelism + 10 * (epoch_records or 0) + 5 * ordered))
        return engines[-1]

    with local_platform(engine):
        env = environment(parallelism, epoch_records=epoch_records)
        # An exchange on both sides: rows are what can be lost, doubled and killed.
        stream = async_wait(env.from_collection(range(count)).rebalance(), Tracked(), ordered=ordered)
        out = collect(stream.key_by(lambda v: v % 5).map(lambda v: v))
    assert sorted(out) == list(range(count))
    assert len(notes["begun"]) == len(notes["ended"]), "what was left has been cancelled"
    if epoch_records == 1:
        assert engines[0].discarded
        assert engines[0].doubled
        assert engines[0].killed


class Tracked(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        note("begun", value)
        try:
            await asyncio.sleep(random.random() / 500)
        finally:
            note("ended", value)
        return [value]


def test_an_attempt_that_is_left_cancels_its_requests() -> None:
    operator, seen = operator_of(function := ByHand(), False, capacity=3)
    operator.process(Batch(list(range(9)), None))
    answer(operator, function, 1)
    until(lambda: set(function.answers) == {0, 1, 2, 3})
    operator.abandon()
    assert all(f.cancelled() for v, f in function.answers.items() if v != 1)
    operator.begin_epoch()
    operator.process(Batch(["next"], None))
    answer(operator, function, "next")
    operator.end_epoch()
    assert seen == [("next", NO_TIMESTAMP)]
    operator.close()


def test_ordered_results_do_not_depend_on_the_cut() -> None:
    def run(parallelism: int, epoch_records: int | None) -> list[Any]:
        env = environment(parallelism, epoch_records=epoch_records)
        stream = env.from_collection([At(i, i % 7) for i in range(150)]).set_parallelism(1)
        stamped = stream.assign_timestamps_and_watermarks(punctuated(AfterEach)).set_parallelism(1)
        asked = async_wait(stamped, Echo(0, 1), ordered=True).set_parallelism(1)
        numbered = asked.key_by(lambda r: r.value).map(lambda r: (r.value, r.ts))
        return sorted(collect(numbered))

    assert run(1, None) == run(2, 1) == run(2, 13)
