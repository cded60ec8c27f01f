"""Columns as bytes: what comes out is what went in, and equal rows have equal bytes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from firesteel.common.columns import Columns
from firesteel.runtime.column_wire import decode_columns, encode_columns

NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
TEXTS = st.none() | st.text(max_size=5)
VALUES = {
    pa.int64(): NUMBERS,
    pa.int8(): st.none() | st.integers(-128, 127),
    pa.bool_(): st.none() | st.booleans(),
    pa.string(): TEXTS,
    pa.binary(): st.none() | st.binary(max_size=5),
    pa.float64(): st.none() | st.floats(allow_nan=False),
    pa.decimal128(20, 2): st.none() | st.integers(-(10**17), 10**17).map(lambda n: Decimal(n).scaleb(-2)),
    pa.timestamp("us", "UTC"): st.none()
    | st.datetimes(dt.datetime(1900, 1, 1)).map(lambda d: d.replace(tzinfo=dt.UTC)),
    pa.date32(): st.none() | st.dates(),
    pa.null(): st.none(),
    pa.list_(pa.string()): st.none() | st.lists(TEXTS, max_size=3),
    pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))]): st.none()
    | st.fixed_dictionaries({"a": NUMBERS, "b": st.none() | st.lists(NUMBERS, max_size=2)}),
    pa.map_(pa.string(), pa.int64()): st.none()
    | st.dictionaries(st.text(max_size=3), NUMBERS, max_size=3).map(lambda d: list(d.items())),
}


@st.composite
def columns(draw):
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), max_size=3))
    length = draw(st.integers(0, 6))
    lists = [draw(st.lists(VALUES[k], min_size=length, max_size=length)) for k in kinds]
    of_rows = draw(st.none() | st.lists(st.integers(0, 3), min_size=length, max_size=length))
    schema = pa.schema([(f"c{i}", k) for i, k in enumerate(kinds)])
    arrays = [pa.array(values, kind) for values, kind in zip(lists, kinds, strict=True)]
    return schema, Columns(arrays, length, None if of_rows is None else np.array(of_rows, np.int8))


@given(columns(), st.integers(0, 3), st.integers(0, 3))
def test_columns_come_back_and_slices_have_the_bytes_of_their_rows(given_columns, start, rest):
    schema, whole = given_columns
    marks = ((0, 5), (len(whole), "idle"))
    batch = decode_columns(encode_columns(whole, marks), schema)
    assert list(batch.values.rows()) == list(whole.rows())
    assert batch.marks == list(marks)
    assert (batch.values.kinds is None) == (whole.kinds is None)
    if whole.kinds is not None:
        assert batch.values.kinds.tolist() == whole.kinds.tolist()
    part = whole[start : max(start, len(whole) - rest)]
    again = Columns(
        [pa.array(a.to_pylist(), a.type) for a in part.arrays],
        len(part),
        None if part.kinds is None else part.kinds.copy(),
    )
    assert encode_columns(part, ()) == encode_columns(again, ())
    for array in batch.values.arrays:
        array.validate(full=True)


def test_what_lies_under_a_null_does_not_travel():
    first = pa.array([1, 2, 3], pa.int64())
    masked = [
        pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(bytes([bits])), first.buffers()[1]])
        for bits in (5, 253)
    ]
    assert masked[0].to_pylist() == masked[1].to_pylist() == [1, None, 3]
    other = pa.array([1, 9, 3], pa.int64())
    masked.append(pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\5"), other.buffers()[1]]))
    assert len({encode_columns(Columns([a], 3), ()) for a in masked}) == 1


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows):
    schema = pa.schema([("a", pa.string())])
    batch = decode_columns(encode_columns(Columns([pa.array(["x"] * rows, pa.string())], rows), ()), schema)
    assert list(batch.values.rows()) == [("x",)] * rows
