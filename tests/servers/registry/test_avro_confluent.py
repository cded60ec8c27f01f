"""Avro with a schema registry, which is a process of its own (``server.py``).

The messages were also exchanged with Flink 2.3.0's own classes and the Java client of Confluent, through the
same registry.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.typeinfo import Types
from firesteel.connectors.bad_records import message_decoder
from firesteel.datastream.formats.avro import AvroSchema
from firesteel.datastream.formats.avro_confluent import (
    ConfluentRegistryAvroDeserializationSchema as Reading,
    ConfluentRegistryAvroSerializationSchema as Writing,
    DebeziumAvroDeserializationSchema,
)
from firesteel.formats import schema_registry as _schema_registry
from firesteel.formats.schema_registry import SchemaRegistryError

USER = "ann:p@ss"


def record(*fields: tuple[Any, ...]) -> AvroSchema:
    listed = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return AvroSchema(json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": listed}))


OLD = record(("id", "int"), ("note", "string"))
NEW = record(("name", "string", "?"), ("id", "long"))


@contextmanager
def registry(*options: str) -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).with_name("server.py")), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with registry() as found:
        yield found


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_schema_registry, "_FIRST_PAUSE_S", 0.001)


def call(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data)) as answer:
        return json.load(answer)


def shipped(schema: Any) -> Any:
    return pickle.loads(pickle.dumps(schema))


def test_the_format_of_a_message(url: str) -> None:
    writing = shipped(Writing.for_row("format-value", record(("x", "int")), url))
    schema_id = call(f"{url}/subjects/format-value/versions", {"schema": str(record(("x", "int")))})["id"]
    assert writing.serialize(Row(-5)) == b"\0" + schema_id.to_bytes(4) + b"\x09"


@pytest.mark.row("S-CONN-21")
def test_records_of_an_older_schema_are_resolved(url: str) -> None:
    data = Writing.for_generic("orders-value", OLD, url).serialize({"id": 7, "note": "n"})
    assert shipped(Reading.for_row(NEW, url)).deserialize(data) == Row(name="?", id=7)
    assert shipped(Reading.for_generic(NEW, url)).deserialize(data) == {"name": "?", "id": 7}
    assert Reading.for_row(OLD, url).deserialize(data) == Row(id=7, note="n")
    assert Reading.for_row(OLD, url).deserialize(None) is None


def test_each_schema_is_asked_for_once(url: str) -> None:
    writing = Writing.for_row("once", OLD, url)
    before = len(call(f"{url}/test/requests"))
    data = [writing.serialize(Row(i, "n")) for i in range(100)]
    reading = Reading.for_row(NEW, url)
    assert [row.id for row in map(reading.deserialize, data)] == list(range(100))
    methods = [request.partition(" ")[0] for request in call(f"{url}/test/requests")[before:]]
    assert methods == ["POST", "GET"]


def test_a_schema_that_refers_to_others(url: str) -> None:
    line = {
        "type": "record",
        "name": "Line",
        "namespace": "shop",
        "fields": [{"name": "article", "type": "string"}],
    }
    order = [
        {"name": "first", "type": "Line"},
        {"name": "all", "type": {"type": "array", "items": "shop.Line"}},
    ]
    text = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": order})
    call(f"{url}/subjects/line/versions", {"schema": json.dumps(line)})
    reference = {"name": "shop.Line", "subject": "line", "version": 1}
    body = {"schema": text, "references": [reference]}
    schema_id = call(f"{url}/subjects/referring/versions", body)["id"]
    data = b"\0" + schema_id.to_bytes(4) + b"\x02a" + b"\x02\x02b\0"
    whole = json.dumps({**json.loads(text), "fields": [{"name": "first", "type": line}, order[1]]})
    row = Reading.for_row(AvroSchema(whole), url).deserialize(data)
    assert row == Row(first=Row(article="a"), all=[Row(article="b")])


def test_bad_messages(url: str) -> None:
    good = Writing.for_row("bad", OLD, url).serialize(Row(1, "n"))
    messages = [good, b"", b"\1" + good[1:], b"\0\0\0\xff\xff\0", good[:5], good]
    decoded = message_decoder(Reading.for_row(OLD, url))(messages)
    assert decoded.values == [Row(id=1, note="n")] * 2
    assert [index for index, _ in decoded.bad] == [1, 2, 3, 4]
    assert "Schema 65535 not found (40403)" in str(decoded.bad[2][1])


def test_a_registry_that_fails_now_and_then(url: str) -> None:
    data = Writing.for_row("faults", OLD, url).serialize(Row(1, "n"))
    call(f"{url}/test/fail", [500, 503, 429])
    assert Reading.for_row(OLD, url).deserialize(data) == Row(id=1, note="n")


def test_a_registry_that_does_not_answer(url: str) -> None:
    """It is no fault of the message: the job fails. Another URL of the list is asked first."""
    data = Writing.for_row("absent", OLD, url).serialize(Row(1, "n"))
    absent = "http://127.0.0.1:1"
    with pytest.raises(SchemaRegistryError, match="does not answer"):
        message_decoder(Reading.for_row(OLD, absent))([data])
    assert Reading.for_row(OLD, f"{absent}, {url}/").deserialize(data) == Row(id=1, note="n")


def test_users(url: str) -> None:
    with registry("--user", USER) as guarded:
        configs = {"basic.auth.user.info": USER}
        data = Writing.for_row("users", OLD, guarded, configs).serialize(Row(1, "n"))
        inline = guarded.replace("//", "//ann:p%40ss@")
        assert Reading.for_row(OLD, inline).deserialize(data) == Row(id=1, note="n")
        for wrong in ({}, {"basic.auth.user.info": "ann:no"}, {"bearer.auth.token": "t"}):
            with pytest.raises(SchemaRegistryError, match="refuses") as caught:
                Reading.for_row(OLD, guarded, wrong).deserialize(data)
            assert "Unauthorized (401)" in str(caught.value)


def test_a_schema_that_must_be_there(url: str) -> None:
    writing = Writing.for_row("known", NEW, url, {"auto.register.schemas": "false"})
    with pytest.raises(FiresteelError, match="Subject 'known' not found"):
        writing.serialize(Row("a", 1))
    data = Writing.for_row("known", NEW, url).serialize(Row("a", 1))
    assert writing.serialize(Row("a", 1)) == data


@pytest.mark.parametrize(
    ("where", "configs"),
    [
        ("registry:8081", {}),
        ("http://", {}),
        ("ftp://registry", {}),
        ("http://registry", {"basic.auth.user": "x"}),
        ("http://registry", {"request.timeout.ms": "soon"}),
        ("http://registry", {"auto.register.schemas": "no"}),
    ],
)
def test_options_are_checked(where: str, configs: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        Reading.for_row(OLD, where, configs)


def test_changes_of_debezium(url: str) -> None:
    """Written with the schema that Debezium makes of a table; columns are found by their names."""
    value = {
        "type": "record",
        "name": "Value",
        "fields": [
            {"name": "at", "type": {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}},
            {"name": "name", "type": ["null", "string"], "default": None},
            {"name": "id", "type": "int"},
        ],
    }
    changes = [
        ("before", ["null", value]),
        ("after", ["null", "Value"]),
        ("op", "string"),
        ("ts_ms", ["null", "long"]),
    ]
    fields = [{"name": name, "type": type_} for name, type_ in changes]
    envelope = {"type": "record", "name": "Envelope", "namespace": "server.shop.parts", "fields": fields}
    writing = Writing.for_generic("changes", AvroSchema(json.dumps(envelope)), url)
    type_ = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    reading = shipped(DebeziumAvroDeserializationSchema(type_, url))
    one, two = {"id": 1, "name": "a", "at": 5}, {"id": 1, "name": None, "at": 6}

    def rows(before: Any, after: Any, op: str) -> list[tuple[str, Any, Any]]:
        data = writing.serialize({"before": before, "after": after, "op": op, "ts_ms": None})
        return [(str(row.get_row_kind()), row.id, row.name) for row in reading.deserialize_many(data)]

    assert rows(None, one, "c") == rows(None, one, "r") == [("+I", 1, "a")]
    assert rows(one, two, "u") == [("-U", 1, "a"), ("+U", 1, None)]
    assert rows(one, None, "d") == [("-D", 1, "a")]
    assert reading.deserialize_many(None) == reading.deserialize_many(b"") == ()
    assert reading.get_produced_type() == type_
    for bad in ((None, two, "u"), (one, None, "c"), (one, two, "t")):
        with pytest.raises(FiresteelError, match="cannot read Avro"):
            rows(*bad)
