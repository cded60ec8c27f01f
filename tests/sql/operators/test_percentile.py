"""PERCENTILE: of no shares there is no list."""

from __future__ import annotations

import pytest

from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall
from firesteel.sql.operators.kernels import KernelCall, kernel_of

LIST = t.ArrayType(element_type=t.DoubleType())


@pytest.mark.parametrize(("shares", "expected"), [([], None), ([0.5], [2.0]), ([0.0, None], [1.0, None])])
def test_the_shares_are_a_column(shares, expected):
    call = AggregateCall("PERCENTILE", (0, 1), type=LIST)
    made = kernel_of(KernelCall(call, (t.IntType(), LIST), retracts=False, functions={}))
    held = made.create()
    for value in (1, 2, 3):
        held = made.accumulate(held, value, shares)
    assert made.value(held) == expected
