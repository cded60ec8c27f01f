"""FLOATs that are collected have the digits that PyFlink 2.3.0 gives them; functions see 32 bits."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.common.types import Row, RowKind
from firesteel.connectors._shortest_floats import shortest_floats
from firesteel.datastream import KeyedProcessFunction
from tests.runtime.support import collect, environment, local_platform

F = Types.FLOAT()
ROUNDED = 0.10000000149011612  # 0.1 in 32 bits

# (type, what a function sees, what PyFlink gives to execute_and_collect)
COLLECTED: list[tuple[Any, Any, Any]] = [
    (F, ROUNDED, 0.1),
    (F, 3.4028234663852886e38, 3.4028235e38),
    (F, 1.401298464324817e-45, 1.4e-45),
    (F, 16777216.0, 16777216.0),
    (F, None, None),
    (Types.ROW([F, Types.INT()]), Row(ROUNDED, 1), Row(0.1, 1)),
    (Types.TUPLE([F, Types.DOUBLE()]), (ROUNDED, 0.2), (0.1, 0.2)),
    (Types.PRIMITIVE_ARRAY(F), [ROUNDED, 0.20000000298023224], [0.1, 0.2]),
    (Types.BASIC_ARRAY(F), [ROUNDED, 0.20000000298023224], [0.1, 0.2]),
    (Types.OBJECT_ARRAY(F), [ROUNDED, None], [0.1, None]),
    (Types.LIST(F), [ROUNDED], [0.1]),
    (Types.MAP(Types.STRING(), F), {"a": ROUNDED}, {"a": 0.1}),
    (Types.MAP(F, Types.LIST(F)), {ROUNDED: [ROUNDED]}, {0.1: [0.1]}),
]


@pytest.mark.parametrize(("type_info", "seen", "collected"), COLLECTED)
def test_collected_floats_have_their_shortest_digits(type_info: Any, seen: Any, collected: Any) -> None:
    convert = shortest_floats(type_info)
    assert convert is not None
    assert convert(seen) == collected
    assert type(convert(seen)) is type(collected)


@pytest.mark.parametrize("number", [float("inf"), float("-inf")])
def test_infinite_floats_stay(number: float) -> None:
    convert = shortest_floats(F)
    assert convert is not None
    assert convert(number) == number
    assert str(convert(float("nan"))) == "nan"


def test_rows_keep_their_names_and_kind() -> None:
    convert = shortest_floats(Types.ROW_NAMED(["a", "b"], [F, F]))
    assert convert is not None
    found = convert(Row.of_kind(RowKind.DELETE, a=ROUNDED, b=None))
    assert (found.as_dict(), found.get_row_kind()) == ({"a": 0.1, "b": None}, RowKind.DELETE)


@pytest.mark.parametrize(
    "type_info", [None, Types.DOUBLE(), Types.ROW([Types.DOUBLE()]), Types.LIST(Types.LONG())]
)
def test_other_types_are_left_alone(type_info: Any) -> None:
    assert shortest_floats(type_info) is None


class Show(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield repr(value)


def test_functions_see_32_bits_and_the_program_the_shortest_digits() -> None:
    with local_platform():
        stream = environment(1).from_collection([0.1]).map(lambda value: value, F)
        assert collect(stream) == [0.1]
        stream = environment(1).from_collection([0.1]).map(lambda value: value, F)
        keyed = stream.key_by(lambda value: 1).process(Show(), Types.STRING())
        assert collect(keyed) == [repr(ROUNDED)]
