from __future__ import annotations

import datetime
import json
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common import Row
from firesteel.common.errors import (
    ConfigurationError,
    FiresteelError,
    ProgramError,
    TypeMismatchError,
    UnsupportedFeatureError,
)
from firesteel.common.typeinfo import Types
from firesteel.connectors.bad_records import message_decoder
from firesteel.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from firesteel.formats.json_rows import JsonParseError, json_decoder, json_encoder, parse_json, value_decoder
from firesteel.formats.json_schema import type_of_json_schema
from firesteel.formats.json_structs import struct_decoder

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
        (Types.SQL_TIMESTAMP(), '"2024-05-06T07:08:09Z"', WHEN),
        (Types.SQL_TIMESTAMP(), '"2024-05-06 07:08:09+00:00"', WHEN),
        (Types.SQL_TIME(), '"07:08:09+00:00"', WHEN.time()),
    ],
)
def test_other_spellings(type_: Any, text: str, value: Any) -> None:
    assert json_decoder(type_)(text.encode()) == value


@pytest.mark.parametrize("wrapped", [False, True])
def test_bytes_must_be_base64(wrapped: bool) -> None:
    type_, message = Types.PRIMITIVE_ARRAY(Types.BYTE()), "YW*I="
    declared, text = (Types.ROW_NAMED(["x"], [type_]), {"x": message}) if wrapped else (type_, message)
    with pytest.raises(FiresteelError, match="cannot read JSON"):
        json_decoder(declared)(json.dumps(text).encode())


@pytest.mark.parametrize("wrapped", [False, True])
def test_times_of_other_zones_are_refused(wrapped: bool) -> None:
    """As Flink: what would be wrong by hours is an error."""
    for type_, text in (
        (Types.SQL_TIMESTAMP(), "2024-05-06T07:08:09+02:00"),
        (Types.SQL_TIME(), "07:08:09-01:00"),
    ):
        type_, message = (Types.ROW_NAMED(["x"], [type_]), {"x": text}) if wrapped else (type_, text)
        with pytest.raises(FiresteelError, match="not in UTC"):
            json_decoder(type_)(json.dumps(message).encode())


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
    assert lenient.deserialize(b'{"id": "x", "name": "a"}') == Row(id=None, name="a")
    assert lenient.ignored == 2
    strict = JsonRowDeserializationSchema.builder().type_info(type_).fail_on_missing_field().build()
    with pytest.raises(FiresteelError, match="'name' is missing"):
        strict.deserialize(b'{"id": 1}')
    with pytest.raises(ProgramError):
        JsonRowDeserializationSchema(type_, True, True)
    with pytest.raises(TypeError):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(UnsupportedFeatureError):
        json_encoder(Types.PICKLED_BYTE_ARRAY())


FOUR = Types.ROW_NAMED(
    ["i", "s", "d", "n"],
    [Types.INT(), Types.STRING(), Types.DOUBLE(), Types.ROW_NAMED(["x"], [Types.LONG()])],
)


@pytest.mark.parametrize(
    ("text", "row", "lenient"),
    [
        ('{"i":1,"s":"a"}', Row(1, "a", None, None), ...),
        ('{"i":"7"}', Row(7, None, None, None), ...),
        ('{"i":1.0}', Row(1, None, None, None), ...),
        ('{"i":true}', None, Row(None, None, None, None)),
        ('{"i":3000000000}', None, Row(None, None, None, None)),
        ('{"i":"x","s":"a"}', None, Row(None, "a", None, None)),
        ('{"s":5}', Row(None, "5", None, None), ...),
        ('{"s":{"a":1}}', Row(None, '{"a":1}', None, None), ...),
        ('{"s":true}', Row(None, "true", None, None), ...),
        ('{"d":"1.5"}', Row(None, None, 1.5, None), ...),
        ('{"d":"x"}', None, Row(None, None, None, None)),
        ('{"d":true}', None, Row(None, None, None, None)),
        ('{"d":1}', Row(None, None, 1.0, None), ...),
        ('{"n":5,"i":1}', None, Row(1, None, None, None)),
        ('{"n":{"x":"q"},"i":1}', None, Row(1, None, None, Row(None))),
        ('{"n":{"x":9e2}}', Row(None, None, None, Row(900)), ...),
        ("{", None, None),
        ("[]", None, None),
        ("5", None, None),
        ("", None, None),
        ('{"d":NaN}', None, None),
        ('{"i":1,"i":2}', Row(2, None, None, None), ...),
    ],
)
@pytest.mark.row("S-CONN-21")
def test_messages_as_flink_reads_them(text: str, row: Row | None, lenient: Any) -> None:
    """What flink-json 1.20 gives, the last that has these schemas; ``row`` None: it raises."""
    ignored: list[int] = []
    ignoring = json_decoder(FOUR, ignore=lambda: ignored.append(1))(text.encode())
    if row is None:
        with pytest.raises(FiresteelError, match="cannot read JSON"):
            json_decoder(FOUR)(text.encode())
        assert values_of(ignoring) == values_of(lenient)
        assert ignored == [1]
    else:
        assert values_of(json_decoder(FOUR)(text.encode())) == values_of(row) == values_of(ignoring)
        assert not ignored


def values_of(row: Any) -> Any:
    return [values_of(value) for value in row] if isinstance(row, Row) else row


def test_null_is_nothing() -> None:
    assert json_decoder(FOUR)(b"null") is None
    assert JsonRowDeserializationSchema(FOUR, False, False).deserialize(None) is None


ALL_KINDS = Types.ROW_NAMED(
    ["i", "big", "f", "d", "dec", "b", "s", "at", "day", "time", "raw", "l", "m", "row", "x y"],
    [
        Types.INT(),
        Types.BIG_INT(),
        Types.FLOAT(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.BOOLEAN(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.FLOAT()),
        Types.MAP(Types.STRING(), Types.SQL_DATE()),
        Types.ROW_NAMED(["y"], [Types.OBJECT_ARRAY(Types.SHORT())]),
        Types.LONG(),
    ],
)
SOME = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["a", "7", "1.5", "2024-05-06", "2024-05-06T07:08:09.123456789Z", "07:08:09", "YWI=", "\ud800"]
    ),
    st.lists(st.one_of(st.none(), st.integers(-9, 9), st.floats(-9, 9)), max_size=2),
    st.dictionaries(
        st.sampled_from(["y", "k"]), st.sampled_from([None, [1], [1, None, "x"], "2024-05-06"]), max_size=2
    ),
)


@settings(max_examples=300, deadline=None)
@given(message=st.dictionaries(st.sampled_from([*ALL_KINDS.get_field_names(), "other"]), SOME, max_size=4))
@pytest.mark.parametrize("strict", [False, True])
def test_what_the_quick_reader_reads_the_careful_one_reads_alike(strict: bool, message: Any) -> None:
    text = json.dumps(message).encode()
    quick = struct_decoder(ALL_KINDS, strict)
    assert quick is not None
    try:
        row = quick(text)
    except Exception:
        return
    careful = value_decoder(ALL_KINDS, strict, None)(parse_json(text))
    assert repr(row) == repr(careful)


def test_common_messages_are_read_the_quick_way() -> None:
    quick = struct_decoder(ALL_KINDS, True)
    assert quick is not None
    row = Row(
        1, 2**70, 1.5, 0.1, Decimal("1.10"), True, "é", WHEN, WHEN.date(), WHEN.time(), b"ab", [1.5, None]
    )
    row = Row(*row, {"k": WHEN.date()}, Row([1, 2]), None)
    text = json_encoder(ALL_KINDS)(row)
    assert values_of(quick(text)) == values_of(row)


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


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


@given(st.lists(st.tuples(TEXTS, st.none() | TEXTS), unique_by=lambda field: field[0], max_size=4))
def test_any_names_and_texts_are_written_as_json(fields: list[tuple[str, str | None]]) -> None:
    names, values = [name for name, _ in fields], [value for _, value in fields]
    record = Types.ROW_NAMED(names, [Types.STRING() for _ in fields])
    written = json_encoder(record)(Row(*values)).decode()
    assert written == json.dumps(dict(fields), ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("values", [("a",), ("a", "b", "c"), 7, ("a", 5), ("a", ["x"] * 50)])
def test_a_record_that_does_not_fit_its_type_is_named(values: Any) -> None:
    schema = JsonRowSerializationSchema(Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.STRING()]))
    record = Row(*values) if isinstance(values, tuple) else values
    with pytest.raises(TypeMismatchError, match="JSON"):
        schema.serialize_batch([Row("a", None), record])


@pytest.mark.parametrize("levels", [20_000, 100_000])  # Python 3.11 reads up to 1,000, 3.12 and 3.13 10,000
@pytest.mark.parametrize("field", [b"a", b"other"])
def test_what_is_nested_too_deeply_is_a_bad_record(levels: int, field: bytes) -> None:
    type_info = Types.ROW_NAMED(["a"], [Types.STRING()])
    deep = b'{"%b":%b%b}' % (field, b"[" * levels, b"]" * levels)
    messages = [b'{"a":"1"}', deep, b'{"a":"2"}']
    schema = JsonRowDeserializationSchema.builder().type_info(type_info).build()
    decoded = message_decoder(schema)(messages)
    assert decoded.values == [Row(a="1"), Row(a="2")]
    assert [(index, type(error)) for index, error in decoded.bad] == [(1, JsonParseError)]
    ignoring = JsonRowDeserializationSchema.builder().type_info(type_info).ignore_parse_errors().build()
    decoded = message_decoder(ignoring)(messages)
    assert (decoded.values, decoded.bad, decoded.ignored) == ([Row(a="1"), Row(a="2")], [], 1)
