"""Messages of Protobuf as columns."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, duration_pb2, type_pb2, wrappers_pb2

from firesteel.common.errors import FiresteelError
from firesteel.common.types import Row
from firesteel.formats.protobuf_rows import files_of
from firesteel.sql import types as t
from firesteel.sql.connectors.formats.protobuf import FORMATS, ProtobufTableFormat
from firesteel.sql.connectors.formats.registry import FormatOptions
from firesteel.sql.connectors.options import TableOptions
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.operators.objects import objects_of
from tests.formats.test_protobuf_format import order_class
from tests.table.support import tables

STRING = t.VarCharType(length=t.MAX_LENGTH)


def format_of(name: str, **given: str) -> Any:
    (format_,) = FORMATS
    keys = {key.replace("_", "-"): value for key, value in given.items()}
    options = TableOptions.checked("kafka", "t", {"message-class-name": name} | keys, format_.options)
    assert callable(format_.messages)
    return format_.messages(FormatOptions(options, ""))


def read(format_: Any, row: t.RowType, messages: list[bytes], columns: tuple[int, ...]) -> Any:
    found = pickle.loads(pickle.dumps(format_)).message_reader(row, columns)
    found.open()
    return found.read(messages)


def values(read_: Any, types: list[t.DataType]) -> list[tuple[Any, ...]]:
    return list(
        zip(*(objects_of(a, d) for a, d in zip(read_.columns.arrays, types, strict=True)), strict=True)
    )


def test_columns_are_fields_by_name() -> None:
    option = t.RowType.of(["name"], [STRING])
    row = t.RowType.of(
        ["syntax", "name", "options", "oneofs"],
        [STRING, STRING, t.ArrayType(element_type=option), t.ArrayType(element_type=STRING)],
    )
    format_ = format_of("google.protobuf.type_pb2.Type")
    rows = [("SYNTAX_PROTO3", "n", [Row(name="o")], ["p", "q"]), (None, "m", None, None)]
    messages = format_.message_writer(row)(columns_of(rows, row))
    sent = type_pb2.Type.FromString(messages[0])
    assert (sent.name, sent.syntax, sent.options[0].name, list(sent.oneofs)) == ("n", 1, "o", ["p", "q"])
    found = read(format_, row, messages, (1, 3, 2, 0))
    kinds = [STRING, row.types[3], row.types[2], STRING]
    first, second = values(found, kinds)
    assert (first[0], first[1], first[2][0].name, first[3]) == ("n", ["p", "q"], "o", "SYNTAX_PROTO3")
    assert second == ("m", None, None, "SYNTAX_PROTO2")  # a field of proto3 always has a value


def test_unsigned_numbers_have_the_bits_of_java() -> None:
    row = t.RowType.of(["value"], [t.IntType()])
    format_ = format_of("google.protobuf.wrappers_pb2.UInt32Value")
    messages = format_.message_writer(row)(columns_of([(-1,)], row))
    assert wrappers_pb2.UInt32Value.FromString(messages[0]).value == 2**32 - 1
    assert values(read(format_, row, messages, (0,)), [t.IntType()]) == [(-1,)]


def test_maps_and_messages_in_messages() -> None:
    order = order_class("proto3").DESCRIPTOR
    format_ = ProtobufTableFormat(tuple(files_of(order)), order.full_name)
    line = t.RowType.of(["article"], [STRING]).with_nullability(True)
    row = t.RowType.of(
        ["by_name", "line", "ul", "states"],
        [t.MapType(key_type=STRING, value_type=line), line, t.BigIntType(), t.ArrayType(element_type=STRING)],
    )
    there = Row(article="a")
    rows = [({"k": there}, there, -2, ["PAID", "NEW"])]
    messages = format_.message_writer(row)(columns_of(rows, row))
    found = values(read(format_, row, messages, (0, 1, 2, 3)), list(row.types))
    assert found == rows


def test_a_message_that_contains_itself() -> None:
    row = t.RowType.of(["null_value"], [STRING])
    with pytest.raises(FiresteelError, match="contains itself"):
        read(format_of("google.protobuf.struct_pb2.Value"), row, [], (0,))


def test_messages_that_cannot_be_read() -> None:
    row = t.RowType.of(["seconds"], [t.BigIntType()])
    good = duration_pb2.Duration(seconds=7).SerializeToString()
    name = "google.protobuf.duration_pb2.Duration"
    found = read(format_of(name), row, [good, b"\xff"], (0,))
    assert ([at for at, _ in found.bad], values(found, [t.BigIntType()])) == ([1], [(7,)])
    found = read(format_of(name, ignore_parse_errors="true"), row, [good, b"\xff", good], (0,))
    assert (found.ignored, values(found, [t.BigIntType()])) == (1, [(7,), (7,)])


def test_fields_without_presence_and_defaults() -> None:
    row = t.RowType.of(["name", "number"], [STRING, t.IntType()])
    name = "google.protobuf.descriptor_pb2.FieldDescriptorProto"
    message = descriptor_pb2.FieldDescriptorProto(name="n").SerializeToString()
    assert values(read(format_of(name), row, [message], (0, 1)), list(row.types)) == [("n", None)]
    defaults = format_of(name, read_default_values="true")
    assert isinstance(defaults, ProtobufTableFormat)
    assert values(read(defaults, row, [message], (0, 1)), list(row.types)) == [("n", 0)]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("seconds BIGINT", {}, "Missing required options are: protobuf.message-class-name"),
        ("seconds BIGINT", {"message-class-name": "com.shop.Order$Line"}, "protoc --python_out"),
        ("seconds BIGINT", {"message-class-name": "google.protobuf.duration_pb2"}, "not a class of messages"),
        ("seconds INT", {}, "declare the column as BIGINT"),
        ("minutes INT", {}, "its fields are seconds, nanos"),
        ("seconds BIGINT", {"write-null-string-literal": "x"}, "a NULL in an array or map is an error"),
    ],
)
def test_what_is_refused(columns: str, options: dict[str, str], message: str) -> None:
    given = {"message-class-name": "google.protobuf.duration_pb2.Duration"} | options
    if message.startswith("Missing"):
        given = {}
    shown = "".join(f", 'protobuf.{key}' = '{value}'" for key, value in given.items())
    with tables() as t_env:
        t_env.execute_sql(
            f"CREATE TABLE f ({columns}) WITH ('connector' = 'kafka', 'topic' = 'x', "
            f"'properties.bootstrap.servers' = '127.0.0.1:1', 'format' = 'protobuf'{shown})"
        )
        with pytest.raises(FiresteelError) as caught:
            t_env.execute_sql("SELECT * FROM f")
    assert message in str(caught.value)
