"""Watermarks that are a column less a constant are read from the column; all others are evaluated."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from firesteel.common.columns import Columns
from firesteel.sql import types as t
from firesteel.sql.expressions import Call, Expression, InputRef, Literal
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.operators.watermarks import delay_of, milliseconds

TIMES = [0, 1_704_067_200_004_999, -1, 1_704_067_200_000_000]
SECONDS = t.DayTimeIntervalType("SECOND")


def minus(column: t.DataType, value: int | None, kind: t.DataType = SECONDS) -> Expression:
    return Call("MINUS", (InputRef(1, column), Literal(value, kind)), column)


@pytest.mark.parametrize("of", [t.TimestampType, t.LocalZonedTimestampType])
@pytest.mark.parametrize(("precision", "unit"), [(3, "ms"), (6, "us")])
@pytest.mark.parametrize("delay_ms", [0, 4_000, -2_500, 1])
def test_a_constant_delay_is_what_the_expression_gives(
    of: type[t.DataType], precision: int, unit: str, delay_ms: int
) -> None:
    kind = of(precision=precision)
    row = t.RowType((t.RowField("a", t.IntType()), t.RowField("ts", kind)))
    zone = {"tz": "UTC"} if of is t.LocalZonedTimestampType else {}
    times = pa.array(TIMES, pa.int64()).view(pa.timestamp(unit, **zone))
    columns = Columns([pa.array(range(len(TIMES)), pa.int32()), times], len(TIMES))
    expression = minus(kind, delay_ms)
    assert delay_of(expression, 1) == delay_ms
    expected = milliseconds(Evaluation((expression,), row, {}).run(columns)[0])
    assert np.array_equal(milliseconds(times) - delay_ms, expected)


def test_other_expressions_are_evaluated() -> None:
    kind = t.TimestampType(precision=3)
    assert delay_of(InputRef(1, kind), 1) == 0
    assert delay_of(minus(kind, None), 1) is None
    assert delay_of(minus(kind, 3, t.YearMonthIntervalType("MONTH")), 1) is None
    assert delay_of(Call("PLUS", (InputRef(1, kind), Literal(5, SECONDS)), kind), 1) is None
    assert delay_of(Call("MINUS", (InputRef(1, kind), InputRef(0, SECONDS)), kind), 1) is None


def test_a_column_that_may_be_null_is_evaluated() -> None:
    """What lies below the least watermark would be far above all."""
    kind = t.TimestampType(precision=3)
    assert delay_of(InputRef(1, kind), 0) is None
    assert delay_of(minus(kind, 4_000), 0) is None
