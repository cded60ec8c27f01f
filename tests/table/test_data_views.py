"""Lists and maps in accumulators, as PyFlink 2.3 has them: a map that the type of the accumulator declares is
as state, any other one as a dictionary."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.errors import ProgramError
from firesteel.table import AggregateFunction, DataTypes, ListView, MapView
from firesteel.table.data_view import StateMapView
from firesteel.table.expressions import call, col, lit
from firesteel.table.udf import udaf
from tests.table.support import kept, tables


def _view(**entries: Any) -> StateMapView[str, Any]:
    view: StateMapView[str, Any] = StateMapView()
    view.put_all(entries)
    return view


@pytest.mark.row("S-SQL-32")
def test_there_is_no_value_for_a_key_that_is_not_there() -> None:
    view = _view(n=None)
    assert (view.get("x"), view["x"]) == (None, None)
    view.remove("x")
    del view["x"]
    assert (view.contains("x"), view.contains("n"), "n" in view) == (False, False, False)
    assert (list(view.items()), view.is_empty()) == ([("n", None)], False)
    view.put_all([("p", 1), ("q", 2)])
    view["r"] = 3
    assert sorted(view.keys()) == ["n", "p", "q", "r"]
    plain: MapView[str, int] = MapView()
    for ask in (plain.get, plain.remove):
        with pytest.raises(KeyError):
            ask("x")


@pytest.mark.row("S-SQL-32")
def test_keys_values_and_items_are_given_once() -> None:
    view = _view(a=1, b=2)
    for ask, expected in ((view.keys, ["a", "b"]), (view.values, [1, 2]), (view.items, [("a", 1), ("b", 2)])):
        given = ask()
        assert (list(given), list(given)) == (expected, [])


@pytest.mark.row("S-SQL-32")
def test_an_iterator_removes_what_it_gave_last() -> None:
    view = _view(**{letter: number for number, letter in enumerate("abcdef")})
    entries: Any = view.items()
    with pytest.raises(ProgramError, match="You need to call the '__next__' method"):
        entries.remove()
    seen = []
    for key, number in entries:
        seen.append(key)
        if number % 2:
            entries.remove()
    assert (seen, list(view.keys())) == (list("abcdef"), list("ace"))
    keys: Any = view.keys()
    next(keys)
    keys.remove()
    with pytest.raises(ProgramError, match="You need to call the '__next__' method"):
        keys.remove()
    assert list(keys) == list("ce")


@pytest.mark.row("S-SQL-32")
@pytest.mark.parametrize(
    "change",
    [
        lambda view: view.put("z", 1),
        lambda view: view.put("a", 5),
        lambda view: view.put_all({}),
        lambda view: view.remove("a"),
        lambda view: view.clear(),
    ],
    ids=["new key", "known key", "put_all", "remove", "clear"],
)
def test_a_map_that_is_iterated_over_does_not_change(change: Callable[[Any], None]) -> None:
    view = _view(a=1, b=2)
    keys: Any = view.keys()
    next(keys)
    change(view)
    with pytest.raises(ProgramError, match="Concurrent modification detected"):
        next(keys)
    with pytest.raises(ProgramError, match="Concurrent modification detected"):
        keys.remove()
    view.put_all({"a": 1, "b": 2})
    again: Any = pickle.loads(pickle.dumps(view))
    assert sorted(again.keys()) == sorted(view.keys())


class _Names(AggregateFunction[str, Any]):
    """The names that are there, in order; names that are taken back are removed while they are looked at."""

    def create_accumulator(self) -> Any:
        return Row(MapView(), ListView())

    def accumulate(self, accumulator: Any, name: Any) -> None:  # type: ignore[override]
        counts, log = accumulator
        counts[name] = (counts[name] or 0) + 1
        log.add(name)

    def retract(self, accumulator: Any, name: Any) -> None:  # type: ignore[override]
        accumulator[0].put(name, accumulator[0].get(name) - 1)
        entries = accumulator[0].items()
        for _, count in entries:
            if not count:
                entries.remove()

    def get_value(self, accumulator: Any) -> str:
        return ",".join(sorted(accumulator[0].keys()))

    def get_result_type(self) -> Any:
        return DataTypes.STRING()

    def get_accumulator_type(self) -> Any:
        text = DataTypes.STRING()
        return DataTypes.ROW(
            [
                DataTypes.FIELD("counts", DataTypes.MAP_VIEW(text, DataTypes.BIGINT())),
                DataTypes.FIELD("log", DataTypes.LIST_VIEW(text)),
            ]
        )


@pytest.mark.row("S-SQL-32")
def test_an_aggregate_gets_the_views_that_its_accumulator_declares() -> None:
    with tables() as t:
        latest = t.from_elements([(1, "a"), (2, "b"), (1, "c"), (2, "a"), (3, "a")], ["k", "name"])
        of_key = latest.group_by(col("k")).select(col("name").last_value.alias("name"))
        names = of_key.group_by(lit(1)).select(call(udaf(_Names()), col("name")))
        assert kept(names) == [("a,c",)]
