"""Avro container files: what is read of them, in which pieces, and what is written."""

from __future__ import annotations

import datetime
import io
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from firesteel.common.errors import FiresteelError, TypeMismatchError, UnsupportedFeatureError
from firesteel.common.io import InputFormat
from firesteel.connectors.base import ReadRange
from firesteel.connectors.files.avro_blocks import AvroFileError
from firesteel.connectors.files.avro_files import AVRO_CODECS, AvroFileSource, AvroWriterFactory
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource
from firesteel.datastream.formats.avro import (
    AvroBulkWriters,
    AvroGenericRecordBulkFormat,
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from firesteel.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from firesteel.formats.avro_codec import AvroError
from firesteel.testing import MiniCluster
from firesteel.testing.connectors import SinkRun, check_sink, check_source, chunks_of, read_split
from firesteel.testing.connectors._reading import BYTES

from ..support import discovered

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": ["null", "string"], "default": None},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
)
AT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000, datetime.UTC)
WITHOUT_SNAPPY = [codec for codec in AVRO_CODECS if codec not in ("snappy", "zstandard")]


def orders(count: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "name": None if i % 7 == 0 else f"n{i}" * (i % 5), "tags": ["x"] * (i % 3), "at": AT}
        for i in range(count)
    ]


def write(path: Path, records: list[dict[str, Any]], codec: str = "null", interval: int = 2_000) -> str:
    with path.open("wb") as stream:
        fastavro.writer(stream, json.loads(SCHEMA), records, codec=codec, sync_interval=interval)
    return str(path)


@pytest.mark.parametrize("codec", WITHOUT_SNAPPY)
def test_the_contract(tmp_path: Path, codec: str) -> None:
    records = orders(150)
    path = write(tmp_path / "t.avro", records, codec)
    assert check_source(AvroFileSource((path,)), tmp_path) == [records]


def test_a_file_without_records(tmp_path: Path) -> None:
    assert check_source(AvroFileSource((write(tmp_path / "t", []),)), tmp_path) == [[]]


@pytest.mark.parametrize("split_bytes", [1_000, 10_007, 50_000])
def test_a_large_file_is_read_in_pieces_each_block_once(tmp_path: Path, split_bytes: int) -> None:
    records = orders(6_000)
    source = AvroFileSource((write(tmp_path / "t.avro", records, interval=5_000),), split_bytes=split_bytes)
    splits = discovered(source, tmp_path)
    assert len(splits) > 2
    found = [read_split(source, split)[0] for split in splits]
    assert [record for part in found for record in part] == records
    assert sum(1 for part in found if part) > 2
    values, positions = read_split(source, splits[1], max_records=100)
    for count, position in positions[::11]:
        assert read_split(source, splits[1], position)[0] == values[count:]


def test_a_block_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    records = [{**order, "name": "x" * 40_000} for order in orders(12)]
    path = write(tmp_path / "t.avro", records, interval=400_000)
    assert check_source(AvroFileSource((path,)), tmp_path) == [records]


def test_whole_files_may_be_compressed(tmp_path: Path) -> None:
    import gzip

    records = orders(40)
    data = Path(write(tmp_path / "t", records)).read_bytes()
    (tmp_path / "t.avro.gz").write_bytes(gzip.compress(data))
    source = AvroFileSource((str(tmp_path / "t.avro.gz"),), split_bytes=100)
    assert check_source(source, tmp_path) == [records]


def test_a_reader_schema_may_be_another_one(tmp_path: Path) -> None:
    path = write(tmp_path / "t.avro", orders(3))
    fields = [{"name": "name", "type": ["null", "string"]}, {"name": "more", "type": "int", "default": 5}]
    schema = AvroSchema.parse_string(json.dumps({"type": "record", "name": "Order", "fields": fields}))
    source = FileSource.for_bulk_file_format(AvroGenericRecordBulkFormat(schema), path).build()
    assert isinstance(source.produced_type, GenericRecordAvroTypeInfo)
    ((first, second, _),) = check_source(source.wrapped_source, tmp_path)
    assert (first, second) == ({"name": None, "more": 5}, {"name": "n1", "more": 5})


@pytest.mark.parametrize("damage", ["head", "sync", "data", "cut"])
def test_damaged_files_are_named(tmp_path: Path, damage: str) -> None:
    path = Path(write(tmp_path / "t.avro", orders(1_000)))
    data = bytearray(path.read_bytes())
    if damage == "head":
        data[0] = 0
    elif damage == "sync":
        data[-1] ^= 1
    elif damage == "data":
        middle = data.index(b"n101")
        data[middle - 30 : middle + 10] = b"\xff" * 40
    else:
        del data[-5:]
    path.write_bytes(data)
    source = AvroFileSource((str(path),))
    with pytest.raises(AvroFileError, match=r"t\.avro"):
        chunks_of(source, ReadRange(discovered(source, tmp_path)[0], None, 10_000, BYTES))


def test_create_input(tmp_path: Path) -> None:
    records = orders(20)
    write(tmp_path / "t.avro", records)
    env = StreamExecutionEnvironment.get_execution_environment()
    format_ = AvroInputFormat(str(tmp_path), AvroSchema.parse_string(SCHEMA))
    assert isinstance(format_.get_produced_type(), GenericRecordAvroTypeInfo)
    with MiniCluster.in_process():
        found = list(env.create_input(format_).map(lambda order: order["id"]).execute_and_collect())
    assert sorted(found) == list(range(20))
    with pytest.raises(UnsupportedFeatureError):
        env.create_input(InputFormat())


@pytest.mark.parametrize("codec", WITHOUT_SNAPPY)
def test_sinks_keep_the_contract(tmp_path: Path, codec: str) -> None:
    base = tmp_path / "out"
    writers = AvroBulkWriters.for_generic_record(AvroSchema.parse_string(SCHEMA), codec)
    everywhere = BucketAssigner.base_path_bucket_assigner()
    sink = FileSink.for_bulk_format(str(base), writers).with_bucket_assigner(everywhere).build()

    def visible() -> list[Any]:
        files = [io.BytesIO(path.read_bytes()) for path in base.glob("[!.]*")]
        found: list[Any] = [record for file in files for record in fastavro.reader(file)]
        return [_Order(record) for record in sorted(found, key=lambda record: record["id"])]

    check_sink(SinkRun(sink.sink_for(None), tmp_path), visible, [_Order(order) for order in orders(6)])


class _Order(dict[str, Any]):
    """An order that can be in a set."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self["id"])


def test_two_attempts_write_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with (tmp_path / name).open("wb") as stream:
            writer = AvroWriterFactory(SCHEMA).create(stream)
            writer.add_elements(orders(100))
            writer.finish()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_parquet_files_of_avro_records(tmp_path: Path) -> None:
    schema = AvroSchema.parse_string(SCHEMA)
    records = orders(50)
    base = tmp_path / "out"
    sink = (
        FileSink.for_bulk_format(str(base), AvroParquetWriters.for_generic_record(schema))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    run = SinkRun(sink.sink_for(None), tmp_path)
    run.commit(run.stage(1, records))
    run.finish()
    (path,) = base.iterdir()
    assert pq.read_schema(path).metadata[b"parquet.avro.schema"] == SCHEMA.encode()
    format_ = AvroParquetReaders.for_generic_record(schema)
    source = FileSource.for_record_stream_format(format_, str(base)).build().wrapped_source
    assert check_source(source, tmp_path) == [records]


def test_records_that_do_not_fit(tmp_path: Path) -> None:
    schema = AvroSchema.parse_string(SCHEMA)
    good = orders(1)[0]
    for bad in ({**good, "id": "x"}, {"name": "x"}, 3):
        with (tmp_path / "f").open("wb") as stream:
            writer = AvroBulkWriters.for_generic_record(schema).create(stream)
            with pytest.raises(AvroError, match="does not fit"):
                writer.add_element(bad)
    with (tmp_path / "f").open("wb") as stream:
        writer = AvroParquetWriters.for_generic_record(schema).create(stream)
        writer.add_element({**good, "id": "x"})
        with pytest.raises(TypeMismatchError, match="does not fit"):
            writer.finish()
        writer.abort()


def test_options_are_checked_when_they_are_given(tmp_path: Path) -> None:
    for make in (
        lambda: AvroInputFormat("/a", SCHEMA),
        lambda: AvroInputFormat(3, AvroSchema(SCHEMA)),
        lambda: AvroFileSource(("/a",), "no schema"),
        lambda: AvroBulkWriters.for_generic_record(AvroSchema(SCHEMA), "best"),
        lambda: AvroParquetReaders.for_generic_record(Decimal(1)),
    ):
        with pytest.raises(FiresteelError):
            make()


EVERYTHING = json.dumps(
    {
        "type": "record",
        "name": "Everything",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "nothing", "type": "null"},
            {"name": "either", "type": ["null", "long", "string"]},
            {
                "name": "both",
                "type": [
                    "string",
                    {
                        "type": "record",
                        "name": "Inner",
                        "fields": [{"name": "x", "type": "int"}, {"name": "nothing", "type": "null"}],
                    },
                ],
            },
            {"name": "one", "type": ["string"]},
            {"name": "again", "type": ["null", "Inner"]},
            {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
            {
                "name": "price",
                "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2}],
            },
            {"name": "fixed", "type": {"type": "fixed", "name": "Fixed", "size": 3}},
            {"name": "letter", "type": {"type": "enum", "name": "Letter", "symbols": ["A", "B"]}},
            {"name": "list", "type": {"type": "array", "items": ["null", "int", "string"]}},
            {"name": "map", "type": {"type": "map", "values": ["int", "string"]}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "time", "type": {"type": "long", "logicalType": "time-micros"}},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
            {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        ],
    }
)
NAIVE = datetime.datetime(2020, 1, 2, 3, 4, 5)
FULL: dict[str, Any] = {
    "id": 1, "nothing": None, "either": 5, "both": {"x": 1, "nothing": None}, "one": "o",
    "again": {"x": 2, "nothing": None}, "uuid": uuid.UUID(int=5), "price": Decimal("1.25"), "fixed": b"abc",
    "letter": "A", "list": [1, None, "x"], "map": {"a": 1, "b": "c"}, "day": datetime.date(2020, 1, 2),
    "time": datetime.time(1, 2, 3, 4), "at": AT, "local": NAIVE,
}  # fmt: skip
SPARSE = FULL | {"either": None, "both": "s", "again": None, "price": None, "list": [], "map": {}, "at": None}


def test_parquet_files_of_any_avro_record(tmp_path: Path) -> None:
    """As parquet-avro has them: no column for what is always null, a group of members for a union, and only
    what may be null is optional."""
    schema = AvroSchema.parse_string(EVERYTHING)
    path = tmp_path / "f"
    records = [FULL, SPARSE, FULL | {"either": "text", "list": [None, "y"]}]
    with path.open("wb") as stream:
        writer = AvroParquetWriters.for_generic_record(schema).create(stream)
        writer.add_elements(records)
        writer.finish()
    table = pq.read_table(path)
    assert table.schema.names == [name for name in FULL if name != "nothing"]
    optional = [field.name for field in table.schema if field.nullable]
    assert optional == ["either", "again", "price", "at"]
    assert table["either"].to_pylist() == [
        {"member0": 5, "member1": None}, None, {"member0": None, "member1": "text"},
    ]  # fmt: skip
    assert table["both"].to_pylist()[:2] == [
        {"member0": None, "member1": {"x": 1}}, {"member0": "s", "member1": None},
    ]  # fmt: skip
    assert table["one"].to_pylist()[0] == {"member0": "o"}
    assert table["price"].to_pylist()[0] == Decimal("1.25")
    assert table["uuid"].to_pylist()[0] == str(uuid.UUID(int=5))
    format_ = AvroParquetReaders.for_generic_record(schema)
    source = FileSource.for_record_stream_format(format_, str(path)).build().wrapped_source
    (read,) = check_source(source, tmp_path)
    assert read == records
    assert [list(record) for record in read] == [list(FULL)] * 3


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (FULL | {"id": None}, "'id' is declared non-nullable"),
        (FULL | {"either": 1.5}, "field 'either' is of none of the types"),
        (FULL | {"both": None}, "field 'both' is of none of the types"),
        (FULL | {"both": {"x": None, "nothing": None}}, "field 'both' is of none of the types"),
    ],
)
def test_avro_records_that_have_no_columns(tmp_path: Path, bad: dict[str, Any], said: str) -> None:
    with (tmp_path / "f").open("wb") as stream:
        writer = AvroParquetWriters.for_generic_record(AvroSchema(EVERYTHING)).create(stream)
        writer.add_element(bad)
        with pytest.raises(TypeMismatchError, match=said):
            writer.finish()
        writer.abort()


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        ({"type": "record", "name": "N", "fields": [{"name": "n", "type": "null"}]}, "no record of nothing"),
        ({"type": "array", "items": "null"}, "no array of nothing"),
        ({"type": "map", "values": "null"}, "no map of nothing"),
        (["null", "Outer"], "contains itself"),
    ],
)
def test_avro_schemas_without_columns_are_refused_by_name(type_: Any, said: str) -> None:
    fields = [{"name": "wrong", "type": type_}]
    schema = AvroSchema(json.dumps({"type": "record", "name": "Outer", "fields": fields}))
    with pytest.raises(FiresteelError, match=said) as refused:
        AvroParquetWriters.for_generic_record(schema)
    assert "wrong" in str(refused.value)
