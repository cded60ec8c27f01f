from __future__ import annotations

import pickle
from typing import Any

import pytest
from google.protobuf import any_pb2, struct_pb2, timestamp_pb2, type_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.typeinfo import Types
from firesteel.datastream.formats.protobuf import (
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
)

F = FieldDescriptorProto
ONE, MANY = F.LABEL_OPTIONAL, F.LABEL_REPEATED
KINDS = [
    ("d", F.TYPE_DOUBLE, Types.DOUBLE(), 0.1),
    ("f", F.TYPE_FLOAT, Types.FLOAT(), 1.5),
    ("i", F.TYPE_INT32, Types.INT(), -5),
    ("l", F.TYPE_INT64, Types.LONG(), 1 << 62),
    ("u", F.TYPE_UINT32, Types.LONG(), 2**32 - 1),
    ("ul", F.TYPE_UINT64, Types.BIG_INT(), 2**64 - 1),
    ("s", F.TYPE_SINT32, Types.INT(), -5),
    ("sl", F.TYPE_SINT64, Types.LONG(), -5),
    ("fi", F.TYPE_FIXED32, Types.LONG(), 5),
    ("fl", F.TYPE_FIXED64, Types.BIG_INT(), 5),
    ("sf", F.TYPE_SFIXED32, Types.INT(), -5),
    ("sfl", F.TYPE_SFIXED64, Types.LONG(), -5),
    ("b", F.TYPE_BOOL, Types.BOOLEAN(), True),
    ("t", F.TYPE_STRING, Types.STRING(), "hé"),
    ("raw", F.TYPE_BYTES, Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\0\xff"),
]


def order_class(syntax: str) -> Any:
    """message Order with all scalars, an enum, a message, lists and maps."""
    file = FileDescriptorProto(name=f"order_{syntax}.proto", package="shop", syntax=syntax)
    enum = file.enum_type.add(name="State")
    for number, name in enumerate(("NEW", "PAID")):
        enum.value.add(name=name, number=number)
    line = file.message_type.add(name="Line")
    line.field.add(name="article", number=1, type=F.TYPE_STRING, label=ONE)
    order = file.message_type.add(name="Order")
    entry = order.nested_type.add(name="ByNameEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=ONE)
    entry.field.add(name="value", number=2, type=F.TYPE_MESSAGE, label=ONE, type_name=".shop.Line")
    for number, (name, kind, _, _) in enumerate(KINDS, start=1):
        order.field.add(name=name, number=number, type=kind, label=ONE)
    state = ".shop.State"
    order.field.add(name="state", number=20, type=F.TYPE_ENUM, label=ONE, type_name=state)
    order.field.add(name="line", number=21, type=F.TYPE_MESSAGE, label=ONE, type_name=".shop.Line")
    order.field.add(name="lines", number=22, type=F.TYPE_MESSAGE, label=MANY, type_name=".shop.Line")
    order.field.add(name="states", number=23, type=F.TYPE_ENUM, label=MANY, type_name=state)
    order.field.add(
        name="by_name", number=24, type=F.TYPE_MESSAGE, label=MANY, type_name=".shop.Order.ByNameEntry"
    )
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


LINE = Types.ROW_NAMED(["article"], [Types.STRING()])
NAMES = [*(kind[0] for kind in KINDS), "state", "line", "lines", "states", "by_name"]
LISTS = [Types.OBJECT_ARRAY(LINE), Types.OBJECT_ARRAY(Types.STRING()), Types.MAP(Types.STRING(), LINE)]
ORDER = Types.ROW_NAMED(NAMES, [*(kind[2] for kind in KINDS), Types.STRING(), LINE, *LISTS])
FULL = dict(
    zip(
        NAMES,
        [
            *(k[3] for k in KINDS),
            "PAID",
            Row(article="a"),
            [Row(article="b")],
            ["NEW"],
            {"k": Row(article="c")},
        ],
        strict=True,
    )
)


@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
@pytest.mark.row("S-CONN-21")
def test_there_and_back(syntax: str) -> None:
    cls = order_class(syntax)
    reading = pickle.loads(pickle.dumps(ProtobufRowDeserializationSchema(cls)))
    writing = pickle.loads(pickle.dumps(ProtobufRowSerializationSchema(cls.DESCRIPTOR)))
    assert reading.get_produced_type() == ORDER
    data = writing.serialize(Row(**FULL))
    assert reading.deserialize(data) == Row(**FULL)
    message = cls.FromString(data)  # the library agrees
    assert (message.ul, message.state, message.by_name["k"].article) == (2**64 - 1, 1, "c")
    assert reading.deserialize(None) is None


@pytest.mark.parametrize(
    ("syntax", "defaults", "number", "line", "lines"),
    [
        ("proto2", False, None, None, None),
        ("proto2", True, 0, Row(article=""), []),
        ("proto3", False, 0, None, None),
        ("proto3", True, 0, Row(article=""), []),
    ],
)
def test_what_is_not_there_as_flink_reads_it(
    syntax: str, defaults: bool, number: Any, line: Any, lines: Any
) -> None:
    row = ProtobufRowDeserializationSchema(order_class(syntax), read_default_values=defaults).deserialize(b"")
    assert (row.i, row.line, row.lines) == (number, line, lines)
    empty = ProtobufRowSerializationSchema(order_class(syntax)).serialize([None] * len(NAMES))
    assert empty == b""


def test_an_empty_message_inside_is_there() -> None:
    cls = order_class("proto3")
    data = ProtobufRowSerializationSchema(cls).serialize(Row(**{**dict.fromkeys(NAMES), "line": Row(None)}))
    assert ProtobufRowDeserializationSchema(cls).deserialize(data).line == Row(article="")


def test_generated_classes() -> None:
    reading = ProtobufRowDeserializationSchema(timestamp_pb2.Timestamp)
    assert reading.deserialize(timestamp_pb2.Timestamp(seconds=5).SerializeToString()) == Row(
        seconds=5, nanos=0
    )
    many_files = pickle.loads(pickle.dumps(ProtobufRowDeserializationSchema(type_pb2.Type)))
    message = type_pb2.Type(name="n", oneofs=["a"])
    assert many_files.deserialize(message.SerializeToString()).oneofs == ["a"]


def test_an_enum_number_without_a_name_stays() -> None:
    cls = order_class("proto3")
    data = cls(state=7).SerializeToString()
    assert ProtobufRowDeserializationSchema(cls).deserialize(data).state == "7"


def test_bad_messages_and_rows() -> None:
    cls = order_class("proto3")
    with pytest.raises(FiresteelError, match=r"not a shop\.Order"):
        ProtobufRowDeserializationSchema(cls).deserialize(b"\xff")
    lenient = ProtobufRowDeserializationSchema(cls, ignore_parse_errors=True)
    assert lenient.deserialize(b"\xff") is None
    assert lenient.ignored == 1
    for change in ({"i": "x"}, {"i": 2**31}, {"state": "LOST"}, {"line": Row(1, 2)}, {"lines": 5}):
        with pytest.raises(FiresteelError, match=r"does not fit shop\.Order"):
            ProtobufRowSerializationSchema(cls).serialize(Row(**{**FULL, **change}))


def test_what_is_no_row() -> None:
    with pytest.raises(ConfigurationError, match="contains itself"):
        ProtobufRowDeserializationSchema(struct_pb2.Struct)
    with pytest.raises(ConfigurationError, match="neither a generated"):
        ProtobufRowSerializationSchema("shop.Order")
    assert ProtobufRowDeserializationSchema(any_pb2.Any)


def test_half_of_a_surrogate_pair_becomes_a_question_mark() -> None:
    cls = order_class("proto3")
    schema = ProtobufRowSerializationSchema(cls)
    names = [field.name for field in cls.DESCRIPTOR.fields]
    row = Row(**{name: "a\ud800b" if name == "t" else None for name in names})
    assert cls.FromString(schema.serialize(row)).t == "a?b"
