"""Files of JSON lines: values, bad lines, pieces, compression."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import FiresteelError
from firesteel.common.typeinfo import Types
from firesteel.common.types import Row
from firesteel.connectors.base import ReadRange
from firesteel.connectors.files.json_source import JsonFileSource, JsonFormat
from firesteel.datastream.connectors.file_system import FileEnumeratorProvider, FileSource
from firesteel.datastream.formats.json import JsonReaderFormat, JsonRowEncoder
from firesteel.formats.json_rows import json_decoder
from firesteel.formats.json_structs import struct_lines_decoder
from firesteel.testing.connectors import check_source, chunks_of, read_split
from firesteel.testing.connectors._reading import BYTES

from ..support import discovered

PLAIN = Types.ROW_NAMED(
    ["id", "name", "score", "ok"], [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]
)
NESTED = Types.ROW_NAMED(
    ["id", "price", "inner"], [Types.INT(), Types.BIG_DEC(), Types.ROW_NAMED(["x"], [Types.SQL_DATE()])]
)


def source_of(tmp_path: Path, data: bytes | str, type_: Any = PLAIN, **options: Any) -> JsonFileSource:
    path = tmp_path / "t.json"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return JsonFileSource((str(path),), JsonFormat(type_, **options))


def read_all(source: JsonFileSource, tmp_path: Path) -> Any:
    (split,) = discovered(source, tmp_path)
    chunks = chunks_of(source, ReadRange(split, None, 10_000, BYTES))
    values = [value for chunk in chunks for value in chunk.values]
    return values, [bad for chunk in chunks for bad in chunk.bad], sum(chunk.ignored for chunk in chunks)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_values(tmp_path: Path, end: str) -> None:
    lines = [
        '{"id": 1, "name": "a", "score": 1, "ok": true}',
        '{"more": [1], "ok": false, "name": "\\u00fc\\n", "id": -9223372036854775808}',
        '{"id": null, "name": null, "score": -0.5e3}',
        "{}",
    ]
    rows = [
        Row(id=1, name="a", score=1.0, ok=True),
        Row(id=-(2**63), name="ü\n", score=None, ok=False),
        Row(id=None, name=None, score=-500.0, ok=None),
        Row(id=None, name=None, score=None, ok=None),
    ]
    for text in (end.join(lines), end.join(lines) + end, "\ufeff" + end.join(lines)):
        assert check_source(source_of(tmp_path, text), tmp_path) == [rows]


def test_values_that_need_a_closer_look(tmp_path: Path) -> None:
    text = '{"id": 1, "name": 5, "score": "2.5", "ok": "TRUE"}\n{"id": "7", "name": {"a": 1}}\n'
    assert check_source(source_of(tmp_path, text), tmp_path) == [
        [Row(id=1, name="5", score=2.5, ok=True), Row(id=7, name='{"a":1}', score=None, ok=None)]
    ]
    text = '{"id": 1, "price": 1.10, "inner": {"x": "2020-01-02"}}\n{"id": 2, "price": null}\n'
    ((first, second),) = check_source(source_of(tmp_path, text, NESTED), tmp_path)
    assert (first.price, first.inner.x.isoformat()) == (Decimal("1.10"), "2020-01-02")
    assert list(second) == [2, None, None]


def test_bad_lines_are_named_and_the_others_read(tmp_path: Path) -> None:
    text = '{"id": 1}\n\n{"id": x}\r\n{"id": 3}\n[4]\n{"id": 99999999999999999999}\n{"id": 6}'
    source = source_of(tmp_path, text)
    values, bad, ignored = read_all(source, tmp_path)
    assert [row.id for row in values] == [1, 3, 6]
    assert [record.place["line"] for record in bad] == [3, 5, 6]
    assert bad[0].place["path"] == str(tmp_path / "t.json")
    assert (bad[1].payload, ignored) == (b"[4]", 0)
    values, bad, ignored = read_all(source_of(tmp_path, text, ignore_parse_errors=True), tmp_path)
    assert ([row.id for row in values], bad, ignored) == ([1, 3, 6], [], 3)
    values, bad, _ = read_all(source_of(tmp_path, '{"id": 1}', fail_on_missing_field=True), tmp_path)
    assert (values, len(bad)) == ([], 1)
    # Behind the first block too, where the line has to be counted.
    many = "".join(f'{{"id": {i}}}\n' for i in range(40_000)) + "bad\n"
    source = source_of(tmp_path, many)
    ((split,)) = discovered(source, tmp_path)
    found = [b for chunk in chunks_of(source, ReadRange(split, None, 1 << 20, BYTES)) for b in chunk.bad]
    assert [record.place["line"] for record in found] == [40_001]


def test_bad_utf8_is_a_bad_line_or_replaced_as_in_java(tmp_path: Path) -> None:
    values, bad, _ = read_all(source_of(tmp_path, b'{"name": "\xff"}\n{"id": 1}\n'), tmp_path)
    assert ([row.name for row in values], bad) == (["\ufffd", None], [])


@pytest.mark.parametrize("split_bytes", [3, 50, 400])
def test_pieces(tmp_path: Path, split_bytes: int) -> None:
    lines = [json.dumps({"id": i, "name": "ü" * (i % 50)}) for i in range(20)]
    path = tmp_path / "t.json"
    path.write_text("\n".join(lines), encoding="utf-8")
    source = JsonFileSource((str(path),), JsonFormat(PLAIN), split_bytes=split_bytes)
    found = [read_split(source, split)[0] for split in discovered(source, tmp_path)]
    assert [row.id for rows in found for row in rows] == list(range(20))


@pytest.mark.parametrize(
    ("extension", "compress"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", None)],
)
def test_compressed(tmp_path: Path, extension: str, compress: Any) -> None:
    import pyarrow as pa

    data = "".join(f'{{"id": {i}}}\n' for i in range(200)).encode()
    if compress is None:
        packed = pa.compress(data, "zstd", asbytes=True)
    else:
        packed = compress(data)
    (tmp_path / f"t.json.{extension}").write_bytes(packed)
    format_ = JsonReaderFormat.for_type(PLAIN)
    builder = FileSource.for_record_stream_format(format_, str(tmp_path))
    builder.set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
    source = builder.build()
    assert source.produced_type == PLAIN
    ((rows),) = check_source(source.wrapped_source, tmp_path)
    assert [row.id for row in rows] == list(range(200))


_numbers = st.one_of(st.integers(-(2**64), 2**64), st.floats(allow_nan=False, allow_infinity=False))
_anything = st.one_of(st.none(), st.booleans(), _numbers, st.text(), st.lists(st.integers(), max_size=2))


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["id", "name", "score", "ok", "no"]), _anything), max_size=5))
def test_many_lines_at_once_give_what_single_messages_give(objects: list[dict[str, Any]]) -> None:
    lines = [json.dumps(value).encode() for value in objects]
    many, one = struct_lines_decoder(PLAIN, False), json_decoder(PLAIN)
    assert many is not None
    try:
        found = many(b"\n".join(lines))
    except ValueError:
        return  # goes through the other one
    assert repr(found) == repr([one(line) for line in lines])


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    encoder = JsonRowEncoder(PLAIN)
    rows = [Row(1, 'a"\n', 0.5, True), Row(None, None, None, None)]
    data = encoder.encode_batch(rows)  # type: ignore[attr-defined]
    assert data == b"".join(map(encoder.encode, rows))
    (found,) = check_source(source_of(tmp_path, data), tmp_path)
    assert [list(row) for row in found] == [list(row) for row in rows]
    assert encoder.encode_batch([]) == b""  # type: ignore[attr-defined]


def test_options_are_checked_when_they_are_given() -> None:
    for make in (
        lambda: JsonFormat(PLAIN, True, True),
        lambda: JsonFormat(Types.ROW([Types.INSTANT()])),
        lambda: JsonFileSource((), JsonFormat(PLAIN)),
    ):
        with pytest.raises(FiresteelError):
            make()


@pytest.mark.parametrize("levels", [1_000, 100_000])
def test_a_line_that_is_nested_too_deeply_is_a_bad_record(tmp_path: Path, levels: int) -> None:
    path = tmp_path / "deep.json"
    deep = b'{"a":%b%b}' % (b"[" * levels, b"]" * levels)
    path.write_bytes(b"\n".join([b'{"a":"1"}', deep, b'{"a":"2"}']))
    source = JsonFileSource(str(path), JsonFormat(Types.ROW_NAMED(["a"], [Types.STRING()])))
    chunks = chunks_of(source, ReadRange(discovered(source, tmp_path)[0], None, 1000, 10**9))
    assert [row for chunk in chunks for row in chunk.values] == [Row(a="1"), Row(a="2")]
    assert [bad.place["line"] for chunk in chunks for bad in chunk.bad] == [2]
