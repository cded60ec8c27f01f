"""Generated tables."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Row
from firesteel.connectors.base import Boundedness
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataType, DataTypes, Schema, StreamTableEnvironment, TableDescriptor
from firesteel.testing import MiniCluster
from firesteel.util.exceptions import TableException

SEQUENCE = {"fields.a.kind": "sequence", "fields.a.start": "5", "fields.a.end": "9"}


def made(columns: dict[str, DataType], **options: str) -> Any:
    """The transformation that reads a table, and its environment."""
    builder = Schema.new_builder()
    for name, data_type in columns.items():
        builder.column(name, data_type)
    descriptor = TableDescriptor.for_connector("datagen").schema(builder.build())
    for key, value in options.items():
        descriptor.option(key, value)
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment())
    tables.create_temporary_table("t", descriptor.build())
    return tables.to_data_stream(tables.from_path("t"))


def source(stream: Any) -> Any:
    found = stream._transformation
    while hasattr(found, "input"):
        found = found.input
    return found.source


def rows(columns: dict[str, DataType], **options: str) -> list[Row]:
    with MiniCluster.in_process(), made(columns, **options).execute_and_collect() as found:
        return list(found)


def test_random_fields_lie_within_their_bounds() -> None:
    columns = {
        "n": DataTypes.INT(),
        "x": DataTypes.DOUBLE(),
        "s": DataTypes.STRING(),
        "b": DataTypes.BOOLEAN(),
    }
    options = {
        "fields.n.min": "3",
        "fields.n.max": "5",
        "fields.x.min": "0.5",
        "fields.x.max": "1.5",
        "fields.s.length": "20",
        "number-of-rows": "300",
    }
    found = rows(columns, **options)
    assert {r.n for r in found} == {3, 4, 5}
    assert all(0.5 <= r.x <= 1.5 and len(r.s) == 20 for r in found)
    assert {r.b for r in found} == {True, False}
    assert len({r.s for r in found}) == 300


def test_a_row_is_the_same_when_it_is_read_again() -> None:
    import numpy as np

    function = source(made({"n": DataTypes.INT(), "s": DataTypes.STRING()})).function
    every, again = (function(np.arange(start, 10, dtype=np.uint64)) for start in (0, 4))
    assert [a.to_pylist()[4:] for a in every.arrays] == [a.to_pylist() for a in again.arrays]


def test_a_table_has_no_end_and_a_rate() -> None:
    found = source(made({"n": DataTypes.INT()}, **{"rows-per-second": "5"}))
    assert found.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert found.rate_per_second == 5


def test_a_table_ends_with_its_shortest_sequence_or_after_its_number_of_rows() -> None:
    every = rows({"a": DataTypes.BIGINT(), "r": DataTypes.INT()}, **SEQUENCE)
    assert [r.a for r in every] == [5, 6, 7, 8, 9]
    assert rows({"a": DataTypes.STRING()}, **SEQUENCE, **{"number-of-rows": "2"}) == [Row(a="5"), Row(a="6")]
    assert len(rows({"a": DataTypes.INT()}, **{"number-of-rows": "7"})) == 7


def test_the_bounds_of_integers_are_those_of_their_type() -> None:
    values = [r.n for r in rows({"n": DataTypes.TINYINT()}, **{"number-of-rows": "3000"})]
    assert (min(values), max(values)) == (-128, 127)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rows-per-secnd": "5"}, "rows-per-second"),
        ({"fields.m.min": "5"}, "Unsupported options: fields.m.min"),
        ({"fields.n.kind": "fixed"}, "one of random, sequence"),
        ({"fields.n.start": "1"}, "a random INT does not have it"),
        ({"fields.n.kind": "sequence", "fields.n.min": "1"}, "a sequence does not have it"),
        ({"fields.n.kind": "sequence", "fields.n.start": "1"}, "required property 'fields.n.end'"),
        ({"fields.n.kind": "sequence", "fields.n.start": "2", "fields.n.end": "1"}, "ends before"),
        ({"fields.n.length": "4"}, "valid are kind, min, max"),
        ({"fields.n.min": "a"}, "'a' is no number"),
        ({"fields.n.min": "5", "fields.n.max": "4"}, "4 is below the minimum 5"),
        ({"fields.n.max": str(2**31)}, "2147483648 is out of range"),
        ({"rows-per-second": "0"}, "at least 1"),
        ({"number-of-rows": "-3"}, "not be negative"),
    ],
)
def test_wrong_options_are_refused_when_the_table_is_used(options: dict[str, str], text: str) -> None:
    with pytest.raises(TableException) as error:
        made({"n": DataTypes.INT()}, **options)
    assert text in str(error.value)
