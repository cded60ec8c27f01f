from __future__ import annotations

import datetime
import json
import pickle
from decimal import Decimal
from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError, FiresteelError, ProgramError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from firesteel.formats._json_rows import json_decoder, json_encoder
from firesteel.formats._json_schema import type_of_json_schema

WHEN = datetime.datetime(2024, 5, 6, 7, 8, 9)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (Types.INT(), -5, "-5"),
        (Types.LONG(), 2**62, str(2**62)),
        (Types.STRING(), 'é"\n', '"é\\"\\n"'),
        (Types.BOOLEAN(), True, "true"),
        (Types.DOUBLE(), 1e10, "1.0E10"),
        (Types.FLOAT(), 1.100000023841858, "1.1"),
        (Types.BIG_DEC(), Decimal("1.10"), "1.10"),
        (Types.BIG_INT(), 10**30, str(10**30)),
        (Types.SQL_DATE(), WHEN.date(), '"2024-05-06"'),
        (Types.SQL_TIME(), WHEN.time(), '"07:08:09Z"'),
        (Types.SQL_TIMESTAMP(), WHEN, '"2024-05-06T07:08:09Z"'),
        (Types.LIST(Types.INT()), [1, 2], "[1,2]"),
        (Types.OBJECT_ARRAY(Types.STRING()), ["a", None], '["a",null]'),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab", '"YWI="'),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": None}, '{"a":1,"b":null}'),
        (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a"), '[1,"a"]'),
        (
            Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.ROW([Types.INT()])]),
            Row(1, Row(2)),
            '{"x":1,"y":{"f0":2}}',
        ),
        (Types.STRING(), None, "null"),
    ],
)
def test_there_and_back(type_: Any, value: Any, text: str) -> None:
    assert json_encoder(type_)(value) == text.encode()
    back = json_decoder(type_)(text.encode())
    assert json_encoder(type_)(back) == text.encode()
    if "ROW" not in repr(type_).upper():
        assert back == value
        assert type(back) is type(value) or isinstance(back, type(value))


def test_not_a_number() -> None:
    assert json_encoder(Types.DOUBLE())(float("nan")) == b'"NaN"'
    assert json.loads(json_encoder(Types.DOUBLE())(float("-inf"))) == "-Infinity"


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Types.INT(), '" 7 "', 7),
        (Types.STRING(), "1.50", "1.50"),
        (Types.STRING(), '{"a": [1, true]}', '{"a":[1,true]}'),
        (Types.BOOLEAN(), '"TRUE"', True),
        (Types.DOUBLE(), "3", 3.0),
        (Types.BIG_DEC(), "0.1000", Decimal("0.1000")),
    ],
)
def test_other_spellings(type_: Any, text: str, value: Any) -> None:
    assert json_decoder(type_)(text) == value


def test_schema_of_rows() -> None:
    type_ = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    read = JsonRowDeserializationSchema.builder().type_info(type_).build()
    write = JsonRowSerializationSchema.builder().with_type_info(type_).build()
    read, write = pickle.loads(pickle.dumps((read, write)))
    row = read.deserialize(b'{"name": "\xc3\xa9", "more": 1, "id": 2}')
    assert row.as_dict() == {"id": 2, "name": "é"}
    assert write.serialize(row) == '{"id":2,"name":"é"}'.encode()
    assert read.deserialize(b"{}").as_dict() == {"id": None, "name": None}
    assert read.get_produced_type() == type_
    for bad in (b"{", b"[1]", b'{"id": "x"}', b'{"id": 1.5}', b'{"id": 99999999999}', b"\xff"):
        with pytest.raises(FiresteelError, match="cannot read JSON"):
            read.deserialize(bad)
    lenient = JsonRowDeserializationSchema.builder().type_info(type_).ignore_parse_errors().build()
    assert lenient.deserialize(b"{") is None
    strict = JsonRowDeserializationSchema.builder().type_info(type_).fail_on_missing_field().build()
    with pytest.raises(FiresteelError, match="'name' is missing"):
        strict.deserialize(b'{"id": 1}')
    with pytest.raises(ProgramError):
        JsonRowDeserializationSchema(type_, True, True)
    with pytest.raises(TypeError):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(UnsupportedFeatureError):
        json_encoder(Types.PICKLED_BYTE_ARRAY())


def test_json_schema() -> None:
    schema = {
        "type": "object",
        "definitions": {"point": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "properties": {
            "n": {"type": ["number", "null"]},
            "s": {"type": "string"},
            "at": {"type": "string", "format": "date-time"},
            "raw": {"type": "string", "contentEncoding": "base64"},
            "list": {"type": "array", "items": {"type": "boolean"}},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "p": {"$ref": "#/definitions/point"},
        },
    }
    type_: Any = type_of_json_schema(json.dumps(schema))
    assert type_.get_field_names() == ["n", "s", "at", "raw", "list", "pair", "p"]
    assert type_.get_field_types() == [
        Types.BIG_DEC(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.OBJECT_ARRAY(Types.BOOLEAN()),
        Types.ROW([Types.STRING(), Types.BIG_INT()]),
        Types.ROW_NAMED(["x"], [Types.BIG_INT()]),
    ]
    assert JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        "[]",
        '{"type": ["string", "integer"]}',
        '{"type": "odd"}',
        '{"$ref": "#/none"}',
        '{"$ref": "x.json"}',
        "{}",
    ],
)
def test_bad_json_schema(schema: str) -> None:
    with pytest.raises(ConfigurationError):
        type_of_json_schema(schema)
