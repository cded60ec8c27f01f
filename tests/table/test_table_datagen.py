"""Generated tables."""

from __future__ import annotations

from typing import Any

import numpy as np
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


def columns_of(columns: dict[str, DataType], count: int, **options: str) -> list[list[Any]]:
    """What the source makes, without a job."""
    made_columns = source(made(columns, **options)).function(np.arange(count, dtype=np.uint64))
    return [array.to_pylist() for array in made_columns.arrays]


def test_what_is_in_a_field_has_options_of_its_own() -> None:
    inner = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())])
    columns = {
        "m": DataTypes.MAP(DataTypes.TINYINT(), DataTypes.INT()),
        "s": DataTypes.MULTISET(DataTypes.STRING()),
        "a": DataTypes.ARRAY(inner),
        "d": DataTypes.ARRAY(DataTypes.ARRAY(DataTypes.INT())),
        "r": inner,
    }
    options = {
        "fields.m.length": "5",
        "fields.m.key.min": "1",
        "fields.m.key.max": "3",
        "fields.m.value.min": "7",
        "fields.m.value.max": "8",
        "fields.s.element.length": "1",
        "fields.a.length": "2",
        "fields.a.element.x.min": "4",
        "fields.a.element.x.max": "5",
        "fields.a.element.y.null-rate": "1",
        "fields.d.length": "0",
        "fields.r.null-rate": "0.5",
        "fields.r.y.length": "6",
        "fields.r.y.var-len": "true",
    }
    maps, bags, arrays, nothing, made_rows = columns_of(columns, 400, **options)
    assert all(len(dict(m)) == len(m) for m in maps), "a key is there once"
    assert {len(m) for m in maps} == {1, 2, 3}
    assert {k for m in maps for k, _ in m} == {1, 2, 3}
    assert {v for m in maps for _, v in m} == {7, 8}
    assert all(1 <= len(b) <= 3 and len(dict(b)) == len(b) for b in bags)
    assert {n for b in bags for _, n in b} == set(range(1, 11))
    assert {len(a) for a in arrays} == {2}
    assert {(e["x"], e["y"]) for a in arrays for e in a} == {(4, None), (5, None)}
    assert {tuple(d) for d in nothing} == {()}
    assert 100 < sum(r is None for r in made_rows) < 300
    assert {len(r["y"]) for r in made_rows if r is not None} == set(range(1, 7))
    assert len({r["x"] for r in made_rows if r is not None}) > 100


def test_maps_of_a_job_are_those_of_the_source() -> None:
    columns = {"m": DataTypes.MAP(DataTypes.STRING(), DataTypes.BOOLEAN()), "n": DataTypes.INT()}
    found = rows(columns, **{"number-of-rows": "3", "fields.m.length": "2", "fields.m.key.length": "4"})
    assert [{len(k) for k in r.m} for r in found] == [{4}] * 3


def test_sequences_of_bytes_and_intervals() -> None:
    bytes_, months = columns_of(
        {"a": DataTypes.BYTES(), "i": DataTypes.INTERVAL(DataTypes.YEAR())},
        100,
        **SEQUENCE,
        **{"fields.i.max": "3"},
    )
    assert bytes_[:2] == [b"\0\0\0\0\0\0\0\5", b"\0\0\0\0\0\0\0\6"]
    assert set(months) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("data_type", "options", "text"),
    [
        (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), {"fields.n.length": "1"}, "valid are kind"),
        (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), {"fields.n.a.kind": "sequence"}, "n.a.kind"),
        (DataTypes.CHAR(5), {"fields.n.var-len": "true"}, "CHAR(5) does not have it"),
        (DataTypes.ARRAY(DataTypes.INT()), {"fields.n.element.length": "2"}, "a random INT does not have it"),
        (DataTypes.ARRAY(DataTypes.INT()), {"fields.n.length": "-1"}, "must not be negative"),
        (
            DataTypes.MAP(DataTypes.INT(), DataTypes.INT()),
            {"fields.n.key.null-rate": "0.1"},
            "by its key is never NULL",
        ),
        (
            DataTypes.BINARY(4),
            {"fields.n.kind": "sequence", "fields.n.start": "1", "fields.n.end": "2"},
            "has 8 bytes",
        ),
    ],
)
def test_options_that_a_type_does_not_have_are_refused(
    data_type: DataType, options: dict[str, str], text: str
) -> None:
    with pytest.raises(TableException) as error:
        made({"n": data_type}, **options)
    assert text in str(error.value)


def test_a_row_is_the_same_when_it_is_read_again() -> None:
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
