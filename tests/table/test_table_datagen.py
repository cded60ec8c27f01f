"""Generated tables as streams."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.errors import FiresteelError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.connectors.base import Boundedness
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataType, DataTypes, Schema, StreamTableEnvironment, TableDescriptor


def stream(columns: dict[str, DataType], **options: str) -> Any:
    builder = Schema.new_builder()
    for name, data_type in columns.items():
        builder.column(name, data_type)
    descriptor = TableDescriptor.for_connector("datagen").schema(builder.build())
    for key, value in options.items():
        descriptor.option(key, value)
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment())
    tables.create_temporary_table("t", descriptor.build())
    return tables.to_data_stream(tables.from_path("t"))


def rows_of(made: Any, count: int) -> list[Row]:
    source: GeneratedSource = made._transformation.source
    return [source.function.function(i) for i in range(count)]


def test_random_fields_lie_within_their_bounds_and_are_the_same_when_read_again() -> None:
    made = stream(
        {"n": DataTypes.INT(), "x": DataTypes.DOUBLE(), "s": DataTypes.STRING(), "b": DataTypes.BOOLEAN()},
        **{
            "fields.n.min": "3",
            "fields.n.max": "5",
            "fields.x.min": "0.5",
            "fields.x.max": "1.5",
            "fields.s.length": "20",
            "rows-per-second": "5",
        },
    )
    rows = rows_of(made, 300)
    assert {r.n for r in rows} == {3, 4, 5}
    assert all(0.5 <= r.x <= 1.5 and len(r.s) == 20 for r in rows)
    assert {r.b for r in rows} == {True, False}
    assert len({r.s for r in rows}) == 300
    assert rows == rows_of(made, 300)
    source = made._transformation.source
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert source.rate_per_second == 5
    assert made.get_type() == Types.ROW_NAMED(
        ["n", "x", "s", "b"], [Types.INT(), Types.DOUBLE(), Types.STRING(), Types.BOOLEAN()]
    )
    assert made.get_name() == "t"


def test_a_table_ends_with_its_shortest_sequence_or_after_its_number_of_rows() -> None:
    sequence = {"fields.a.kind": "sequence", "fields.a.start": "5", "fields.a.end": "9"}
    made = stream({"a": DataTypes.BIGINT(), "r": DataTypes.INT()}, **sequence)
    assert made._transformation.source.count == 5
    assert [r.a for r in rows_of(made, 5)] == [5, 6, 7, 8, 9]
    fewer = stream({"a": DataTypes.STRING()}, **sequence, **{"number-of-rows": "2"})
    assert fewer._transformation.source.count == 2
    assert rows_of(fewer, 2) == [Row(a="5"), Row(a="6")]
    assert stream({"a": DataTypes.INT()}, **{"number-of-rows": "7"})._transformation.source.count == 7


def test_the_bounds_of_integers_are_those_of_their_type() -> None:
    values = [r.n for r in rows_of(stream({"n": DataTypes.TINYINT()}), 3000)]
    assert (min(values), max(values)) == (-128, 127)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rows-per-secnd": "5"}, "valid are rows-per-second, number-of-rows, fields.n.kind"),
        ({"fields.m.min": "5"}, "does not have this option"),
        ({"fields.n.kind": "fixed"}, "random or sequence"),
        ({"fields.n.start": "1"}, "kind random does not have"),
        ({"fields.n.kind": "sequence", "fields.n.min": "1"}, "kind sequence does not have"),
        ({"fields.n.kind": "sequence", "fields.n.start": "1"}, "missing: end"),
        ({"fields.n.kind": "sequence", "fields.n.start": "2", "fields.n.end": "1"}, "ends before"),
        ({"fields.n.length": "4"}, "valid are min, max"),
        ({"fields.n.min": "a"}, "not a whole number"),
        ({"fields.n.min": "5", "fields.n.max": "4"}, "max is less than min"),
        ({"fields.n.max": str(2**31)}, "do not fit INT"),
        ({"rows-per-second": "0"}, "at least 1"),
        ({"number-of-rows": "-3"}, "not be negative"),
    ],
)
def test_wrong_options_are_refused_when_the_table_is_created(options: dict[str, str], text: str) -> None:
    with pytest.raises(FiresteelError) as error:
        stream({"n": DataTypes.INT()}, **options)
    assert text in str(error.value)


def test_what_is_not_there_is_refused() -> None:
    env = StreamExecutionEnvironment()
    tables = StreamTableEnvironment.create(stream_execution_environment=env)
    schema = Schema.new_builder().column("a", DataTypes.INT().not_null()).build()
    assert str(schema) == "(`a` INT NOT NULL)"
    kafka = TableDescriptor.for_connector("kafka").schema(schema).build()
    with pytest.raises(FiresteelError, match="no table connector 'kafka'") as error:
        tables.create_temporary_table("k", kafka)
    assert "datagen" in str(error.value)
    with pytest.raises(FiresteelError, match="no table 'k'"):
        tables.from_path("k")
    generated = TableDescriptor.for_connector("datagen").schema(schema).build()
    tables.create_temporary_table("g", generated)
    with pytest.raises(FiresteelError, match="already"):
        tables.create_temporary_table("g", generated)
    for call in (
        lambda: tables.execute_sql("SELECT 1"),
        lambda: tables.sql_query("SELECT 1"),
        lambda: tables.from_data_stream(env.from_collection([1])),
        lambda: Schema.new_builder().watermark("a", "a - INTERVAL '1' SECOND"),
        lambda: StreamTableEnvironment.create(env, "settings"),
    ):
        with pytest.raises(UnsupportedFeatureError):
            call()
    with pytest.raises(FiresteelError, match="same name"):
        Schema.new_builder().column("a", DataTypes.INT()).column("a", DataTypes.INT())
    with pytest.raises(FiresteelError, match="not a data type"):
        Schema.new_builder().column("a", "INT")
    with pytest.raises(FiresteelError, match="needs a schema"):
        TableDescriptor.for_connector("datagen").build()
