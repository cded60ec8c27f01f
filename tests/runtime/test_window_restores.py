"""Windows of time that go on from a savepoint with another allowed lateness, or in another operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common import Configuration, Time
from firesteel.common.errors import StateError
from firesteel.common.options import state as state_options
from firesteel.datastream import DataStream
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    TumblingEventTimeWindows,
)
from firesteel.testing import OperatorHarness
from tests.budget import examples

from .support import MAX, NO_TIMESTAMP, At
from .test_window_model import one_operator_for_all
from .window_model import Case, Windows, cases, counted, windows_of

#: A record or a watermark.
Event = At | int
#: Hardly anything of the state stays in memory between two epochs.
COLD = {state_options.BACKEND.key: "rocksdb", state_options.ROCKSDB_MEMORY.key: "1kb"}
LATENESS = st.sampled_from([0, 1, 5, 20, 100])


@dataclass(frozen=True)
class Part:
    """What happens between two savepoints."""

    events: tuple[Event, ...]
    lateness: int
    general: bool  # in the operator for all windows
    parallelism: int


@st.composite
def parts(draw: st.DrawFn) -> list[Part]:
    found, ts = [], draw(st.integers(-30, 30))
    count, lateness = draw(st.integers(2, 3)), draw(LATENESS)
    for number in range(count):
        events: list[Event] = []
        for _ in range(draw(st.integers(1, 12))):
            ts += draw(st.integers(-9, 12))
            added = draw(st.integers(0, 9))
            events.append(At(ts, (draw(st.sampled_from("abc")), added)))
            if draw(st.booleans()):
                events.append(draw(st.integers(ts - 12, ts + 6)))
        general = draw(st.booleans())
        if number == count - 1 or not general:
            # The operator for all windows keeps some for good where lateness changes, as Flink does.
            lateness = draw(LATENESS)
        found.append(Part(tuple(events), lateness, general, draw(st.sampled_from([1, 2]))))
    return found


def expected(found: Sequence[Part], case: Case) -> tuple[Counter[Any], Counter[Any]]:
    windows, watermark = Windows(case), NO_TIMESTAMP
    for number, part in enumerate(found):
        windows, watermark = windows.restored(watermark, part.lateness), NO_TIMESTAMP
        for event in (*part.events, *([MAX] if number == len(found) - 1 else [])):
            if isinstance(event, At):
                windows = windows.element(*event.value, event.ts, watermark)
            elif event > watermark:
                windows = windows.watermark(watermark, event)
                watermark = event
    fired = (window.numbers if case.is_bare else window for window in windows.fired)
    return Counter(fired), Counter(windows.late)


def run(found: Sequence[Part], case: Case, options: dict[str, str]) -> tuple[list[Any], OperatorHarness]:
    snapshot, results = None, []
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    for part in found:
        now = replace(case, lateness=part.lateness)
        with one_operator_for_all() if part.general else nullcontext():
            harness = OperatorHarness(
                lambda stream, now=now: windows_of(stream, now),
                parallelism=part.parallelism,
                restore=snapshot,
                configuration=configuration,
            )
            for event in part.events:
                if isinstance(event, At):
                    harness.process_element(event, event.ts)
                else:
                    harness.process_watermark(event)
            if part is found[-1]:
                harness.process_watermark(MAX)
            snapshot = harness.snapshot()
        results += harness.values
    return results, harness


@settings(max_examples=examples(30), deadline=None)
@given(parts(), cases(), st.booleans())
@pytest.mark.row("S-WIN-22")
def test_windows_go_on_with_another_lateness_and_in_another_operator(
    found: list[Part], case: Case, cold: bool
) -> None:
    """What has fired stays quiet until an element comes; what was open fires, and is kept as long as is
    allowed now."""
    case = replace(case, contents="reduce" if case.contents == "list" else case.contents, combined=False)
    if case.slide is None:  # sessions stay in their operator
        found = [replace(part, general=False) for part in found]
    results, harness = run(found, case, COLD if cold else {})
    assert counted(results, case) == expected(found, case)
    if not found[-1].general:  # as in Flink, where lateness is lost it keeps what had fired
        assert harness.num_keyed_state_entries() == 0
        assert harness.timers() == []


def sums(assigner: Any, lateness: int = 0, trigger: Any = None) -> Callable[[DataStream], DataStream]:
    def program(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda v: v[0]).window(assigner).allowed_lateness(lateness)
        windows = windows if trigger is None else windows.trigger(trigger)
        return windows.reduce(lambda a, b: (a[0], a[1] + b[1]))

    return program


TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))


def test_a_window_with_allowed_lateness_is_one_value_and_no_timer() -> None:
    harness = OperatorHarness(sums(TEN, lateness=5))
    for number in (1, 2, 4):
        harness.process_element(("k", number), number)
    harness.process_watermark(9)
    harness.process_element(("k", 8), 3)
    assert harness.values == [("k", 7), ("k", 15)]
    assert (harness.num_keyed_state_entries(), harness.timers()) == (1, [])
    harness.process_watermark(14)
    assert harness.num_keyed_state_entries() == 0


@pytest.mark.parametrize("trigger", [EventTimeTrigger.create(), PurgingTrigger.of(EventTimeTrigger.create())])
@pytest.mark.parametrize("all_keys", [False, True])
def test_a_trigger_that_does_what_the_own_one_does_needs_no_timer(trigger: Any, all_keys: bool) -> None:
    def program(stream: DataStream) -> DataStream:
        windows: Any = stream.window_all(TEN) if all_keys else stream.key_by(lambda v: v[0]).window(TEN)
        return windows.trigger(trigger).reduce(lambda a, b: (a[0], a[1] + b[1]))

    harness = OperatorHarness(program)
    for number in (1, 2, 4):
        harness.process_element(("k", number), number)
    assert harness.timers() == []
    harness.process_watermark(9)
    assert harness.values == [("k", 7)]
    assert harness.num_keyed_state_entries() == 0


class OwnTrigger(EventTimeTrigger):
    """A trigger of the user's."""


@pytest.mark.parametrize("before", [None, OwnTrigger()])
@pytest.mark.parametrize("after", [None, PurgingTrigger.of(EventTimeTrigger.create())])
@pytest.mark.row("S-WIN-33")
def test_a_window_goes_on_with_another_trigger(before: Any, after: Any) -> None:
    harness = OperatorHarness(sums(TEN, 5, before))
    for number, timestamp in ((1, 1), (2, 11)):
        harness.process_element(("k", number), timestamp)
    harness.process_watermark(9)
    restored = OperatorHarness(sums(TEN, 5, after), restore=harness.snapshot())
    restored.process_element(("k", 4), 12)
    restored.process_watermark(30)
    assert (harness.values, restored.values) == ([("k", 1)], [("k", 6)])
    assert (restored.num_keyed_state_entries(), restored.timers()) == (0, [])


def test_what_has_fired_stays_quiet_with_another_trigger_and_no_lateness() -> None:
    harness = OperatorHarness(sums(TEN, 5))
    harness.process_element(("k", 1), 1)
    harness.process_watermark(9)
    restored = OperatorHarness(sums(TEN, 0, OwnTrigger()), restore=harness.snapshot())
    restored.process_watermark(30)
    assert (harness.values, restored.values) == ([("k", 1)], [])


@pytest.mark.parametrize("watermark", [20, 200])
def test_a_session_that_has_fired_stays_quiet_until_an_element_comes(watermark: int) -> None:
    sessions = sums(EventTimeSessionWindows.with_gap(Time.milliseconds(5)), 100)
    harness = OperatorHarness(sessions)
    for key in "ab":
        harness.process_element((key, 1), 1)
    harness.process_watermark(10)
    restored = OperatorHarness(sessions, restore=harness.snapshot())
    restored.process_element(("b", 2), 2)
    restored.process_watermark(watermark)
    assert (harness.values, restored.values) == ([("a", 1), ("b", 1)], [("b", 3)])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sums(TEN), sums(TumblingEventTimeWindows.of(Time.milliseconds(20)))),
        (
            sums(TEN, trigger=PurgingTrigger.of(EventTimeTrigger.create())),
            sums(TumblingEventTimeWindows.of(Time.milliseconds(20))),
        ),
        (
            sums(TEN),
            sums(
                EventTimeSessionWindows.with_gap(Time.milliseconds(10)),
                trigger=OwnTrigger(),
            ),
        ),
    ],
)
def test_other_windows_are_refused(before: Any, after: Any) -> None:
    harness = OperatorHarness(before)
    harness.process_element(("k", 1), 1)
    with pytest.raises(StateError, match="was stored for windows"):
        OperatorHarness(after, restore=harness.snapshot())
