"""State dealt out anew over another number of subtasks."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.key_groups import key_group_range, subtask_of
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.datastream.time_domain import TimeDomain
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.files import MemoryStateFiles
from firesteel.state.keys import key_group
from firesteel.state.line import StateLine
from firesteel.state.reader import StateReader, Timer
from firesteel.state.rescale import rescaled

from .support import Driver, use

ANY = Types.PICKLED_BYTE_ARRAY()
COUNT = ValueStateDescriptor("count", ANY)
SEEN = ListStateDescriptor("seen", ANY)
RULES = MapStateDescriptor("rules", ANY, ANY)
KEYS = [*range(40), *(f"k{n}" for n in range(20))]


def subtasks(parallelism: int, epochs: int, files: MemoryStateFiles) -> list[StateLine]:
    """The lines of a vertex that has counted each key once for each epoch, in small and large runs."""
    lines = []
    for subtask in range(parallelism):
        limits = StateLimits(inline_bytes=64 if subtask else 65536, compaction_entries=10)
        driver = Driver(files, limits, key_groups=key_group_range(128, parallelism, subtask))
        driver.epoch = 1000 * subtask  # manifests of their own
        mine = [k for k in KEYS if subtask_of(key_group(k, 128), 128, parallelism) == subtask]

        def work(op: OperatorState, mine: list[Any] = mine, subtask: int = subtask) -> None:
            for key in mine:
                use(op, key)
                count = op.get_state(COUNT)
                count.update((count.value() or 0) + 1)
                op.get_list_state(SEEN).add(key)
                op.event_timers.register(100 if type(key) is int else 200)
            op.list_state("split").update([f"{subtask}.{n}" for n in range(subtask + 2)])
            op.union_list_state("union").update([subtask])
            op.broadcast_state(RULES).put("r", "same everywhere")

        process = driver.process()
        for _ in range(epochs):
            driver.run(process, work)
        lines.append(driver.line)
    return lines


def readers(lines: list[StateLine], files: MemoryStateFiles) -> list[StateReader]:
    return [
        StateReader(line, files, max_parallelism=128, key_groups=key_group_range(128, len(lines), subtask))
        for subtask, line in enumerate(lines)
    ]


def entry(reader: StateReader, name: str) -> Any:
    return next(e for e in reader.states if e.name == name)


@pytest.mark.parametrize("epochs", [1, 12])
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 3), (3, 1), (2, 5), (5, 2), (3, 3)])
@pytest.mark.row("S-TIMER-06", "S-STATE-18", "S-STATE-20")
def test_everything_is_there_once(before: int, after: int, epochs: int) -> None:
    files = MemoryStateFiles()
    lines = rescaled(subtasks(before, epochs, files), files, 128, after, "new")
    found = readers(lines, files)
    counts = {
        key: r.keyed(entry(r, "count"), None, key) for r in found for key in r.keys(entry(r, "count"), None)
    }
    assert counts == dict.fromkeys(KEYS, epochs)
    seen = {
        key: r.keyed(entry(r, "seen"), SEEN, key) for r in found for key in r.keys(entry(r, "seen"), None)
    }
    assert seen == {key: [key] * epochs for key in KEYS}
    timers = [timer for reader in found for timer in reader.timers()]
    assert sorted(timers, key=str) == sorted(
        (Timer(100 if type(key) is int else 200, key, TimeDomain.EVENT_TIME) for key in KEYS), key=str
    )
    assert sum(reader.count_entries() for reader in found) == 2 * len(KEYS)


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 2), (1, 3), (3, 2), (4, 1)])
@pytest.mark.row("S-STATE-20")
def test_operator_state_by_its_kind(before: int, after: int) -> None:
    files = MemoryStateFiles()
    old = [f"{subtask}.{n}" for subtask in range(before) for n in range(subtask + 2)]
    found = readers(rescaled(subtasks(before, 2, files), files, 128, after, "new"), files)
    split = [reader.of_operator(entry(reader, "split"), None) for reader in found]
    assert [element for part in split for element in part] == old
    if before == after:
        assert [len(part) for part in split] == [n + 2 for n in range(before)], "everyone keeps its own"
    else:
        assert max(map(len, split)) - min(map(len, split)) <= 1
    for reader in found:
        assert reader.of_operator(entry(reader, "union"), None) == list(range(before))
        assert reader.of_operator(entry(reader, "rules"), RULES) == {"r": "same everywhere"}


def test_a_new_subtask_goes_on_from_its_line() -> None:
    files = MemoryStateFiles()
    lines = rescaled(subtasks(3, 2, files), files, 128, 2, "new")
    driver = Driver(files, key_groups=key_group_range(128, 2, 1))
    driver.line, driver.epoch = lines[1], 9000
    key = next(k for k in KEYS if subtask_of(key_group(k, 128), 128, 2) == 1)

    def work(op: OperatorState) -> Any:
        count = use(op, key).get_state(COUNT)
        count.update(count.value() + 1)
        op.list_state("split").add("more")
        return count.value(), list(op.union_list_state("union").get())

    assert driver.run(driver.process(), work) == (3, [0, 1, 2])
    (reader,) = readers([driver.line], files)
    assert reader.keyed(entry(reader, "count"), COUNT, key) == 3
    assert reader.of_operator(entry(reader, "split"), None)[-1] == "more"
