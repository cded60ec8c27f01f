"""Avro rows. The bytes and types are those of Flink's own AvroRow schemas (flink-avro 1.20, the last that has
them; Flink 2.3 ships none, so PyFlink's classes of that release find nothing to call)."""

from __future__ import annotations

import datetime
import json
import pickle
import uuid
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError, FiresteelError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    AvroSerializationSchema,
    GenericRecordAvroTypeInfo,
)

WHEN = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


def record_of(type_: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "x", "type": type_}]})


def logical(type_: str, name: str) -> dict[str, str]:
    return {"type": type_, "logicalType": name}


@pytest.mark.parametrize(
    ("avro", "declared", "value", "data"),
    [
        ("int", Types.INT(), -5, "09"),
        ("long", Types.LONG(), 1 << 62, "80808080808080808001"),
        ("float", Types.FLOAT(), 1.5, "0000c03f"),
        ("double", Types.DOUBLE(), 0.1, "9a9999999999b93f"),
        ("boolean", Types.BOOLEAN(), True, "01"),
        ("string", Types.STRING(), "hé", "0668c3a9"),
        ("bytes", BYTES, b"\1\2", "040102"),
        ("null", Types.PICKLED_BYTE_ARRAY(), None, ""),
        ({"type": "fixed", "name": "F", "size": 2}, BYTES, b"\1\2", "0102"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, Types.STRING(), "B", "02"),
        ({"type": "array", "items": "int"}, Types.OBJECT_ARRAY(Types.INT()), [1, 2], "04020400"),
        (
            {"type": "array", "items": ["null", "int"]},
            Types.OBJECT_ARRAY(Types.INT()),
            [1, None],
            "0402020000",
        ),
        (
            {"type": "array", "items": {"type": "array", "items": "string"}},
            Types.OBJECT_ARRAY(Types.OBJECT_ARRAY(Types.STRING())),
            [["a"], []],
            "04020261000000",
        ),
        ({"type": "map", "values": "int"}, Types.MAP(Types.STRING(), Types.INT()), {"k": 3}, "02026b0600"),
        (["null", "int"], Types.INT(), None, "00"),
        (["int", "null"], Types.INT(), 4, "0008"),
        (["int"], Types.INT(), 4, "0008"),
        (["int", "string"], Types.PICKLED_BYTE_ARRAY(), 4, "0008"),
        (["null", "int", "string"], Types.PICKLED_BYTE_ARRAY(), "s", "040273"),
        (DECIMAL, Types.BIG_DEC(), Decimal("12.34"), "0404d2"),
        (DECIMAL, Types.BIG_DEC(), Decimal("-12.34"), "04fb2e"),
        (logical("int", "date"), Types.SQL_DATE(), WHEN.date(), "92b602"),
        (logical("int", "date"), Types.SQL_DATE(), datetime.date(1960, 5, 6), "8d37"),
        (logical("int", "time-millis"), Types.SQL_TIME(), datetime.time(7, 8, 9), "d0eebf18"),
        (logical("long", "time-micros"), Types.SQL_TIME(), datetime.time(7, 8, 9), "80a1f8b2bf01"),
        (
            logical("long", "timestamp-millis"),
            Types.SQL_TIMESTAMP(),
            WHEN.replace(microsecond=123000),
            "c6e0d9cbe963",
        ),
        (logical("long", "timestamp-micros"), Types.SQL_TIMESTAMP(), WHEN, "80aa9ab5f7f08b06"),
        (
            logical("long", "timestamp-micros"),
            Types.SQL_TIMESTAMP(),
            WHEN.replace(year=1960),
            "ffd5d5f1a4c88a01",
        ),
        (logical("long", "local-timestamp-millis"), Types.LONG(), 5, "0a"),
        (logical("long", "local-timestamp-micros"), Types.LONG(), 5, "0a"),
        (logical("string", "uuid"), Types.STRING(), "x", "0278"),
        (["null", logical("int", "date")], Types.SQL_DATE(), WHEN.date(), "0292b602"),
        ({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}, BYTES, bytes(12), "00" * 12),
    ],
)
@pytest.mark.row("S-CONN-21")
def test_types_and_bytes_as_flink(avro: Any, declared: Any, value: Any, data: str) -> None:
    schema = record_of(avro)
    reading = AvroRowDeserializationSchema(avro_schema_string=schema)
    assert reading.get_produced_type() == Types.ROW_NAMED(["x"], [declared])
    assert AvroRowSerializationSchema(avro_schema_string=schema).serialize(Row(value)).hex() == data
    row = reading.deserialize(bytes.fromhex(data))
    assert row == Row(x=value)
    assert type(row[0]) is type(value)


def test_decimals_that_flink_writes_wrong() -> None:
    """Flink writes the digits without the scale of the schema (12.3 becomes 1.23), and fails for fixed."""
    writing = AvroRowSerializationSchema(avro_schema_string=record_of(DECIMAL))
    assert writing.serialize(Row(Decimal("12.3"))).hex() == "0404ce"
    fixed = record_of({**DECIMAL, "type": "fixed", "name": "F", "size": 4})
    data = AvroRowSerializationSchema(avro_schema_string=fixed).serialize(Row(Decimal("-12.34")))
    assert data.hex() == "fffffb2e"
    assert AvroRowDeserializationSchema(avro_schema_string=fixed).deserialize(data)[0] == Decimal("-12.34")


ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "int"},
            {
                "name": "lines",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Line",
                        "fields": [
                            {"name": "article", "type": "string"},
                            {"name": "sold", "type": logical("long", "timestamp-millis")},
                        ],
                    },
                },
            },
            {"name": "best", "type": ["null", "Line"]},
            {"name": "by_name", "type": {"type": "map", "values": "shop.Line"}},
        ],
    }
)


def test_rows_in_rows() -> None:
    line = Row(article="a", sold=WHEN.replace(microsecond=0))
    order = Row(id=1, lines=[line, line], best=line, by_name={"x": line})
    reading = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=ORDER)))
    writing = pickle.loads(pickle.dumps(AvroRowSerializationSchema(avro_schema_string=ORDER)))
    data = writing.serialize(order)
    assert reading.deserialize(data) == order
    assert writing.serialize((1, [("a", line[1]), line], ["a", line[1]], {"x": line})) == data
    line_type = Types.ROW_NAMED(["article", "sold"], [Types.STRING(), Types.SQL_TIMESTAMP()])
    assert reading.get_produced_type() == Types.ROW_NAMED(
        ["id", "lines", "best", "by_name"],
        [Types.INT(), Types.OBJECT_ARRAY(line_type), line_type, Types.MAP(Types.STRING(), line_type)],
    )


def test_messages_that_are_too_short_or_too_long() -> None:
    reading = AvroRowDeserializationSchema(avro_schema_string=record_of("string"))
    for data in (b"", b"\x04a", b"\x02\xff"):
        with pytest.raises(FiresteelError, match="cannot read Avro"):
            reading.deserialize(data)
    assert reading.deserialize(b"\x02abc") == Row(x="a")  # as Flink: the rest is not looked at
    assert reading.deserialize(None) is None


@pytest.mark.parametrize(
    ("avro", "row"),
    [
        ("int", Row(None)),
        ("int", Row("a")),
        ("int", Row(2**31)),
        ("long", Row(2**63)),
        ("int", Row(1, 2)),
        ("string", Row()),
        (DECIMAL, Row(Decimal("1.234"))),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, Row("B")),
        ({"type": "fixed", "name": "F", "size": 2}, Row(b"abc")),
    ],
)
def test_rows_that_do_not_fit(avro: Any, row: Row) -> None:
    with pytest.raises(FiresteelError, match="does not fit its Avro schema"):
        AvroRowSerializationSchema(avro_schema_string=record_of(avro)).serialize(row)


def test_schemas_are_checked_when_they_are_given(tmp_path: Path) -> None:
    for bad in ("", "{", '"int"', '{"type":"record"}', record_of("inti"), '["int","string"]'):
        with pytest.raises(ConfigurationError):
            AvroRowDeserializationSchema(avro_schema_string=bad)
    tree = {"name": "children", "type": {"type": "array", "items": "T"}}
    with pytest.raises(ConfigurationError, match="contains itself"):
        AvroRowSerializationSchema(
            avro_schema_string=json.dumps({"type": "record", "name": "T", "fields": [tree]})
        )
    with pytest.raises(TypeError, match="should be specified"):
        AvroRowDeserializationSchema()
    with pytest.raises(UnsupportedFeatureError, match="Java"):
        AvroRowSerializationSchema(record_class="org.example.Order")
    with pytest.raises(FiresteelError, match="no Avro schema at"):
        AvroSchema.parse_file(str(tmp_path / "none"))
    (tmp_path / "s").write_text(ORDER)
    assert AvroSchema.parse_file(str(tmp_path / "s")) == AvroSchema.parse_string(ORDER)


def test_generic_records_are_resolved() -> None:
    """A reader of a newer schema: other order, a field more, one less, wider types, another enum."""
    fields = [("a", "int"), ("gone", "string"), ("b", {"type": "enum", "name": "E", "symbols": ["X", "Y"]})]
    old = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]}
    enum = {"type": "enum", "name": "E", "symbols": ["X"], "default": "X"}
    new = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "b", "type": enum},
            {"name": "c", "type": ["null", "long"], "default": None},
            {"name": "a", "type": "double"},
        ],
    }
    writing = AvroSerializationSchema.for_generic(AvroSchema(json.dumps(old)))
    data = writing.serialize({"a": 3, "gone": "g", "b": "Y"})
    schemas = AvroSchema(json.dumps(new)), AvroSchema(json.dumps(old))
    reading = pickle.loads(pickle.dumps(AvroDeserializationSchema.for_generic(*schemas)))
    assert reading.deserialize(data) == {"a": 3.0, "b": "X", "c": None}
    assert isinstance(reading.get_produced_type(), GenericRecordAvroTypeInfo)


def test_generic_records_are_what_avro_has() -> None:
    avro = {"type": "record", "name": "R", "fields": []}
    fields: Any = avro["fields"]
    fields += [{"name": "t", "type": logical("long", "timestamp-micros")}]
    fields += [{"name": "u", "type": logical("string", "uuid")}]
    record = {"t": WHEN.replace(tzinfo=datetime.UTC), "u": uuid.UUID(int=5)}
    schema = AvroSchema(json.dumps(avro))
    data = AvroSerializationSchema.for_generic(schema).serialize(record)
    assert AvroDeserializationSchema.for_generic(schema).deserialize(data) == record


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_a_row_or_an_error(data: bytes) -> None:
    reading = AvroRowDeserializationSchema(avro_schema_string=ORDER)
    try:
        row = reading.deserialize(data)
    except FiresteelError:
        return
    again = AvroRowSerializationSchema(avro_schema_string=ORDER).serialize(row)
    assert reading.deserialize(again) == row


def test_what_another_library_writes(tmp_path: Path) -> None:
    buffer = BytesIO()
    datum = {"x": WHEN.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))}
    schema = record_of(logical("long", "timestamp-micros"))
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(json.loads(schema)), datum)
    row = AvroRowDeserializationSchema(avro_schema_string=schema).deserialize(buffer.getvalue())
    assert row[0] == WHEN - datetime.timedelta(hours=2)  # in UTC
