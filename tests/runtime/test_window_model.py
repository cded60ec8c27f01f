"""Windows over random inputs, cuts, failures and parallelism, against a model that recomputes everything.

The watermarks are punctuated and the source has one split, so one result is promised. Each program
runs twice: as it is, where many windows have an operator of their own, and with the operator for all windows.
Each has to give what the model says, and both the same records with the same timestamps in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.time import Time
from firesteel.common.watermark_strategy import WatermarkOutput
from firesteel.datastream import AggregateFunction
from firesteel.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from firesteel.runtime.operators import panes, sessions
from firesteel.testing.local_platform import LocalEngine
from tests.budget import examples

from .engines import FaultyEngine, TurnsEngine
from .support import (
    MAX,
    NO_TIMESTAMP,
    At,
    Punctuated,
    collect,
    environment,
    local_platform,
    notes,
    punctuated,
)
from .window_model import Case, Windows, cases, counted, windows_of

IDLE: Any = "idle"  # where a watermark may stand


def expected(records: list[At], case: Case) -> tuple[Counter[Any], Counter[Any]]:
    windows, watermark = Windows(case), NO_TIMESTAMP
    for record in [*records, At(0, None, MAX)]:
        if record.value is not None:
            windows = windows.element(*record.value, record.ts, watermark)
        if type(record.watermark) is int and record.watermark > watermark:
            windows = windows.watermark(watermark, record.watermark)
            watermark = record.watermark
    fired = (window.numbers if case.is_bare else window for window in windows.fired)
    return Counter(fired), Counter(windows.late)


class PunctuatedOrIdle(Punctuated):
    def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
        if event.watermark == IDLE:
            output.mark_idle()
        else:
            super().on_event(event, event_timestamp, output)


def run(records: list[At], case: Case, parallelism: int, epoch_records: int | None) -> list[Any]:
    env = environment(parallelism, epoch_records=epoch_records, **case.options)
    strategy = punctuated(PunctuatedOrIdle)
    source = env.from_collection(records).assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    return collect(windows_of(source, case))


@contextmanager
def one_operator_for_all() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for fast in (panes, sessions):
            patch.setattr(fast, "serves", lambda spec: False)
        yield


# Made once: Hypothesis looks at each new strategy anew. A list of its own would be short most of the time.
BEGIN, COUNT = st.integers(-30, 30), st.integers(0, 25)
RECORD = st.tuples(
    st.integers(-12, 12),  # later than the one before
    st.one_of(st.none(), st.none(), st.just(IDLE), st.integers(-15, 3)),  # the watermark, from its time
    st.tuples(st.sampled_from("abc"), st.integers(0, 9)),
)


@st.composite
def inputs(draw: st.DrawFn) -> list[At]:
    records = []
    ts = draw(BEGIN)
    for _ in range(draw(COUNT)):
        step, mark, value = draw(RECORD)
        ts += step
        records.append(At(ts, value, ts + mark if type(mark) is int else mark))
    return records


ENGINES: list[Callable[[], LocalEngine]] = [
    LocalEngine,
    lambda: TurnsEngine(2),
    lambda: FaultyEngine(7),
]


@settings(max_examples=examples(80), deadline=None)
@given(
    inputs(), cases(), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 5, None]), st.sampled_from(ENGINES)
)
@pytest.mark.row("S-TIME-06", "S-WIN-01", "S-WIN-04", "S-WIN-22", "S-OPS-15")
def test_windows_are_those_of_the_model(
    records: list[At], case: Case, parallelism: int, epoch_records: int | None, engine: Any
) -> None:
    with local_platform(engine):
        found = run(records, case, parallelism, epoch_records)
        cleared = Counter(notes["cleared"])
    assert counted(found, case) == expected(records, case)
    with one_operator_for_all(), local_platform(engine):
        general = run(records, case, parallelism, epoch_records)
        assert engine is not LocalEngine or cleared == Counter(notes["cleared"])
    if case.combined:  # elements have become one before they came to the operator
        assert counted(general, case) == expected(records, case)
    else:
        assert found == general


class Balance(AggregateFunction):
    """Sums; a negative number takes all away, and a sum of 13 is no result."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: At, accumulator: int) -> int | None:
        return None if value.value[1] < 0 else accumulator + value.value[1]

    def get_result(self, accumulator: int) -> int | None:
        assert accumulator is not None
        return None if accumulator == 13 else accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("epoch_records", [1, None])
@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.milliseconds(100)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(50)),
    ],
)
def test_nothing_kept_and_no_result_do_not_fire(
    assigner: Any, epoch_records: int | None, general: bool
) -> None:
    records = [("a", 1), ("a", -1), ("b", 13), ("c", 5), ("c", -1), ("c", 2), ("d", 0)]
    with one_operator_for_all() if general else nullcontext(), local_platform():
        env = environment(epoch_records=epoch_records)
        source = env.from_collection([At(1, record) for record in records])
        source = source.assign_timestamps_and_watermarks(punctuated())
        assert collect(source.key_by(lambda r: r.value[0]).window(assigner).aggregate(Balance())) == [2, 0]


@pytest.mark.parametrize("contents", ["reduce", "aggregate"])
@pytest.mark.parametrize("epoch_records", [1, None])
@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (  # the watermark is at the last instant of the session: the next elements come after it fired
            [At(0, ("a", 1), 9), At(0, ("a", 2)), At(5, ("a", 3), 14), At(1, ("a", 4))],
            [(0, 10, (1,), 9), (0, 10, (1, 2), 0), (0, 15, (1, 2, 3), 14), (0, 15, (1, 2, 3, 4), 1)],
        ),
        (  # the first session grew last: it is merged behind the third one
            [At(t, ("a", n)) for n, t in enumerate([0, 40, 20, 5, 12, 30])],
            [(0, 50, (1, 2, 0, 3, 4, 5), 49)],
        ),
    ],
)
@pytest.mark.parametrize("general", [False, True])
def test_sessions_fire_and_merge_in_the_same_order(
    records: list[At], expected: list[Any], contents: str, epoch_records: int | None, general: bool
) -> None:
    case = Case(10, None, 0, 100, contents)
    with one_operator_for_all() if general else nullcontext(), local_platform():
        found = run(records, case, 1, epoch_records)
    assert [(*value[1:], stamp) for _, value, stamp in found] == expected
