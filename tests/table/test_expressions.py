"""Columns of the Table API: their names, their types, what may stand where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.errors import FiresteelError
from firesteel.table import DataTypes, FormatDescriptor, Schema, TableDescriptor
from firesteel.table.expressions import (
    array,
    call,
    call_sql,
    col,
    lit,
    map_,
    null_of,
    row,
    row_interval,
    source_watermark,
    temporal_overlaps,
)
from tests.table.support import kept, rows, stream_of, tables


def _names(table: Any) -> list[str]:
    return list(table.get_schema().get_field_names())


def test_columns_are_called_by_their_places_aggregates_by_their_numbers() -> None:
    with tables() as t:
        base = t.from_elements([(1, "a", 1.5)], ["id", "k", "v"])
        assert _names(base.select(col("id"), col("id") + 1, col("v").abs)) == ["id", "_c1", "_c2"]
        assert _names(base.add_columns(col("id") + 1)) == ["id", "k", "v", "_c3"]
        assert _names(
            base.select(col("id").cast(DataTypes.STRING()), col("id").try_cast(DataTypes.INT()))
        ) == [
            "id-STRING",
            "_c1",
        ]
        grouped = base.group_by(col("k")).select(
            col("k"), col("id").sum.alias("s"), col("v").avg, col("v").max
        )
        assert _names(grouped) == ["k", "s", "EXPR$1", "EXPR$2"]


def test_fields_of_rows_are_f0_and_so_on_and_attributes() -> None:
    with tables() as t:
        one = t.from_elements([(1,)], ["id"]).select(row(1, "x").alias("r"))
        assert _names(one.select(col("r").flatten)) == ["r$f0", "r$f1"]
        assert rows(one.select(col("r").f0, col("r").get(1))) == [(1, "x")]
        inner = one.select(row(2, "y").flatten, col("r").f1)
        assert _names(inner) == ["_c0", "_c1", "r$f1"]


def test_elements_patterns_spans_and_texts() -> None:
    with tables() as t:
        base = t.from_elements([(1, "a")], ["id", "k"])
        day = lit("2020-01-02").to_date
        chosen = base.select(
            array(1, 2, 3).at(2),
            map_("a", 1)["a"],
            col("k").similar("[a-b]"),
            temporal_overlaps(day, lit(1).days, day, lit(2).days),
            col("k") + 1,
        )
        assert rows(chosen) == [(2, 1, True, True, "a1")]


@pytest.mark.parametrize(
    "take", [lambda b: b.select("id"), lambda b: b.group_by("id"), lambda b: b.filter(True)]
)
def test_constants_are_no_expressions(take: Any) -> None:
    with tables() as t, pytest.raises(FiresteelError, match="Not an expression"):
        take(t.from_elements([(1,)], ["id"]))


def test_no_rows_are_fetched_of_zero() -> None:
    with tables() as t:
        base = t.from_elements([(1,), (2,)], ["id"])
        assert rows(base.fetch(0)) == []
        assert rows(base.order_by(col("id")).fetch(0)) == []


def test_rows_of_results_are_printed_as_pyflink_prints_them() -> None:
    with tables() as t:
        made = t.sql_query("SELECT 1 AS a, ROW(1, 'x') AS r, ARRAY[ROW(2, 'y')] AS s").execute()
        (only,) = made.collect()
    assert str(only) == "<Row(1, <Row(1, 'x')>, [<Row(2, 'y')>])>"
    assert (only.a, only["r"][1], only.as_dict()["a"]) == (1, "x", 1)


def test_schemas_have_one_key_and_tables_a_schema() -> None:
    with pytest.raises(FiresteelError, match="Multiple primary keys"):
        Schema.new_builder().primary_key("a").primary_key("b")
    with tables() as t, pytest.raises(FiresteelError, match="Missing schema"):
        t.create_temporary_table("x", TableDescriptor.for_connector("datagen").build())


def test_types_are_shown_as_in_pyflink() -> None:
    assert (
        repr(DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))
        == "RowType(RowField(a, IntType(true), ...))"
    )
    assert (
        repr(DataTypes.MAP_VIEW(DataTypes.INT(), DataTypes.INT()))
        == "MapViewType(IntType(true), IntType(true))"
    )


def test_an_unknown_attribute_is_a_field_that_is_not_there() -> None:
    with tables() as t:
        base = t.from_elements([("a",)], ["k"])
        with pytest.raises(FiresteelError, match="get\\(\\) is for rows") as failure:
            base.select(col("k").uppercase)
        assert "uppercase" in str(failure.value)
        assert not hasattr(col("k"), "_nothing")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (source_watermark(), "SOURCE_WATERMARK()"),
        (lit(3).weeks, "1814400000"),
        (lit(2).quarters, "6"),
        (col("days").day, "$interval(days, MILLISECOND, 86400000)"),
        (col("s").trim_leading(), "trim(true, false, ' ', s)"),
        (col("s").to_date, "cast(s, DATE)"),
        (col("r").get("city"), "get(r, 'city')"),
        (col("r").flatten, "flatten(r)"),
        (col("s").init_cap, "initCap(s)"),
        (row_interval(4), "4"),
        (null_of(DataTypes.INT()), "null"),
    ],
)
def test_the_text_of_an_expression_is_that_of_flink(expression: Any, text: str) -> None:
    assert str(expression) == text


def test_the_text_of_the_watermark_of_the_source_is_one_of_a_schema() -> None:
    with tables() as t:
        stream = stream_of(t, [(1,), (2,)], Types.ROW_NAMED(["n"], [Types.INT()]))
        schema = (
            Schema.new_builder()
            .column_by_metadata("at", DataTypes.TIMESTAMP_LTZ(3))
            .column_by_expression("twice", str(col("n").abs))
            .watermark("at", str(source_watermark()))
            .build()
        )
        found = t.from_data_stream(stream, schema)
        assert "`at` TIMESTAMP_LTZ(3) *ROWTIME*" in str(found.get_resolved_schema())


def test_functions_can_be_called_by_their_names_in_the_table_api() -> None:
    with tables() as t:
        words = t.from_elements([("flint", 2), ("steel", None)], ["w", "n"])
        assert rows(words.select(call("charLength", words.w), call("initCap", words.w))) == [
            (5, "Flint"),
            (5, "Steel"),
        ]
        assert kept(words.select(call("sum0", words.n))) == [(2,)]
        with pytest.raises(FiresteelError, match="charLengthOf"):
            words.select(call("charLengthOf", words.w))


def test_the_text_of_a_schema_is_that_of_flink() -> None:
    schema = (
        Schema.new_builder()
        .column("room", DataTypes.STRING().not_null())
        .column("size", "ROW<w INT, h INT>")
        .column_by_metadata("source", DataTypes.STRING(), "origin", True)
        .column_by_expression("late", call_sql("at + INTERVAL '1' DAY"))
        .column_by_expression("loud", col("room").upper_case)
        .watermark("late", "late - INTERVAL '5' SECOND")
        .build()
    )
    assert str(schema).splitlines() == [
        "(",
        "  `room` STRING NOT NULL,",
        "  `size` [ROW<w INT, h INT>],",
        "  `source` STRING METADATA FROM 'origin' VIRTUAL,",
        "  `late` AS [at + INTERVAL '1' DAY],",
        "  `loud` AS upper(room),",
        "  WATERMARK FOR `late` AS [late - INTERVAL '5' SECOND]",
        ")",
    ]


def test_the_text_of_a_format() -> None:
    made = FormatDescriptor.for_format("csv").option("field-delimiter", ";").option("null-literal", "-")
    assert str(made.build()) == "csv[{field-delimiter=;, null-literal=-}]"


@pytest.mark.row("S-SQL-01")
@pytest.mark.parametrize(
    "made",
    [
        lambda t: t.select(col("n").distinct),
        lambda t: t.select((col("n") + 1).distinct),
        lambda t: t.select(lit(1).distinct),
        lambda t: t.select(col("n").between(1, 2).distinct),
        lambda t: t.group_by(col("k")).select(col("n").distinct.sum),
        lambda t: t.group_by(col("k")).select((col("n").sum + col("n").max).distinct),
        lambda t: t.select(col("n").sum.distinct.distinct),
        lambda t: t.select(col("n").sum.alias("s").distinct),
        lambda t: t.filter(col("n").distinct > 1),
        lambda t: t.group_by(col("k").distinct).select(col("n").sum),
        lambda t: t.order_by(col("n").distinct),
    ],
    ids=[
        "column",
        "call",
        "constant",
        "call with a form of its own",
        "inside of an aggregate",
        "call of aggregates",
        "twice",
        "alias",
        "filter",
        "group",
        "order",
    ],
)
def test_distinct_is_for_aggregates_alone(made: Callable[[Any], Any]) -> None:
    """As in Flink, which finds some of these when the table is run."""
    with tables() as t:
        table = t.from_elements([(1, "a")], ["n", "k"])
        with pytest.raises(FiresteelError, match="can only be applied to aggregation expressions") as found:
            made(table)
        assert "table.distinct()" in str(found.value)


@pytest.mark.row("S-SQL-01")
def test_distinct_aggregates_see_a_value_once() -> None:
    with tables() as t:
        table = t.from_elements([(1, "a"), (2, "a"), (2, "b"), (2, "b")], ["n", "k"])
        assert kept(table.select(col("n").sum.distinct + 1, col("n").sum)) == [(4, 7)]
        assert kept(table.group_by(col("k")).select(col("k"), col("n").count.distinct)) == [
            ("a", 2),
            ("b", 1),
        ]
