"""A column from outside is kept like those of Firesteel: in caches, in files, across processes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from firesteel.common.errors import StateError, UnsupportedFeatureError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import StateTtlConfig
from firesteel.state._column import column_id
from firesteel.state._overlay import Overlay
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.reader import StateReader
from firesteel.state.rescale import rescaled
from firesteel.state.rows import of_column, rows_of
from tests.state.support import GROUPS, Driver, use

from .counter import CounterStateDescriptor

COUNTER = CounterStateDescriptor("hits")
SMALL = StateLimits(cache_entries=20, warm_entries=10, inline_bytes=64)


def counted(driver: Driver, epochs: int, *, same_process: bool) -> Counter[str]:
    """Counts of some keys after a few epochs, in one process or in a new one each time."""
    chosen, expected = random.Random(7), Counter[str]()
    state = driver.process()
    for epoch in range(epochs):
        hits = [(f"k{chosen.randrange(100)}", chosen.choice((1, 2, -1))) for _ in range(60)]

        def work(op: OperatorState, hits: list[tuple[str, int]] = hits, epoch: int = epoch) -> None:
            for key, number in hits:
                use(op, key).get_partitioned_state(COUNTER).add(number)
            use(op, f"k{epoch}").get_partitioned_state(COUNTER).clear()

        driver.run(state, work)
        for key, number in hits:
            expected[key] += number
        expected[f"k{epoch}"] = 0
        if not same_process:
            state = driver.process()
    return expected


def reader_of(line: Any, driver: Driver, groups: range = GROUPS) -> StateReader:
    return StateReader(line, driver.files, max_parallelism=128, key_groups=groups)


@pytest.mark.parametrize("same_process", [True, False])
@pytest.mark.parametrize("limits", [None, SMALL], ids=["all in memory", "little memory"])
def test_it_is_what_was_counted(limits: StateLimits | None, same_process: bool) -> None:
    driver = Driver(limits=limits)
    expected = counted(driver, 8, same_process=same_process)
    found = driver.run(
        driver.process(),
        lambda op: {key: use(op, key).get_partitioned_state(COUNTER).get() for key in expected},
    )
    assert found == expected
    keys = driver.run(
        driver.process(), lambda op: (op.get_partitioned_state(COUNTER), op.get_keys("hits"))[1]
    )
    assert sorted(keys) == sorted(key for key, count in expected.items() if count)


def test_it_is_dealt_out_with_its_keys_and_read_as_rows() -> None:
    driver = Driver()
    expected = {key: n for key, n in counted(driver, 3, same_process=True).items() if n}
    one, two = rescaled([driver.line], driver.files, 128, 2, "new")
    readers = [reader_of(one, driver, range(64)), reader_of(two, driver, range(64, 128))]
    (entry,) = readers[0].states
    found = {key: reader.keyed(entry, None, key) for reader in readers for key in reader.keys(entry, None)}
    assert found == expected
    overlay = Overlay(driver.files)
    overlay.move_to(driver.line)
    slices = [(list(part), list(part.values())) for part in [overlay.scan_all(0, 127)]]
    rows = rows_of(entry)(of_column(slices, column_id("op", "hits")))
    assert {row.key: row.value for row in rows} == expected


def test_one_that_knows_no_time_to_live_is_refused_it() -> None:
    mortal = CounterStateDescriptor("mortal")
    mortal.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    driver = Driver()
    with pytest.raises(UnsupportedFeatureError, match="State 'mortal' cannot have a time to live"):
        driver.run(driver.process(), lambda op: op.get_partitioned_state(mortal))


def test_a_stored_state_of_a_kind_that_cannot_convert_keeps_its_type() -> None:
    driver = Driver()
    driver.run(driver.process(), lambda op: use(op, "k").get_partitioned_state(COUNTER).add(1))
    other = CounterStateDescriptor("hits")
    other.type_info = Types.DOUBLE()
    other.migrate_from(Types.LONG(), float)
    with pytest.raises(StateError, match="was stored as Long and is now declared as Double") as caught:
        driver.run(driver.process(), lambda op: op.get_partitioned_state(other))
    assert caught.value.detail == "such state keeps its type"
    assert "migrate_from" not in str(caught.value)
