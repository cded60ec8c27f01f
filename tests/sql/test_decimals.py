"""DECIMAL arithmetic on columns against Python's decimals, one by one."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.sql import decimals as d, type_rules as r, types as t
from firesteel.sql.values import array_of, fit_decimal

EXACT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[..., t.DecimalType], Callable[..., Decimal]]] = {
    "add": (d.add, r.decimal_plus, EXACT.add),
    "subtract": (d.subtract, r.decimal_plus, EXACT.subtract),
    "multiply": (d.multiply, r.decimal_times, EXACT.multiply),
    "divide": (d.divide, r.decimal_divide, EXACT.divide),
    "modulo": (d.modulo, r.decimal_modulo, EXACT.remainder),
}


@st.composite
def columns(draw: Callable[..., Any]) -> tuple[t.DecimalType, list[Decimal | None]]:
    precision = draw(st.one_of(st.integers(1, 12), st.integers(13, 38)))
    scale = draw(st.integers(0, precision))
    unscaled = st.integers(-(10**precision) + 1, 10**precision - 1)
    numbers = st.builds(lambda n: Decimal(n).scaleb(-scale, EXACT), unscaled)
    return t.DecimalType(precision=precision, scale=scale), draw(
        st.lists(st.one_of(st.none(), numbers), min_size=3, max_size=3)
    )


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=50, deadline=None)
@given(a=columns(), b=columns(), constant=st.booleans())
def test_operations_are_exact(
    name: str,
    a: tuple[t.DecimalType, list[Decimal | None]],
    b: tuple[t.DecimalType, list[Decimal | None]],
    constant: bool,
) -> None:
    operation, derive, exactly = OPERATIONS[name]
    kind = derive(a[0], b[0])
    if kind.precision < 1:
        return  # MOD of DECIMAL(p, p) and DECIMAL(p, 0): no digit is left
    left, right = array_of(a[1], a[0]), array_of(b[1], b[0])
    divisors = [right[0].as_py()] * 3 if constant else right.to_pylist()
    pairs = list(zip(a[1], divisors, strict=True))
    argument = right[0] if constant else right
    if name in ("divide", "modulo") and any(x is not None and y == 0 for x, y in pairs):
        with pytest.raises(ZeroDivisionError):
            operation(left, argument, kind)
        return
    found = operation(left, argument, kind)
    expected: list[Any] = []
    for x, y in pairs:
        if x is None or y is None:
            expected.append(None)
        elif name == "divide":
            expected.append(fit_decimal(decimal.Context(38, decimal.ROUND_HALF_UP).divide(x, y), kind))
        else:
            expected.append(fit_decimal(exactly(x, y), kind))
    assert found.to_pylist() == expected


def test_doubles_are_the_nearest_ones() -> None:
    numbers = [Decimal("4.6"), Decimal("0.1"), Decimal("-123.456"), None]
    found = d.to_floats(pa.array(numbers, pa.decimal128(10, 3)))
    assert found.to_pylist() == [4.6, 0.1, -123.456, None]
    wide = d.to_floats(pa.array([Decimal("12345678901234567890.123")], pa.decimal128(38, 3)))
    assert wide.to_pylist() == [float("12345678901234567890.123")]
