"""Count windows over random inputs, cuts, failures and parallelism, against a model of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.datastream import ProcessWindowFunction
from firesteel.datastream.window import CountEvictor, CountTrigger, GlobalWindows
from firesteel.testing.local_platform import LocalEngine
from tests.budget import examples

from .engines import FaultyEngine, TurnsEngine
from .support import At, collect, environment, local_platform
from .window_model import Gather

ENGINES: list[Callable[[], LocalEngine]] = [
    LocalEngine,
    lambda: TurnsEngine(2),
    lambda: FaultyEngine(7),
]
CUTS = st.sampled_from([1, 2, 5, None])


@dataclass(frozen=True)
class Counted:
    """``slide`` None: one after the other. ``as_java``: the newest ``size`` at each ``slide``-th element, as
    ``countWindow(size, slide)`` of Flink's Java API has them; else PyFlink's ``count_window``."""

    size: int
    slide: int | None
    as_java: bool
    whole_stream: bool
    aggregated: bool


@st.composite
def counted(draw: st.DrawFn) -> Counted:
    slide = draw(st.sampled_from([None, 1, 2, 3, 4, 7]))
    as_java = slide is not None and draw(st.booleans())
    return Counted(draw(st.integers(1, 6)), slide, as_java, draw(st.booleans()), draw(st.booleans()))


def count_model(records: list[tuple[str, int]], case: Counted) -> dict[str, list[list[int]]]:
    """The windows of each key in the order in which they are full; what is left over never fires."""
    by_key: dict[str, list[int]] = defaultdict(list)
    for key, number in records:
        by_key["all" if case.whole_stream else key].append(number)
    return {k: windows for k, numbers in by_key.items() if (windows := list(_full(numbers, case)))}


def _full(numbers: list[int], case: Counted) -> Iterator[list[int]]:
    slide = case.slide or case.size
    if case.as_java:
        yield from (numbers[max(0, end - case.size) : end] for end in range(slide, len(numbers) + 1, slide))
        return
    for start in range(0, len(numbers) - case.size + 1, slide):
        yield numbers[start : start + case.size]


class KeyAndNumbers(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterator[tuple[str, list[int]]]:
        found = list(elements)
        yield key, found[0] if isinstance(found[0], list) else [e.value[1] for e in found]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=30),
    counted(),
    st.sampled_from([1, 2, 3]),
    CUTS,
    st.sampled_from(ENGINES),
)
@pytest.mark.row("S-WIN-01", "S-WIN-08")
def test_count_windows_are_those_of_the_model(
    records: list[tuple[str, int]], case: Counted, parallelism: int, cut: int | None, engine: Any
) -> None:
    with local_platform(engine):
        env = environment(parallelism, epoch_records=cut)
        stream = env.from_collection([At(0, record) for record in records]).set_parallelism(1)
        keyed = stream.key_by(lambda r: "all" if case.whole_stream else r.value[0])
        if case.as_java:
            windowed = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(case.slide or 0))
            windowed = windowed.evictor(CountEvictor.of(case.size))
        else:
            windowed = keyed.count_window(case.size, case.slide or 0)
        function = KeyAndNumbers()
        fired = windowed.aggregate(Gather(), function) if case.aggregated else windowed.process(function)
        found: dict[str, list[list[int]]] = defaultdict(list)
        for key, numbers in collect(fired):
            found[key].append(numbers)
        assert found == count_model(records, case)
