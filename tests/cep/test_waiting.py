"""Events that wait for the watermark, against a list that is searched."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firesteel.cep import waiting
from firesteel.cep.waiting import WaitingColumn
from firesteel.state._column import GroupKeys
from firesteel.state.columns import TOMBSTONE

EVENTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=8)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), EVENTS),
        st.tuples(st.just("take"), st.integers(0, 12)),
        st.tuples(st.sampled_from(["store", "restore"]), st.none()),
    ),
    max_size=25,
)
_END_OF_KEY = 3  # of a key group and nothing


def in_order(events: list[Any]) -> dict[int, list[Any]]:
    """What each key gets: by time, those of one time as they came."""
    return {
        key: [(stamp, value) for stamp, of, value in sorted(events, key=lambda e: e[0]) if of == key]
        for key in range(3)
    }


@pytest.mark.parametrize("many", [0, 4096])
@given(STEPS)
def test_events_are_taken_once_in_time_and_as_they_came(many: int, steps: list[tuple[str, Any]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "_MANY", many)
        core: Any = SimpleNamespace(sequence=0, group_keys=GroupKeys(128, range(128)))
        column = WaitingColumn(core, "op", "waiting")
        stored: dict[bytes, bytes] = {}
        left: list[Any] = []
        number = 0
        for step, argument in steps:
            if step == "add":
                made = [(stamp, key, f"{stamp} {number + i}") for i, (stamp, key) in enumerate(argument)]
                number += len(made)
                left += made
                column.add([e[0] for e in made], [e[1] for e in made], [e[2] for e in made])
            elif step == "take":
                taken = list(zip(*column.take(argument), strict=True))
                assert in_order(taken) == in_order([e for e in left if e[0] <= argument])
                left = [e for e in left if e[0] > argument]
            else:
                core.sequence += 1
                keys: list[bytes] = []
                values: list[bytes] = []
                column.collect(keys, values)
                stored.update(zip(keys, values, strict=True))
                if step == "restore":
                    column = WaitingColumn(core, "op", "waiting")
                    for key, value in stored.items():
                        if value != TOMBSTONE:
                            column.load(key, _END_OF_KEY, value)
            assert column.next_ms() == min((e[0] for e in left), default=None)
