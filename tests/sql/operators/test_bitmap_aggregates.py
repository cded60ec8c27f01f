"""BITMAP_*_AGG: what Flink 2.3 gives, row by row, merged, and with rows that are taken back."""

from __future__ import annotations

import pytest

from firesteel.sql import bitmaps, types as t
from firesteel.sql.expressions import AggregateCall
from firesteel.sql.functions import find
from firesteel.sql.functions.registry import FUNCTIONS, FunctionKind
from firesteel.sql.operators.kernels import KERNELS, KernelCall, kernel_of


def _kernel(name: str, given: t.DataType, result: t.DataType):
    call = AggregateCall(name, (0,), type=result)
    return kernel_of(KernelCall(call, (given,), retracts=True, functions={}))


def _both(name: str, given: t.DataType, changes: list[tuple[int, object]]):
    """The bitmap as text, and how many numbers it has; the changes in one go, and merged from two halves."""
    shown = []
    for suffix, result in (("_AGG", t.BitmapType()), ("_CARDINALITY_AGG", t.BigIntType())):
        made = _kernel(name + suffix, given, result)
        parts = []
        for half in (changes, changes[::2], changes[1::2]):
            held = made.create()
            for sign, value in half:
                held = (made.accumulate if sign > 0 else made.retract)(held, value)
            parts.append(held)
        found = made.value(parts[0])
        assert made.value(made.add(parts[1], parts[2])) == found
        shown.append(bitmaps.text_of(found) if isinstance(found, bytes) else found)
    return tuple(shown)


CHANGES = [(1, {1, 2, 3}), (1, {2, 3, 9}), (1, {3}), (1, {3, 4}), (-1, {3, 4})]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BITMAP_OR", ("{1,2,3,9}", 4)),
        ("BITMAP_AND", ("{3}", 1)),
        ("BITMAP_XOR", ("{1,3,9}", 3)),
    ],
)
def test_of_bitmaps(name, expected):
    changes = [(sign, bitmaps.build(numbers)) for sign, numbers in CHANGES]
    assert _both(name, t.BitmapType(), changes) == expected
    # what is taken back may come later
    assert _both(name, t.BitmapType(), changes[::-1]) == expected


def test_of_numbers():
    changes = [(1, 5), (1, 7), (1, 5), (-1, 7), (1, -1), (-1, 5)]
    assert _both("BITMAP_BUILD", t.IntType(), changes) == ("{5,4294967295}", 2)
    # as many rows are taken back as there are, but of another number
    assert _both("BITMAP_BUILD", t.IntType(), [(1, 3), (-1, 8)]) == ("{3}", 1)
    assert _both("BITMAP_BUILD", t.IntType(), [(1, 3), (-1, 3)]) == (None, None)


@pytest.mark.parametrize("name", ["BITMAP_OR", "BITMAP_AND", "BITMAP_XOR"])
def test_of_no_rows_they_are_null(name):
    one = bitmaps.build([1])
    assert _both(name, t.BitmapType(), []) == (None, None)
    assert _both(name, t.BitmapType(), [(1, one), (-1, one)]) == (None, None)


def test_an_empty_bitmap_is_one():
    assert _both("BITMAP_OR", t.BitmapType(), [(1, bitmaps.build([]))]) == ("{}", 0)


#: what is an aggregate for the binder only: properties of windows and of groups, and functions of OVER alone
_NO_KERNELS = {
    *("WINDOW_PROPERTY", "GROUPING", "GROUP_ID"),
    *("CUME_DIST", "DENSE_RANK", "LEAD", "NTILE", "PERCENT_RANK", "RANK"),
}


def test_each_aggregate_has_a_kernel():
    find("COUNT")  # the functions are there
    named = {d.aggregate for d in FUNCTIONS.all() if d.kind is FunctionKind.AGGREGATE}
    assert {name for name in named if isinstance(name, str)} - set(KERNELS) <= _NO_KERNELS
