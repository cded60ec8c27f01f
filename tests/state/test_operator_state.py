from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import MapStateDescriptor
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.operator_state import (
    redistribute_broadcast,
    redistribute_split,
    redistribute_union,
)

from .support import Driver

ANY = Types.PICKLED_BYTE_ARRAY()
RULES = MapStateDescriptor("rules", ANY, ANY)


@pytest.mark.row("S-STATE-11", "T19")
def test_split_deals_entries_out_in_contiguous_parts() -> None:
    lists = [["a", "b", "c"], ["d"]]
    assert redistribute_split(lists, 3) == [["a", "b"], ["c"], ["d"]]
    assert redistribute_split([["a"], ["b"], ["c"], ["d"], ["e"]], 2) == [["a", "b", "c"], ["d", "e"]]
    assert redistribute_split(lists, 2) == lists
    assert redistribute_split(lists, 6) == [["a"], ["b"], ["c"], ["d"], [], []]
    assert redistribute_split([], 2) == [[], []]


@pytest.mark.row("S-STATE-12", "T19")
def test_union_gives_everyone_everything() -> None:
    assert redistribute_union([["a", "b", "c"], ["d"]], 3) == [["a", "b", "c", "d"]] * 3


@pytest.mark.row("S-STATE-13", "T19")
def test_broadcast_gives_everyone_one_copy() -> None:
    maps: list[dict[Any, Any]] = [{"r": 1}, {"r": 1}]
    found = redistribute_broadcast(maps, 3)
    assert found == [{"r": 1}] * 3
    found[0]["r"] = 2
    assert maps[0] == {"r": 1}
    assert redistribute_broadcast([], 2) == [{}, {}]


@pytest.mark.parametrize("limits", [StateLimits(), StateLimits(warm_entries=0)])
def test_operator_state_survives(limits: StateLimits) -> None:
    driver = Driver(limits=limits)

    def work(op: OperatorState) -> None:
        for n in range(3):
            op.list_state("offsets").add([n])
        op.union_list_state("all").add_all(["x", "y"])
        rules = op.broadcast_state(RULES)
        rules.put("b", None)
        rules.put("a", {"limit": 1})
        rules.put(("t", 1), 3)
        rules.remove("b")

    def content(op: OperatorState) -> Any:
        return (
            list(op.list_state("offsets").get()),
            list(op.union_list_state("all").get()),
            dict(op.broadcast_state(RULES).items()),
        )

    driver.run(driver.process(), work)
    expected = ([[0], [1], [2]], ["x", "y"], {"a": {"limit": 1}, ("t", 1): 3})
    assert driver.run(driver.process(), content) == expected

    def change(op: OperatorState) -> None:
        op.list_state("offsets").update(["only"])
        op.union_list_state("all").clear()
        op.broadcast_state(RULES).put("b", 2)

    driver.run(driver.process(), change)
    for _ in range(40):  # through compaction
        driver.run(driver.process(), lambda op: op.broadcast_state(RULES).put("n", 1))
    assert driver.run(driver.process(), content) == (
        ["only"],
        [],
        {"a": {"limit": 1}, "b": 2, "n": 1, ("t", 1): 3},
    )


def test_the_list_keeps_its_order_beyond_ten_entries() -> None:
    driver = Driver()
    driver.run(driver.process(), lambda op: op.list_state("l").add_all(range(300)))
    assert driver.run(driver.process(), lambda op: list(op.list_state("l").get())) == list(range(300))


def test_what_is_stored_does_not_change_with_the_users_object() -> None:
    def work(op: OperatorState) -> None:
        mine = [1]
        op.list_state("l").add(mine)
        op.broadcast_state(RULES).put("k", mine)
        mine.append(2)
        assert list(op.list_state("l").get()) == [[1]]
        assert op.broadcast_state(RULES).get("k") == [1]

    driver = Driver()
    driver.run(driver.process(), work)
