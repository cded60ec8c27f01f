"""What runs over the rows of each key, against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from firesteel.sql.operators.kernels.segments import Segments
from firesteel.sql.operators.keyed_rows import previous_rows

LENGTHS = st.lists(st.integers(1, 9), max_size=6)
FAR = 2**63 - 1


def segments_of(lengths: list[int]) -> Segments:
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    return Segments(starts[:-1], int(starts[-1]))


@pytest.mark.parametrize("operation", [np.maximum, np.minimum])
@given(lengths=LENGTHS, data=st.data())
def test_a_scan_is_what_a_loop_gives(operation: np.ufunc, lengths: list[int], data: Any) -> None:
    number = data.draw(st.sampled_from([st.integers(-3, 3), st.integers(-FAR - 1, FAR)]))
    values = data.draw(st.lists(number, min_size=sum(lengths), max_size=sum(lengths)))
    segments = segments_of(lengths)
    expected: list[int] = []
    for start, length in zip(segments.starts.tolist(), lengths, strict=True):
        expected += operation.accumulate(np.array(values[start : start + length], np.int64)).tolist()
    assert segments.scan(operation, np.array(values, np.int64)).tolist() == expected
    floats = segments.scan(operation, np.array(values, np.float64)).tolist()
    assert floats == [float(value) for value in expected]


@given(LENGTHS, st.data())
@example([1, 3], None)
def test_the_row_before_is_the_last_one_that_counts(lengths: list[int], data: Any) -> None:
    segments = segments_of(lengths)
    count = segments.count
    flags = [True, False, True, True]
    if data is not None:
        flags = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    held = np.arange(100, 100 + len(lengths))
    expected: list[int] = []
    for number, (start, length) in enumerate(zip(segments.starts.tolist(), lengths, strict=True)):
        before = 100 + number
        for row in range(start, start + length):
            expected.append(before)
            before = row if flags[row] else before
    assert previous_rows(segments, np.array(flags, bool), held).tolist() == expected
