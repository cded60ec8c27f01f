"""Half of a surrogate pair: kept within a job, written as ``?``."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firesteel.common.serialization import SimpleStringSchema
from firesteel.common.typeinfo import Types
from firesteel.common.types import Row, RowKind
from firesteel.connectors.elasticsearch.emitter import _document
from firesteel.connectors.print_sink import _write
from firesteel.datastream.formats.csv import (
    CsvBulkWriters,
    CsvRowSerializationSchema,
    CsvSchema,
)
from firesteel.datastream.formats.json import JsonRowEncoder, JsonRowSerializationSchema
from firesteel.formats.arrow_batches import BatchBuilder, DictBatchBuilder
from firesteel.formats.avro_codec import avro_decoder, avro_encoder
from firesteel.formats.avro_schema import parse_avro
from firesteel.formats.text import encodable, utf8
from tests.runtime.support import collect, environment, local_platform

HALF = "a\ud800b"
LONG = HALF * 20
ROW = Types.ROW_NAMED(["t"], [Types.STRING()])


def test_text_is_encoded_as_java_does_it() -> None:
    assert utf8(HALF) == b"a?b"
    assert utf8("ä\U0001f600") == "ä\U0001f600".encode()


def test_encodable_replaces_at_any_depth() -> None:
    row = Row.of_kind(RowKind.DELETE, t=[HALF, ({HALF: HALF},)], n=1)
    found = encodable(row)
    assert found == Row.of_kind(RowKind.DELETE, t=["a?b", ({"a?b": "a?b"},)], n=1)
    assert (found.get_row_kind(), found.as_dict()["n"]) == (RowKind.DELETE, 1)


def csv_file(text: str) -> bytes:
    stream = io.BytesIO()
    writer = CsvBulkWriters.for_schema(CsvSchema.builder().add_string_column("t").build()).create(stream)
    writer.add_element(Row(t=text))
    writer.finish()
    return stream.getvalue()


def avro(text: str) -> str:
    schema = parse_avro('{"type": "record", "name": "r", "fields": [{"name": "t", "type": "string"}]}')
    found: str = avro_decoder(schema)(avro_encoder(schema)({"t": text}))["t"]
    return found


def parquet(text: str) -> str:
    batch = BatchBuilder(ROW).batch([Row(t=text)])
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_batches([batch]), stream)
    found: str = pq.read_table(stream)["t"][0].as_py()
    return found


def json_schema() -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(ROW).build()


WRITERS: dict[str, Any] = {
    "simple string": lambda text: SimpleStringSchema().serialize(text).decode(),
    "JSON": lambda text: json_schema().serialize(Row(t=text)).decode()[6:-2],
    "JSON batch": lambda text: json_schema().serialize_batch([Row(t=text)])[0].decode()[6:-2],  # type: ignore[union-attr]
    "JSON file": lambda text: JsonRowEncoder(ROW).encode_batch([Row(t=text)]).decode()[6:-3],
    "CSV": lambda text: CsvRowSerializationSchema.Builder(ROW).build().serialize(Row(t=text)).decode(),
    "CSV file": lambda text: csv_file(text).decode(),
    "Avro": avro,
    "Parquet": parquet,
    "Parquet of dicts": lambda text: (
        DictBatchBuilder(pa.schema([("t", pa.string())])).batch([{"t": text}])["t"][0].as_py()
    ),
    "Elasticsearch": lambda text: _document({"t": text}).decode()[6:-2],
}


@pytest.mark.parametrize("text", [HALF, LONG])
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_writers_write_question_marks(write: Any, text: str) -> None:
    assert write(text).strip('\n"') == text.replace("\ud800", "?")


def test_print_writes_question_marks(capsys: pytest.CaptureFixture[str]) -> None:
    with local_platform():
        env = environment(1)
        env.from_collection([HALF, "ä"]).print()
        env.execute()
    assert capsys.readouterr().out == "a?b\nä\n"


def test_print_to_a_stream_that_has_not_all_characters() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    _write(stream, "aäb\n")
    stream.flush()
    assert stream.buffer.getvalue() == b"a?b\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize("type_info", [None, Types.STRING()])
def test_such_text_is_kept_in_keys_and_exchanges(type_info: Any) -> None:
    with local_platform():
        stream = environment(2).from_collection([HALF, HALF, LONG], type_info)
        keyed = stream.key_by(lambda text: text, type_info).reduce(lambda a, b: a + "+" + b)
        assert sorted(collect(keyed)) == sorted([HALF, f"{HALF}+{HALF}", LONG])
