from __future__ import annotations

import io
import pickle
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError, FiresteelError, ProgramError, UnsupportedFeatureError
from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import Types
from firesteel.connectors.bad_records import message_decoder
from firesteel.connectors.base import EnumeratorContext, ReadRange
from firesteel.datastream.connectors.file_system import FileEnumeratorProvider, FileSource
from firesteel.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from firesteel.formats.csv_columns import Column
from firesteel.formats.csv_encode import csv_encoder
from firesteel.formats.csv_records import CsvDialect
from firesteel.table import DataTypes

ROW = Types.ROW_NAMED(["a", "b", "c", "d"], [Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()])

# What Flink 2.3 writes.
TEXTS = ["x", "x y", "a,b", 'q"q', "", "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwx", "#a", "it's"]
TEXTS += ["A-B", "é", "l\nm", None, "tab\t", "!"]  # type: ignore[list-item]
WRITTEN = """\
id,"na me",score,flag
0,x,0.0,true
1,"x y",1.0E10,true
2,"a,b",2.0E10,true
3,"q""q",3.0E10,true
4,,4.0E10,true
5,"abcdefghijklmnopqrstuvwxyz",5.0E10,true
6,abcdefghijklmnopqrstuvwx,6.0E10,true
7,"#a",7.0E10,true
8,"it's",8.0E10,true
9,A-B,9.0E10,true
10,é,1.0E11,true
11,"l
m",1.1E11,true
12,,1.2E11,true
13,"tab\t",1.3E11,true
14,"!",1.4E11,true
"""


def schema_of() -> Any:
    return (
        CsvSchema.builder()
        .add_number_column("id", Types.INT())
        .add_string_column("na me")
        .add_number_column("score", Types.DOUBLE())
        .add_boolean_column("flag")
        .set_use_header()
    )


def test_written_as_flink() -> None:
    factory = pickle.loads(pickle.dumps(CsvBulkWriters.for_schema(schema_of().build())))
    stream = io.BytesIO()
    writer = factory.create(stream)
    for i, text in enumerate(TEXTS):
        writer.add_element(Row(i, text, 1e10 * i, True))
    writer.flush()
    writer.finish()
    assert stream.getvalue().decode() == WRITTEN


def read_all(source: Any) -> list[Any]:
    enumerator = source.create_enumerator(EnumeratorContext(1, ""))
    enumerator.open()
    reader = source.create_reader()
    ranges = [ReadRange(split, None, 10**6, 10**9) for split in enumerator.discover(0)]
    values = [value for r in ranges for chunk in reader.read(r) for value in chunk.values]
    reader.close()
    return values


def test_file_source_of_a_schema(tmp_path: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text(WRITTEN)
    format_ = CsvReaderFormat.for_schema(schema_of().set_strict_headers().build())
    source = FileSource.for_record_stream_format(format_, str(path)).build()
    rows = read_all(source.wrapped_source)
    assert [row[1] for row in rows] == [text or "" for text in TEXTS]
    assert rows[3].as_dict() == {"id": 3, "na me": 'q"q', "score": 3e10, "flag": True}
    assert source.produced_type == ROW
    builder = FileSource.for_record_stream_format(format_, str(path))
    builder.set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
    with pytest.raises(ConfigurationError, match="in pieces"):
        builder.build()


def test_schema_builder(tmp_path: Any) -> None:
    first = CsvSchema.builder().add_number_column("n").add_array_column("l", ",", Types.INT()).build()
    schema = (
        CsvSchema.builder()
        .add_string_column("gone")
        .clear_columns()
        .add_columns_from(first)
        .add_number_column("d", DataTypes.DECIMAL(10, 2))
        .set_column_separator("|")
        .set_quote_char("'")
        .set_escape_char("\\")
        .set_null_value("-")
        .set_allow_comments()
        .set_skip_first_data_row()
        .build()
    )
    assert len(schema) == schema.size() == 3
    path = tmp_path / "t.csv"
    path.write_text("skipped\n# comment\n1|2,3|'1.255'\n-|4|-\n")
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(path)).build()
    rows = read_all(source.wrapped_source)
    assert [list(map(str, row)) for row in rows] == [["1", "[2, 3]", "1.26"], ["None", "[4]", "None"]]
    with pytest.raises(ConfigurationError):
        CsvSchema.builder().add_number_column("x", object())
    with pytest.raises(ValueError, match="single char"):
        CsvSchema.builder().set_quote_char("''")
    with pytest.raises(UnsupportedFeatureError):
        CsvSchema.builder().set_any_property_name("rest")
    with pytest.raises(UnsupportedFeatureError):
        CsvSchema.builder().add_string_column("s").set_use_header().set_skip_first_data_row().build()


def test_array_separators() -> None:
    base = CsvSchema.builder().add_array_column("a").add_array_column("b", "/")
    assert [c.separator for c in base.build().columns] == [";", "/"]
    assert [c.separator for c in base.remove_array_element_separator(0).build().columns] == ["", "/"]
    assert [c.separator for c in base.set_array_element_separator("+").build().columns] == ["+", "+"]
    assert [c.separator for c in base.disable_array_element_separator().build().columns] == ["", ""]


def test_messages_come_back() -> None:
    types = Types.ROW_NAMED(["i", "s", "l"], [Types.INT(), Types.STRING(), Types.LIST(Types.STRING())])
    write = CsvRowSerializationSchema.Builder(types).set_null_literal("N").set_line_delimiter("").build()
    read = CsvRowDeserializationSchema.Builder(types).set_null_literal("N").build()
    write, read = pickle.loads(pickle.dumps((write, read)))
    for row in (Row(1, "a b", ["x", "y"]), Row(None, 'q"\n', ["é"]), Row(-1, "", [])):
        again = read.deserialize(write.serialize(row))
        assert list(again) == list(row)
    assert write.serialize(Row(1, "a b", ["x", "y"])) == b'1,"a b",x;y'
    assert read.get_produced_type() == types


def test_message_options() -> None:
    builder = CsvRowDeserializationSchema.Builder(Types.ROW_NAMED(["i", "s"], [Types.INT(), Types.STRING()]))
    builder.set_field_delimiter("|").set_quote_character("'").set_escape_character("\\")
    strict = builder.set_allow_comments(True).build()
    assert list(strict.deserialize(b"1|'a\\'|b'")) == [1, "a'|b"]
    assert strict.deserialize(b"# c") is None
    for bad in (b"x|a", b"1", b"1|'a", b"1|a|b"):
        with pytest.raises(FiresteelError, match="cannot read CSV"):
            strict.deserialize(bad)
    lenient = builder.set_ignore_parse_errors(True).build()
    assert list(lenient.deserialize(b"x|a")) == [None, "a"]
    assert lenient.deserialize(b"1|'a") is None
    with pytest.raises(TypeError):
        CsvRowDeserializationSchema.Builder(None)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="rows"):
        CsvRowSerializationSchema.Builder(Types.INT()).build()


@settings(max_examples=300, deadline=None)
@given(
    messages=st.lists(
        st.sampled_from(
            [
                *(b"1,a", b"2,b\n", b"x,c", b"3", b"", b'4,"d"', b'5,"e', b'f",6', b"7,g,h", b"#8,i"),
                *(b'9,"j\nk"\r\n', b"10,\xff", b"11,l\n12,m", b"13,n,", b"\n", b"null,o", b"14,p\rq"),
            ]
        ),
        max_size=6,
    ),
    ignore=st.booleans(),
    comments=st.booleans(),
)
@pytest.mark.row("S-CONN-21")
def test_many_messages_are_read_as_each_is(messages: list[bytes], ignore: bool, comments: bool) -> None:
    type_ = Types.ROW_NAMED(["i", "s"], [Types.INT(), Types.STRING()])
    builder = (
        CsvRowDeserializationSchema.Builder(type_).set_ignore_parse_errors(ignore).set_null_literal("null")
    )
    together, alone = builder.set_allow_comments(comments).build(), builder.build()
    decoded = message_decoder(together)(messages)
    expected = message_decoder(One(alone))(messages)
    assert list(map(list, decoded.values)) == list(map(list, expected.values))
    assert decoded.origins == expected.origins
    assert [str(error) for _, error in decoded.bad] == [str(error) for _, error in expected.bad]
    assert decoded.ignored == alone.ignored


class One(DeserializationSchema):
    """Reads messages one by one."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self._schema = schema

    def deserialize(self, message: bytes) -> Any:
        return self._schema.deserialize(message)


def test_escape_and_quote_in_encoding() -> None:
    columns = (Column("s", Types.STRING()),)
    escaped = csv_encoder(columns, CsvDialect(escape="\\"))
    assert escaped(['a"b\\c']) == '"a""b\\\\c"\n'
    bare = csv_encoder(columns, CsvDialect(quote=None), line_end="")
    assert bare(['a"b, c']) == 'a"b, c'


# What the CsvRowSerializationSchema of PyFlink 2.3.0 writes: (escape, quote, delimiter) -> text -> bytes.
ESCAPED: dict[tuple[str | None, str, str], dict[str, bytes]] = {
    ("\\", '"', ","): {
        'a"b': b'"a""b",5\n',
        "a\\b": b'"a\\\\b",5\n',
        'say "hi", ok\\': b'"say ""hi"", ok\\\\",5\n',
        "x" * 30 + '"': b'"' + b"x" * 30 + b'""",5\n',
        "a;b": b"a;b,5\n",
    },
    ("!", '"', ","): {'a"b': b'"a""b",5\n', "a\\b": b"a\\b,5\n", "!b": b'"!!b",5\n', "it's": b'"it\'s",5\n'},
    ("\\", "'", ";"): {'a"b': b"'a\"b';5\n", "it's": b"'it''s';5\n", "a\\b": b"'a\\\\b';5\n"},
    (None, '"', ","): {'a"b': b'"a""b",5\n', "a\\b": b'"a\\b",5\n', "é": "é,5\n".encode()},
}


@pytest.mark.parametrize("characters", ESCAPED)
def test_quotes_are_doubled_with_an_escape_character_too(characters: tuple[str | None, str, str]) -> None:
    escape, quote, delimiter = characters
    type_info = Types.ROW([Types.STRING(), Types.INT()])
    writing, reading = (
        CsvRowSerializationSchema.Builder(type_info),
        CsvRowDeserializationSchema.Builder(type_info),
    )
    for builder in (writing, reading):
        builder.set_quote_character(quote).set_field_delimiter(delimiter)
        if escape is not None:
            builder.set_escape_character(escape)
    for text, line in ESCAPED[characters].items():
        assert writing.build().serialize(Row(text, 5)) == line
        assert list(reading.build().deserialize(line)) == [text, 5]


def test_a_row_within_a_row_is_one_field() -> None:
    inner = Types.ROW([Types.INT(), Types.STRING(), Types.BOOLEAN()])
    types = Types.ROW([Types.STRING(), inner])
    write = CsvRowSerializationSchema.Builder(types).set_array_element_delimiter("/").build()
    message = write.serialize(Row("a", Row(7, "x,y", True)))
    assert message == b'a,"7/x,y/true"\n'
    assert write.serialize(Row("a", Row(7, None, False))) == b"a,7//false\n"
    read = CsvRowDeserializationSchema.Builder(types).set_array_element_delimiter("/").build()
    row = read.deserialize(message)
    assert (row[0], list(row[1])) == ("a", [7, "x,y", True])
