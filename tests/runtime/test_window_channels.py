"""Windows behind two channels, with late data.

Which records are late depends on how the channels interleave, which Flink leaves open too. So the result must
be one of those that some interleaving gives: the model tries them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.key_groups import subtask_of
from firesteel.state.keys import key_group
from tests.budget import examples

from .support import MAX, NO_TIMESTAMP, At, collect, environment, local_platform, punctuated
from .test_window_model import ENGINES
from .window_model import Case, Windows, cases, counted, windows_of

Event = At | int  # a record, or a watermark
Channels = tuple[list[Event], list[Event]]
KEYS = "abcd"


def events(channel: list[At], keys: set[str]) -> list[Event]:
    """What comes over a channel: the records of ``keys``, all watermarks, each behind its record, the end."""
    found: list[Event] = []
    for record in channel:
        if record.value[0] in keys:
            found.append(record)
        if record.watermark is not None:
            found.append(record.watermark)
    return [*found, MAX]


def possible_results(
    channels: Channels, case: Case, keep: Callable[[Windows], bool] = lambda state: True
) -> set[Windows]:
    """The states at the end of every interleaving, without those on whose way ``keep`` is false.

    ``states[i, j]`` are those after ``i`` events of the first channel and ``j`` of the second, whatever their
    order. The watermark depends on ``i`` and ``j`` alone: it is the lower one of both channels.
    """
    marks = [_highest(channel) for channel in channels]
    states: dict[tuple[int, int], set[Windows]] = {(0, 0): {Windows(case)}}
    for i in range(len(channels[0]) + 1):
        for j in range(len(channels[1]) + 1):
            now = min(marks[0][i], marks[1][j])
            reached = states.setdefault((i, j), set())
            for came, di, dj in ((channels[0][i - 1], 1, 0), (channels[1][j - 1], 0, 1)):
                if i < di or j < dj:
                    continue
                before = min(marks[0][i - di], marks[1][j - dj])
                for state in states[i - di, j - dj]:
                    if isinstance(came, At):
                        state = state.element(*came.value, came.ts, now)
                    elif now > before:
                        state = state.watermark(before, now)
                    if keep(state):
                        reached.add(state)
    return states[len(channels[0]), len(channels[1])]


def _highest(channel: list[Event]) -> list[int]:
    """The watermark of a channel after each number of events."""
    marks = [NO_TIMESTAMP]
    for event in channel:
        marks.append(marks[-1] if isinstance(event, At) else max(marks[-1], event))
    return marks


# Made once: Hypothesis looks at each new strategy anew.
BEGIN, COUNT = st.integers(0, 10), st.integers(0, 7)
RECORD = st.tuples(
    st.integers(-8, 10),  # later than the one before
    st.one_of(st.none(), st.integers(-6, 4)),  # the watermark, from its time
    st.tuples(st.sampled_from(KEYS), st.integers(0, 9)),
)


@st.composite
def channels(draw: st.DrawFn) -> list[At]:
    ts = draw(BEGIN)
    records = []
    for _ in range(draw(COUNT)):
        step, mark, value = draw(RECORD)
        ts += step
        records.append(At(ts, value, None if mark is None else ts + mark))
    return records


@settings(max_examples=examples(60), deadline=None)
@given(
    st.tuples(channels(), channels()),
    cases(plain=st.just(False)),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2, 5, None]),
    st.sampled_from(ENGINES),
)
@pytest.mark.row("S-WIN-01", "S-WIN-23")
def test_the_result_is_that_of_some_interleaving(
    both: tuple[list[At], list[At]], case: Case, parallelism: int, cut: int | None, engine: Any
) -> None:
    with local_platform(engine):
        env = environment(parallelism, epoch_records=cut, **case.options)
        one, two = (
            env.from_collection(records).assign_timestamps_and_watermarks(punctuated()).set_parallelism(1)
            for records in both
        )
        fired, late = counted(collect(windows_of(one.union(two), case)), case)
    for subtask in range(parallelism):  # each sees an interleaving of its own
        keys = {k for k in KEYS if subtask_of(key_group(k, 128), 128, parallelism) == subtask}
        found = (
            Counter(w for w in fired.elements() if w.key in keys),
            Counter(r for r in late.elements() if r[0] in keys),
        )

        def gives_no_more(state: Windows, found: Any = found) -> bool:
            return Counter(state.fired) <= found[0] and Counter(state.late) <= found[1]

        possible = possible_results((events(both[0], keys), events(both[1], keys)), case, gives_no_more)
        assert found in [(Counter(s.fired), Counter(s.late)) for s in possible]


def test_the_model_knows_what_is_open_and_what_is_not() -> None:
    """The first channel is at 12 when its record 3 comes. Whether the record is late depends on whether the
    second one has come to 15 by then; a first channel that has no watermark holds time back."""
    case = Case(10, 10, 0, 0, "list")
    record, second = At(3, ("a", 1)), [At(20, ("a", 2)), 15, MAX]
    in_time, late = (("a", 0, 10, (1,)), ("a", 20, 30, (2,))), (("a", 20, 30, (2,)),)
    found = {(s.fired, s.late) for s in possible_results(([12, record, MAX], second), case)}
    assert found == {(in_time, ()), (late, (("a", 1),))}
    found = {(s.fired, s.late) for s in possible_results(([record, MAX], second), case)}
    assert found == {(in_time, ())}
