"""Rows as bytes: columns of all types come back, however rows are cut into pieces."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators import packed_rows
from firesteel.sql.operators.packed_rows import PackedRows, unpacked_values
from tests.budget import examples
from tests.sql.operators.table_values import VALUES


@st.composite
def tables(draw: st.DrawFn) -> tuple[t.RowType, list[pa.Array], int]:
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=5))
    count = draw(st.integers(0, 12))
    row = t.RowType.of([f"f{i}" for i in range(len(names))], [VALUES[name][0] for name in names])
    arrays = []
    for name in names:
        kind, values = VALUES[name]
        cut = draw(st.integers(0, 2))  # a part of a longer array: offsets are not 0
        found = draw(st.lists(st.none() | values, min_size=count + cut, max_size=count + cut))
        arrays.append(pa.array(found, arrow_type(kind)).slice(cut))
    return row, arrays, count


def same(found: list[pa.Array], expected: list[pa.Array]) -> bool:
    return all(
        a.type == b.type and repr(a.to_pylist()) == repr(b.to_pylist())  # NaN is itself in a text
        for a, b in zip(found, expected, strict=True)
    )


@settings(max_examples=examples(150), deadline=None)
@given(tables(), st.data())
def test_rows_come_back(table: tuple[t.RowType, list[pa.Array], int], data: st.DataObject) -> None:
    row, arrays, count = table
    packed = PackedRows(row)
    cuts = sorted(data.draw(st.sets(st.integers(1, count - 1)))) if count > 1 else []
    stops = [*cuts, count] if count else []
    pieces = packed.pack(arrays, count, stops)
    assert len(pieces) == len(stops)
    joined = [packed.joined(pieces)] if count else []
    for some in (pieces, joined):
        found, length = packed.unpack(some)
        assert length == count
        assert same(found, arrays)
        for array in found:
            array.validate(full=True)
    assert joined == packed.pack(arrays, count, [count] if count else [])


@pytest.mark.parametrize("most", [1, 100, 1000])
def test_what_is_too_large_for_arrow_is_worked_on_in_parts(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    row = t.RowType.of(("a", "b"), (t.VarCharType(), t.BigIntType()))
    arrays = [pa.array(["x" * (n % 9) for n in range(100)]), pa.array(range(100), pa.int64())]
    pieces = PackedRows(row).pack(arrays, 100, range(1, 101))
    monkeypatch.setattr(packed_rows, "_MOST_BYTES", most)
    found, count = PackedRows(row).unpack(pieces)
    assert count == 100
    assert same(found, arrays)


def test_bytes_do_not_depend_on_what_lies_under_a_null() -> None:
    row = t.RowType.of(("a", "b"), (t.BigIntType(), t.VarCharType()))
    mask = np.array([False, True])
    one = [pa.array([1, 2], pa.int64(), mask=mask), pa.array(["a", "b"], pa.string(), mask=mask)]
    other = [pa.array([1, 3], pa.int64(), mask=mask), pa.array(["a", "longer"], pa.string(), mask=mask)]
    assert PackedRows(row).pack(one, 2, [2]) == PackedRows(row).pack(other, 2, [2])


def test_stored_rows_are_read_for_ever() -> None:
    """The bytes of savepoints."""
    row = t.RowType.of(("a", "b", "c"), (t.IntType(), t.VarCharType(), t.ArrayType(element_type=t.IntType())))
    stored = bytes.fromhex(
        "02000000" "03000000" "03000000"
        "00" "07000000" "00" "03000000" "00" "03000000"
        "01" "00000000" "01" "00000000" "01" "00000000"
        "c3a978" "920102"
    )  # fmt: skip
    arrays, count = PackedRows(row).unpack([stored])
    assert count == 2
    assert [a.to_pylist() for a in arrays] == [[7, None], ["\u00e9x", None], [[1, 2], None]]
    assert PackedRows(row).pack(arrays, 2, [2]) == [stored]


def test_rows_are_read_without_their_type() -> None:
    row = t.RowType.of(
        ("a", "b", "c", "d", "e", "f"),
        (
            *(t.IntType(), t.VarCharType(), t.DoubleType(), t.DecimalType(precision=5, scale=2)),
            *(t.ArrayType(element_type=t.IntType()), t.BooleanType()),
        ),
    )
    rows = [
        pa.array([-1, None], pa.int32()),
        pa.array(["\u00e9", ""], pa.string()),
        pa.array([0.5, None], pa.float64()),
        pa.array([Decimal("-1.25"), None], pa.decimal128(5, 2)),
        pa.array([[1, None], []], pa.list_(pa.int32())),
        pa.array([True, False], pa.bool_()),
    ]
    packed = PackedRows(row)
    arrays = [a.cast(arrow_type(k)) for a, k in zip(rows, row.types, strict=True)]
    [data] = packed.pack(arrays, 2, [2])
    assert unpacked_values(packed.layout, data) == [
        [-1, "\u00e9", 0.5, -125, [1, None], 1],
        [None, "", None, None, [], 0],
    ]
