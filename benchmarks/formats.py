"""CPU for each record of the formats of messages, against loops written by hand for the same rows.

python benchmarks/formats.py
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import fastavro
import msgspec

from firesteel.common import Row
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import Types
from firesteel.connectors.bad_records import message_decoder
from firesteel.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from firesteel.datastream.formats.changelog_json import (
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
)
from firesteel.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from firesteel.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema

NAMES = ["id", "name", "score", "flag", "at", "note"]
KINDS = [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN(), Types.SQL_TIMESTAMP(), Types.STRING()]
TYPE = Types.ROW_NAMED(NAMES, KINDS)
AVRO_KINDS = ["long", "string", "double", "boolean", {"type": "long", "logicalType": "timestamp-millis"}]
FIELDS = [{"name": n, "type": t} for n, t in zip(NAMES, [*AVRO_KINDS, ["null", "string"]], strict=True)]
AVRO = json.dumps({"type": "record", "name": "R", "fields": FIELDS})
WHEN = datetime.datetime(2024, 5, 6, 7, 8, 9)
ROWS = [Row(i * 1000, f"name {i}", i / 7, True, WHEN, None) for i in range(1000)]


def cpu_us(function: Callable[[Any], Any], items: Sequence[Any], rounds: int = 30) -> float:
    """The least of some rounds: other work on the machine only ever adds to it."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        function(items)
        best = min(best, time.process_time() - start)
    return best / len(items) * 1e6


def write_all(schema: SerializationSchema, rows: Sequence[Row]) -> list[bytes | None]:
    return list(map(schema.serialize, rows))


def json_by_hand(messages: Sequence[bytes]) -> list[Any]:
    """The best known: the library makes objects with these fields."""
    kinds = [int, str, float, bool, datetime.datetime, str | None]
    kind = msgspec.defstruct("R", list(zip(NAMES, kinds, strict=True)))
    return list(map(msgspec.json.Decoder(kind).decode, messages))


def json_by_hand_rows(messages: Sequence[bytes]) -> list[Any]:
    """What a program does without a library."""
    rows = []
    for message in messages:
        o = json.loads(message)
        at = datetime.datetime.fromisoformat(o["at"])
        rows.append(Row(o["id"], o["name"], o["score"], o["flag"], at, o["note"]))
    return rows


def csv_by_hand(messages: Sequence[bytes]) -> list[Any]:
    rows = []
    for message in messages:
        [(i, name, score, flag, at, note)] = csv.reader([message.decode()])
        when = datetime.datetime.fromisoformat(at)
        rows.append(Row(int(i), name, float(score), flag == "true", when, note or None))
    return rows


def avro_by_hand(messages: Sequence[bytes]) -> list[Any]:
    schema, read, buffer = fastavro.parse_schema(json.loads(AVRO)), fastavro.schemaless_reader, io.BytesIO
    return [Row(*read(buffer(message), schema, None).values()) for message in messages]


def main() -> None:
    debezium = DebeziumJsonDeserializationSchema.builder().type_info(TYPE).build()
    csv_reading = CsvRowDeserializationSchema.Builder(TYPE).set_null_literal("").build()
    formats: list[tuple[str, SerializationSchema, DeserializationSchema, list[Any]]] = [
        (
            "JSON",
            JsonRowSerializationSchema(TYPE),
            JsonRowDeserializationSchema(TYPE, False, False),
            [json_by_hand, json_by_hand_rows],
        ),
        ("CSV", CsvRowSerializationSchema.Builder(TYPE).build(), csv_reading, [csv_by_hand]),
        (
            "Avro",
            AvroRowSerializationSchema(avro_schema_string=AVRO),
            AvroRowDeserializationSchema(avro_schema_string=AVRO),
            [avro_by_hand],
        ),
        ("Debezium JSON", DebeziumJsonSerializationSchema(TYPE), debezium, []),
    ]
    for name, writing, reading, by_hand in formats:
        messages = [writing.serialize(row) or b"" for row in ROWS]
        decode = message_decoder(reading)
        decoded = decode(messages)
        assert [list(row) for row in decoded.values] == [list(row) for row in ROWS], decoded.bad[:1]
        print(f"{name}: {len(messages[0])} bytes")
        for what, function in (("read", decode), *((f.__name__, f) for f in by_hand)):
            print(f"  {what:20} {cpu_us(function, messages):6.2f} us")
        print(f"  {'write':20} {cpu_us(partial(write_all, writing), ROWS):6.2f} us")


if __name__ == "__main__":
    main()
