"""Projection, filter, expansion, and rows on their way through an exchange."""

from __future__ import annotations

import pytest

from firesteel.sql import types as t
from firesteel.sql.expressions import Call, InputRef, Literal
from firesteel.sql.operators.borders import one_input
from firesteel.sql.operators.specs import Calc, DropUpdateBefore, Expand
from firesteel.testing.table_harness import TableHarness

LONG, TEXT, BOOL = t.BigIntType(), t.VarCharType(), t.BooleanType()
INPUT = t.RowType.of(("k", "v"), (TEXT, LONG))


def ref(index: int) -> InputRef:
    return InputRef(index, INPUT.types[index])


def test_a_calc_filters_and_projects_and_keeps_kinds_and_watermarks():
    spec = Calc(
        input=INPUT,
        output=t.RowType.of(("w", "k"), (LONG, TEXT)),
        projection=(Call("PLUS", (ref(1), Literal(1, LONG)), LONG), ref(0)),
        condition=Call("GREATER_THAN", (ref(1), Literal(1, LONG)), BOOL),
    )
    harness = TableHarness(spec, [INPUT], spec.output)
    harness.feed_changes(("+I", "a", 1), ("+I", "b", 2), ("-U", "b", 2), ("+U", None, 5), watermark=7)
    assert [str(e) for e in harness.output][-1] == "Watermark(timestamp=7)"
    assert harness.take() == [("+I", 3, "b"), ("-U", 3, "b"), ("+U", 6, None)]


def test_an_expansion_gives_each_row_once_for_each_projection():
    spec = Expand(
        input=INPUT,
        output=t.RowType.of(("k", "v", "id"), (TEXT, LONG, LONG)),
        projections=(
            (ref(0), ref(1), Literal(0, LONG)),
            (Literal(None, TEXT), ref(1), Literal(1, LONG)),
        ),
    )
    harness = TableHarness(spec, [INPUT], spec.output)
    harness.feed_changes(("+I", "a", 1), ("-D", "b", 2))
    assert harness.take() == [("+I", "a", 1, 0), ("+I", None, 1, 1), ("-D", "b", 2, 0), ("-D", None, 2, 1)]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_rows_of_a_key_keep_their_order_through_an_exchange(parallelism):
    def build(source):
        first = one_input(source, "drop", DropUpdateBefore(input=INPUT), INPUT, parallelism=1)
        return one_input(first, "again", DropUpdateBefore(input=INPUT), INPUT, keys=(0,)), INPUT

    harness = TableHarness(build, [INPUT], parallelism=parallelism, channels=2)
    rows = [(f"k{i % 7}" if i % 11 else None, i) for i in range(500)]
    harness.feed(*rows[:250])
    harness.feed(*rows[250:])
    out = [row[1:] for row in harness.take()]
    assert sorted(out, key=lambda r: r[1]) == rows
    for key in {k for k, _ in rows}:
        assert [v for k, v in out if k == key] == [v for k, v in rows if k == key]
