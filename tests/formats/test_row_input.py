"""A format that does not fit the stream in front of it is refused when the program is built."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from firesteel.common import Row
from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.common.serialization import SerializationSchema, SimpleStringSchema
from firesteel.common.typeinfo import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from firesteel.datastream.formats.avro import AvroRowSerializationSchema, AvroSchema
from firesteel.datastream.formats.avro_confluent import ConfluentRegistryAvroSerializationSchema
from firesteel.datastream.formats.changelog_json import DebeziumJsonSerializationSchema
from firesteel.datastream.formats.csv import CsvRowSerializationSchema
from firesteel.datastream.formats.json import JsonRowSerializationSchema
from firesteel.datastream.formats.protobuf import ProtobufRowSerializationSchema

TWO = Types.ROW_NAMED(["seconds", "nanos"], [Types.LONG(), Types.INT()])
FIELDS = [{"name": "seconds", "type": "long"}, {"name": "nanos", "type": "int"}]
AVRO = json.dumps({"type": "record", "name": "R", "fields": FIELDS})
REGISTRY = "http://127.0.0.1:1"
SCHEMAS = [
    JsonRowSerializationSchema(TWO),
    CsvRowSerializationSchema.Builder(TWO).build(),
    AvroRowSerializationSchema(avro_schema_string=AVRO),
    ConfluentRegistryAvroSerializationSchema.for_row("s", AvroSchema(AVRO), REGISTRY),
    DebeziumJsonSerializationSchema(TWO),
    ProtobufRowSerializationSchema(Timestamp),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: type(schema).__name__)
def test_streams_that_fit_and_others(schema: SerializationSchema) -> None:
    for good in (TWO, Types.ROW([Types.LONG(), Types.LONG()]), None, Types.PICKLED_BYTE_ARRAY()):
        schema.check_type(good)
    schema.check_type(Types.TUPLE([Types.LONG(), Types.INT()]))
    for bad, why in ((Types.STRING(), "single values"), (Types.ROW([Types.LONG()]), "rows of 1 fields")):
        with pytest.raises(ProgramError, match=f"does not fit the stream: it has {why}"):
            schema.check_type(bad)


@pytest.mark.parametrize("schema", SCHEMAS[:3] + SCHEMAS[4:5], ids=lambda schema: type(schema).__name__)
@pytest.mark.parametrize("record", [Row(1), Row(1, 2, 3), 5, None])
def test_a_record_that_does_not_fit_is_shown(schema: SerializationSchema, record: Any) -> None:
    if record is None and isinstance(schema, (JsonRowSerializationSchema, DebeziumJsonSerializationSchema)):
        assert b"null" in (schema.serialize(None) or b"")
        return
    with pytest.raises((TypeMismatchError, ValueError), match="does not fit") as caught:
        schema.serialize(record)
    assert repr(record)[:5] in str(caught.value)


@pytest.mark.parametrize("as_key", [False, True])
def test_a_sink_is_refused_where_it_is_put_behind_the_stream(as_key: bool) -> None:
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    wrong = JsonRowSerializationSchema(TWO)
    builder.set_value_serialization_schema(SimpleStringSchema() if as_key else wrong)
    if as_key:
        builder.set_key_serialization_schema(wrong)
    sink = (
        KafkaSink.builder().set_bootstrap_servers(REGISTRY[7:]).set_record_serializer(builder.build()).build()
    )
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection(["a"], Types.STRING())
    with pytest.raises(ProgramError, match="JSON does not fit the stream"):
        stream.sink_to(sink)
