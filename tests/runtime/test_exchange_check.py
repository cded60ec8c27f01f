"""An epoch in which the consumers of one task have read the output of two runs of it does not count."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from firesteel.common import Types
from firesteel.runtime import worker
from firesteel.runtime.exchange_check import edges_that_differ, weighted
from firesteel.runtime.program import Ack, LevelDescriptor, Pace
from firesteel.runtime.wire import WireRow, channel_id
from firesteel.testing.local_platform import LocalEngine

from .support import environment, local_platform

counts = st.dictionaries(
    st.builds(channel_id, st.integers(0, 5), st.integers(0, 5)), st.integers(1, 1000), min_size=1
)


@given(counts)
def test_what_arrives_as_it_was_sent_agrees(records: dict[int, int]) -> None:
    sender, receiver = Ack("a", 0, sent=weighted(records)), Ack("b", 0, received=weighted(records))
    assert edges_that_differ([sender, receiver]) == []


@given(counts, st.data())
def test_any_difference_shows(records: dict[int, int], data: st.DataObject) -> None:
    channel = data.draw(st.sampled_from(sorted(records)))
    other = Counter(records)
    other[channel] += data.draw(st.integers(-records[channel], 1000).filter(bool))
    sender, receiver = Ack("a", 0, sent=weighted(records)), Ack("b", 0, received=weighted(other))
    assert edges_that_differ([sender, receiver]) == [channel >> 16]


def test_records_of_another_producer_are_not_the_same() -> None:
    sender = Ack("a", 0, sent=weighted({channel_id(1, 0): 5, channel_id(1, 1): 7}))
    receiver = Ack("b", 0, received=weighted({channel_id(1, 0): 7, channel_id(1, 1): 5}))
    assert edges_that_differ([sender, receiver]) == [1]


class MixingEngine(LocalEngine):
    """In the first epoch the source task runs twice and comes less far the second time, as it may when Spark
    has lost its output; one consumer reads the first output, the other one the second."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed = 0

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        first = super()._run_level(descriptor, width, rows)
        if descriptor.level > 0 or self.mixed:
            return first
        self.mixed += 1
        worker.forget_everything()
        short = replace(descriptor, pace=Pace(0, 0, 10))  # the time is over after ten records
        second = super()._run_level(pickle.loads(pickle.dumps(short)), width, rows)
        return [r for r in first if r.target == 0] + [r for r in second if r.target != 0]


def test_an_epoch_of_two_runs_is_run_again(caplog: pytest.LogCaptureFixture) -> None:
    with local_platform(MixingEngine) as platform:
        env = environment(2)
        numbers = env.from_collection(list(range(1000)), Types.INT())
        results = list(numbers.key_by(lambda n: n % 10).map(lambda n: n).execute_and_collect())
        (engine,) = platform.engines
        assert isinstance(engine, MixingEngine)
        assert engine.mixed == 1
    assert sorted(results) == list(range(1000))
    assert "records of two runs of one task" in caplog.text
