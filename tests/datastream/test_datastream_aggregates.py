"""Rolling aggregates give what PyFlink gives (its rules, checked on PyFlink 2.3)."""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import accumulate
from typing import Any

import pytest

from firesteel.common import Row, RowKind
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.functions.aggregates import AccumulateType, RollingAggregate

KINDS = {kind.name: kind for kind in AccumulateType}
PAIRS = [("k", 5, "a"), ("k", 2, "b"), ("k", 2, "c"), ("k", 7, "d"), ("k", 7, "e")]


def rolling(kind: str, position: int | str, values: list[Any]) -> list[Any]:
    return list(accumulate(values, RollingAggregate(position, KINDS[kind]).reduce))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("SUM", [("k", 5, "a"), ("k", 7, "a"), ("k", 9, "a"), ("k", 16, "a"), ("k", 23, "a")]),
        ("MIN", [("k", 5, "a"), ("k", 2, "a"), ("k", 2, "a"), ("k", 2, "a"), ("k", 2, "a")]),
        ("MAX", [("k", 5, "a"), ("k", 5, "a"), ("k", 5, "a"), ("k", 7, "a"), ("k", 7, "a")]),
        ("MIN_BY", [("k", 5, "a"), ("k", 2, "b"), ("k", 2, "b"), ("k", 2, "b"), ("k", 2, "b")]),
        ("MAX_BY", [("k", 5, "a"), ("k", 5, "a"), ("k", 5, "a"), ("k", 7, "d"), ("k", 7, "d")]),
    ],
)
def test_tuples(kind: str, expected: list[Any]) -> None:
    assert rolling(kind, 1, PAIRS) == expected
    assert rolling(kind, -2, PAIRS) == expected
    as_lists = [list(p) for p in PAIRS]
    assert rolling(kind, 1, as_lists) == [list(e) for e in expected]
    assert as_lists == [list(p) for p in PAIRS]  # no record is changed


@pytest.mark.parametrize("position", [1, "n"])
def test_rows_by_index_and_by_name_keep_names_and_kind(position: int | str) -> None:
    rows = [Row(k="k", n=n) for n in (5, 2, 7)]
    rows[0].set_row_kind(RowKind.UPDATE_AFTER)
    results = rolling("SUM", position, rows)
    assert [r.n for r in results] == [5, 7, 14]
    assert [r.get_row_kind() for r in results] == [RowKind.UPDATE_AFTER] * 3
    assert rows[0].n == 5
    assert rolling("MIN_BY", position, rows) == [rows[0], rows[1], rows[1]]


def test_rows_without_names() -> None:
    assert rolling("MAX", 0, [Row(1, 9), Row(3, 8)]) == [Row(1, 9), Row(3, 9)]


def test_plain_values() -> None:
    assert rolling("SUM", 0, [3, 4]) == [3, 7]
    assert rolling("MIN", 0, ["b", "a"]) == ["b", "a"]
    assert rolling("MAX_BY", 0, [1.5, 0.5]) == [1.5, 1.5]
    with pytest.raises(TypeError, match="no fields"):
        rolling("SUM", 1, [3, 4])


def test_an_aggregate_travels_and_does_not_change_itself() -> None:
    aggregate = RollingAggregate(1, AccumulateType.MAX)
    before = dict(vars(aggregate))
    copy = pickle.loads(pickle.dumps(aggregate))
    assert reduce(copy.reduce, PAIRS) == reduce(aggregate.reduce, PAIRS)
    assert vars(aggregate) == before


@pytest.mark.parametrize(
    ("type_info", "position", "text"),
    [
        (Types.TUPLE([Types.INT()]), 1, "no field 1"),
        (Types.TUPLE([Types.INT()]), "a", "have no names"),
        (Types.ROW_NAMED(["a"], [Types.INT()]), "b", "no field 'b'"),
        (Types.ROW([Types.INT()]), 3, "no field 3"),
        (Types.INT(), 1, "no fields"),
        (None, 1.5, "by its index or its name"),
    ],
)
def test_a_field_that_is_not_there_is_refused_at_once(
    env: StreamExecutionEnvironment, type_info: Any, position: Any, text: str
) -> None:
    keyed = env.from_collection([]).map(lambda v: v, output_type=type_info).key_by(lambda v: v)
    with pytest.raises(ProgramError, match=text) as error:
        keyed.sum(position)
    assert error.value.operator == "sum"


def test_the_position_is_0_unless_given(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([1]).key_by(lambda v: v)
    for method in ("sum", "min", "max", "min_by", "max_by"):
        operator = getattr(keyed, method)()._transformation.operator
        assert (operator.function.position, operator.function.kind) == (0, KINDS[method.upper()])
