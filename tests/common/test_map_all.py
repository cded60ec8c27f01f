"""What a loop in C does with a StopIteration of the function that it calls."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common._map_all import map_all


def test_results_are_in_order() -> None:
    assert map_all(str, [1, 2, 3]) == ["1", "2", "3"]
    assert map_all(str, []) == []


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_stop_iteration_is_raised_and_says_for_which_value(at: int) -> None:
    calls: list[int] = []

    def slips(value: int) -> int:
        calls.append(value)
        return value if value != at else next(iter([]))

    with pytest.raises(StopIteration, match=rf"slips for {at};.*pass a default"):
        map_all(slips, range(3))
    assert calls == list(range(at + 1)), "no value is tried twice"


def test_a_value_that_cannot_be_shown_does_not_hide_the_error() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise SystemExit(1)

    def slips(value: Any) -> Any:
        raise StopIteration

    with pytest.raises(StopIteration, match="a Shy whose repr"):
        map_all(slips, [Shy()])
