"""What Python's collector of cycles has to look at of the state, which decides how long its pauses are. A
single value is kept as an atom or as bytes, and none of them is looked at; lists and maps are a few objects
for each key in the cache, and the bound of the backend is that of the cache."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from firesteel.common import Configuration, Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.testing import MiniCluster

KEYS = 20_000


FOUND: dict[int, int] = {}  # how many objects a full collection saw, at the first and the last record


class Keep(KeyedProcessFunction):
    """Keeps something with lists in it for each key; the first and the last record look at the collector."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        longs = Types.LIST(Types.LONG())
        match self.kind:
            case "value":
                self.state: Any = runtime_context.get_state(ValueStateDescriptor("s", longs))
            case "list":
                self.state = runtime_context.get_list_state(ListStateDescriptor("s", longs))
            case "map":
                pair = Types.TUPLE([Types.LONG(), Types.LONG()])
                self.state = runtime_context.get_map_state(MapStateDescriptor("s", pair, longs))
            case _:
                joined = ReducingStateDescriptor("s", lambda one, two: one + two, longs)
                self.state = runtime_context.get_reducing_state(joined)

    def process_element(self, number: int, ctx: KeyedProcessFunction.Context) -> None:
        match self.kind:
            case "value":
                self.state.update([number, number])
            case "map":
                self.state.put((number, number), [number])
            case _:
                self.state.add([number, number])
        if number in (1, KEYS):
            FOUND[number] = look()  # a collection may be so slow that the epoch is run again


def look() -> int:
    gc.collect()
    return len(gc.get_objects())


def growth(kind: str, **settings: str) -> float:
    """How many objects more a collection looks at for each key that has state."""
    FOUND.clear()
    configuration = Configuration.from_dict({"firesteel.epoch.max-records": str(KEYS // 8), **settings})
    with MiniCluster.in_process(processes=1) as cluster:
        env = cluster.environment(configuration, parallelism=1)
        env.from_sequence(1, KEYS).key_by(lambda n: n, Types.LONG()).process(Keep(kind)).print()
        env.execute()
    return (FOUND[KEYS] - FOUND[1]) / KEYS


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """What the first job of a process loads is no state."""
    growth("value")


@pytest.mark.row("S-MEM-08")
@pytest.mark.parametrize("kind", ["value", "reducing"])
def test_a_collection_does_not_look_at_single_values(kind: str) -> None:
    assert growth(kind) < 0.15  # those of the epoch that is on, at most


#: From Python 3.14 on a collection looks at every tuple and dict, whatever is in it.
A_FEW = 4 if sys.version_info < (3, 14) else 5


@pytest.mark.row("S-MEM-08")
@pytest.mark.parametrize("kind", ["list", "map"])
def test_lists_and_maps_are_a_few_objects_for_each_key_that_is_cached(kind: str) -> None:
    assert 1 < growth(kind) < A_FEW


@pytest.mark.row("S-MEM-08")
@pytest.mark.parametrize("kind", ["list", "map"])
def test_the_bound_of_a_backend_bounds_what_a_collection_looks_at(kind: str) -> None:
    bound = {"state.backend.type": "rocksdb", "state.backend.rocksdb.memory.fixed-per-slot": "100kb"}
    assert growth(kind, **bound) < 1
