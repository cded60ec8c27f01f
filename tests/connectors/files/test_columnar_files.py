"""Parquet and ORC files: what is read of them, in which pieces, and what is written."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from firesteel.common._coercion import compile_coercion
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, FiresteelError, TypeMismatchError
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.connectors.base import Boundedness, ReadRange, Source
from firesteel.connectors.files.columnar_files import ColumnarReadError, Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.datastream.connectors.file_system import (
    BucketAssigner,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
)
from firesteel.datastream.formats.csv import CsvReaderFormat, CsvSchema
from firesteel.datastream.formats.json import JsonReaderFormat
from firesteel.datastream.formats.orc import OrcBulkWriters, OrcColumnarRowInputFormat
from firesteel.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from firesteel.table import DataTypes as D
from firesteel.testing.connectors import SinkRun, check_sink, check_source, chunks_of, read_split
from firesteel.testing.connectors._reading import BYTES

from ..support import context, discovered

FORMATS = ["parquet", "orc"]
NOON = datetime.datetime(2020, 7, 1, 12, 0, 0, 123456)

# What PyFlink 2.3.0 gives for the same Parquet file (times before 1970 it cannot read).
FLAT = {
    "b": pa.array([True, None, False]),
    "t": pa.array([1, None, -5], pa.int8()),
    "s": pa.array([1, None, -5], pa.int16()),
    "i": pa.array([1, None, 5], pa.int32()),
    "l": pa.array([1, None, 2**40], pa.int64()),
    "f": pa.array([0.1, None, float("inf")], pa.float32()),
    "d": pa.array([0.1, None, -0.0], pa.float64()),
    "str": pa.array(["a", None, "ü"]),
    "by": pa.array([b"a", None, b"\xff\x00"]),
    "dec": pa.array([Decimal("1.20"), None, Decimal("12345678.90")], pa.decimal128(10, 2)),
    "wide": pa.array([Decimal("1.200"), None, Decimal("123456789012345678901234.567")], pa.decimal128(30, 3)),
    "da": pa.array([datetime.date(2020, 1, 2), None, datetime.date(9999, 12, 31)]),
    "ts": pa.array([NOON, None, NOON], pa.timestamp("us")),
}
FLAT_TYPE = D.ROW(
    [
        D.FIELD("b", D.BOOLEAN()),
        D.FIELD("t", D.TINYINT()),
        D.FIELD("s", D.SMALLINT()),
        D.FIELD("i", D.INT()),
        D.FIELD("l", D.BIGINT()),
        D.FIELD("f", D.FLOAT()),
        D.FIELD("d", D.DOUBLE()),
        D.FIELD("str", D.STRING()),
        D.FIELD("by", D.BYTES()),
        D.FIELD("dec", D.DECIMAL(10, 2)),
        D.FIELD("wide", D.DECIMAL(30, 3)),
        D.FIELD("da", D.DATE()),
        D.FIELD("ts", D.TIMESTAMP(6)),
    ]
)
FIRST = [
    *(True, 1, 1, 1, 1, 0.10000000149011612, 0.1, "a", b"a"),
    *(Decimal("1.20"), Decimal("1.200"), datetime.date(2020, 1, 2), NOON),
]


def write(path: Path, kind: str, table: pa.Table, block_rows: int = 1 << 20) -> str:
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=block_rows)
    else:
        with orc.ORCWriter(str(path), stripe_size=1, batch_size=1024) as writer:
            for start in range(0, table.num_rows, block_rows):
                writer.write(table.slice(start, block_rows))
    return str(path)


def source_of(kind: str, path: str, row_type: Any, **options: Any) -> Source:
    if kind == "parquet":
        format_: Any = ParquetColumnarRowInputFormat(row_type, is_utc_timestamp=True, **options)
    else:
        format_ = OrcColumnarRowInputFormat(row_type, **options)
    source = FileSource.for_bulk_file_format(format_, path).build()
    assert source.produced_type == row_type.type_info
    return source.wrapped_source


@pytest.mark.parametrize("kind", FORMATS)
def test_values_are_those_of_flink(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "t", kind, pa.table(FLAT))
    ((first, nulls, last),) = check_source(source_of(kind, path, FLAT_TYPE), tmp_path)
    assert repr(list(first)) == repr(FIRST)
    assert first == Row(**dict(zip(FLAT, FIRST, strict=True)))
    assert list(nulls) == [None] * len(FLAT)
    assert repr(last.d) == "-0.0"
    assert (last.by, last.wide) == (b"\xff\x00", Decimal("123456789012345678901234.567"))


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_are_chosen_by_name(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "t", kind, pa.table(FLAT))
    chosen = D.ROW([D.FIELD("str", D.STRING()), D.FIELD("nope", D.INT()), D.FIELD("i", D.BIGINT())])
    (rows,) = check_source(source_of(kind, path, chosen), tmp_path)
    assert rows == [
        Row(str="a", nope=None, i=1),
        Row(str=None, nope=None, i=None),
        Row(str="ü", nope=None, i=5),
    ]
    other = D.ROW([D.FIELD("STR", D.STRING()), D.FIELD("I", D.INT())])
    (rows,) = check_source(source_of(kind, path, other), tmp_path)
    assert [list(row) for row in rows] == [[None, None]] * 3
    (rows,) = check_source(source_of(kind, path, other, is_case_sensitive=False), tmp_path)
    assert rows[2] == Row(STR="ü", I=5)


def test_only_the_chosen_columns_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t", "parquet", pa.table(FLAT))
    asked: list[Any] = []
    whole = pq.ParquetFile.read_row_group

    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(kwargs["columns"])
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read)
    source = source_of("parquet", path, D.ROW([D.FIELD("l", D.BIGINT())]))
    chunks_of(source, ReadRange(discovered(source, tmp_path)[0], None, 10, BYTES))
    assert asked == [["l"]]


@pytest.mark.parametrize("kind", FORMATS)
def test_nested_values(tmp_path: Path, kind: str) -> None:
    row_type = D.ROW(
        [
            D.FIELD("a", D.ARRAY(D.ARRAY(D.INT()))),
            D.FIELD("m", D.MAP(D.STRING(), D.ROW([D.FIELD("x", D.DATE()), D.FIELD("y", D.BYTES())]))),
            D.FIELD("r", D.ROW([D.FIELD("z", D.ARRAY(D.TIMESTAMP()))])),
        ]
    )
    day = datetime.date(2020, 1, 2)
    values = [
        {
            "a": [[1, None], [], None],
            "m": [("k", {"x": day, "y": b"1"}), ("n", None)],
            "r": {"z": [NOON, None]},
        },
        {"a": None, "m": None, "r": None},
        {"a": [], "m": [], "r": {"z": None}},
        {"a": [[7]], "m": [("q", {"x": None, "y": None})], "r": {"z": []}},
    ]
    schema = pa.schema(
        [
            ("a", pa.list_(pa.list_(pa.int32()))),
            ("m", pa.map_(pa.string(), pa.struct([("x", pa.date32()), ("y", pa.binary())]))),
            ("r", pa.struct([("z", pa.list_(pa.timestamp("us")))])),
        ]
    )
    path = write(tmp_path / "t", kind, pa.Table.from_pylist(values, schema))
    (rows,) = check_source(source_of(kind, path, row_type), tmp_path)
    assert rows == [
        Row(
            a=[[1, None], [], None], m={"k": Row(x=day, y=b"1"), "n": None}, r=Row(z=[NOON, None])
        ),
        Row(a=None, m=None, r=None),
        Row(a=[], m={}, r=Row(z=None)),
        Row(a=[[7]], m={"q": Row(x=None, y=None)}, r=Row(z=[])),
    ]  # fmt: skip


def test_timestamps_in_the_local_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    table = pa.table({"ts": FLAT["ts"]})
    plain, old = tmp_path / "t", tmp_path / "old"
    pq.write_table(table, plain)
    pq.write_table(table, old, use_deprecated_int96_timestamps=True)
    format_ = ParquetColumnarRowInputFormat(D.ROW([D.FIELD("ts", D.TIMESTAMP())]))
    for path in (plain, old):
        source = FileSource.for_bulk_file_format(format_, str(path)).build().wrapped_source
        (rows,) = check_source(source, tmp_path)
        assert [row.ts for row in rows] == [NOON + datetime.timedelta(hours=2), None, NOON.replace(hour=14)]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_large_file_is_read_in_pieces_each_block_once(tmp_path: Path, kind: str) -> None:
    count = 40_000
    table = pa.table({"n": list(range(count)), "text": [f"{i:09d}" for i in range(count)]})
    path = write(tmp_path / "t", kind, table, 2_000)
    size = Path(path).stat().st_size
    source = ColumnarFileSource((path,), Columns(kind), split_bytes=size // 7)
    splits = discovered(source, tmp_path)
    assert len(splits) in (7, 8)
    found = [read_split(source, split)[0] for split in splits]
    assert sum(1 for rows in found if rows) >= 5
    assert [row.n for rows in found for row in rows] == list(range(count))
    whole = discovered(ColumnarFileSource((path,), Columns(kind)), tmp_path)[0]
    values, positions = read_split(source, whole, max_records=3_000)
    assert len(values) == count
    middle = positions[len(positions) // 2]
    assert read_split(source, whole, middle[1])[0] == values[middle[0] :]


@pytest.mark.parametrize("kind", FORMATS)
def test_watched_directories(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    source = ColumnarFileSource((str(folder),), Columns(kind), discovery_interval_ms=1000)
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    enumerator = source.create_enumerator(context(tmp_path))
    enumerator.open()
    assert enumerator.discover(0) == []
    write(folder / "one", kind, pa.table({"n": [1, 2]}))
    assert enumerator.discover(500) == []
    (split,) = enumerator.discover(1000)
    assert [row.n for row in read_split(source, split)[0]] == [1, 2]
    assert enumerator.discover(2000) == []
    assert not enumerator.finished


@pytest.mark.parametrize("kind", FORMATS)
def test_files_that_do_not_fit_are_named(tmp_path: Path, kind: str) -> None:
    good = write(tmp_path / "good", kind, pa.table(FLAT))
    (tmp_path / "bad").write_bytes(b"this is no such file" * 10)
    for path, row_type, error in (
        (good, D.ROW([D.FIELD("str", D.INT())]), "good: column 'str' is string, expected is int32"),
        (good, D.ROW([D.FIELD("l", D.INT())]), "good: column 'l' is int64, expected is int32"),
        (good, D.ROW([D.FIELD("dec", D.DECIMAL(10, 0))]), "column 'dec' is decimal"),
        (str(tmp_path / "bad"), FLAT_TYPE, "bad cannot be read as"),
    ):
        source = source_of(kind, path, row_type)
        with pytest.raises(FiresteelError, match=error) as raised:
            chunks_of(source, ReadRange(discovered(source, tmp_path)[0], None, 10, BYTES))
        assert isinstance(raised.value, TypeMismatchError | ColumnarReadError)


def test_a_corrupt_block_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": [f"text {i * 7919}" for i in range(5000)]}), path, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[8:4000] = bytes(3992)  # the footer is sound, the pages are not
    path.write_bytes(data)
    source = ColumnarFileSource(str(path), Columns("parquet"))
    with pytest.raises(ColumnarReadError, match=str(path)) as raised:
        read_split(source, discovered(source, tmp_path)[0])
    assert "block 0" in str(raised.value.detail)


def test_years_that_python_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "t"
    pq.write_table(pa.table({"ts": pa.array([2**59], pa.timestamp("us"))}), path)
    source = source_of("parquet", str(path), D.ROW([D.FIELD("ts", D.TIMESTAMP())]))
    with pytest.raises((ValueError, OverflowError)):
        chunks_of(source, ReadRange(discovered(source, tmp_path)[0], None, 10, BYTES))


def test_options_are_checked_when_they_are_given() -> None:
    unknown = Configuration()
    unknown.set_string("parquet.no.such", "1")
    bad = Configuration()
    bad.set_string("parquet.compression", "best")
    for make in (
        lambda: ParquetColumnarRowInputFormat(D.INT()),
        lambda: ParquetColumnarRowInputFormat(D.ROW([])),
        lambda: ParquetColumnarRowInputFormat(FLAT_TYPE, unknown),
        lambda: ParquetColumnarRowInputFormat(FLAT_TYPE, batch_size=0),
        lambda: ParquetBulkWriters.for_row_type(FLAT_TYPE, unknown),
        lambda: ParquetBulkWriters.for_row_type(FLAT_TYPE, bad),
        lambda: OrcBulkWriters.for_row_type("row"),
        lambda: Columns("csv"),
    ):
        with pytest.raises(FiresteelError):
            make()
    with pytest.raises(ConfigurationError, match="best"):
        ParquetBulkWriters.for_row_type(FLAT_TYPE, bad)


NESTED_TYPE = D.ROW(
    [*FLAT_TYPE.fields, D.FIELD("a", D.ARRAY(D.INT())), D.FIELD("r", D.ROW([D.FIELD("x", D.TIMESTAMP())]))]
)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("utc", [True, False])
def test_what_is_written_is_read_again(
    tmp_path: Path, kind: str, utc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    if kind == "parquet":
        writers = ParquetBulkWriters.for_row_type(NESTED_TYPE, utc_timestamp=utc)
        format_: Any = ParquetColumnarRowInputFormat(NESTED_TYPE, is_utc_timestamp=utc)
    else:
        writers = OrcBulkWriters.for_row_type(NESTED_TYPE)
        format_ = OrcColumnarRowInputFormat(NESTED_TYPE)
    everywhere = BucketAssigner.base_path_bucket_assigner()
    base = tmp_path / "out"
    sink = FileSink.for_bulk_format(str(base), writers).with_bucket_assigner(everywhere).build()
    full = Row(*FIRST, [1, None], Row(NOON))
    full[9] = Decimal("1.195")  # half up
    nulls = Row(*[None] * len(full))
    run = SinkRun(sink.sink_for(None), tmp_path)
    run.commit(run.stage(1, [full, nulls]))
    run.finish()
    (path,) = base.iterdir()
    if kind == "parquet":
        moment = NOON if utc else NOON + datetime.timedelta(hours=4)
        assert pq.read_table(path)["ts"][0].as_py().replace(tzinfo=None) == moment
        assert "int96" in str(pq.ParquetFile(path).schema)
    source = FileSource.for_bulk_file_format(format_, str(base)).build().wrapped_source
    ((first, second),) = check_source(source, tmp_path)
    assert list(first) == [*FIRST, [1, None], Row(x=NOON)]
    assert list(second) == list(nulls)


@pytest.mark.parametrize("kind", FORMATS)
def test_bulk_sinks_keep_the_contract(tmp_path: Path, kind: str) -> None:
    row_type = D.ROW([D.FIELD("n", D.INT())])
    writers = {"parquet": ParquetBulkWriters, "orc": OrcBulkWriters}[kind].for_row_type(row_type)
    base = tmp_path / "out"
    everywhere = BucketAssigner.base_path_bucket_assigner()
    sink = FileSink.for_bulk_format(str(base), writers).with_bucket_assigner(everywhere).build()

    def visible() -> list[Any]:
        tables = [
            (pq.read_table if kind == "parquet" else orc.read_table)(str(path)) for path in base.glob("[!.]*")
        ]
        return sorted((Row(n) for table in tables for n in table["n"].to_pylist()), key=lambda row: row[0])

    records = [Row(i) for i in range(6)]
    check_sink(SinkRun(sink.sink_for(None), tmp_path), visible, records)


def test_row_groups_have_the_size_that_is_asked_for(tmp_path: Path) -> None:
    options = Configuration()
    options.set_string("parquet.block.size", str(100_000))
    options.set_string("parquet.compression", "ZSTD")
    row_type = D.ROW([D.FIELD("n", D.BIGINT())])
    with (tmp_path / "f").open("wb") as stream:
        writer = ParquetBulkWriters.for_row_type(row_type, options).create(stream)
        for start in range(0, 100_000, 1_000):
            writer.add_elements([Row(i) for i in range(start, start + 1_000)])
        writer.flush()
        writer.finish()
    file = pq.ParquetFile(tmp_path / "f")
    assert file.metadata.num_row_groups == 6
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.read()["n"].to_pylist() == list(range(100_000))


def test_a_value_that_does_not_fit_names_its_column(tmp_path: Path) -> None:
    row_type = D.ROW([D.FIELD("n", D.INT()), D.FIELD("d", D.DECIMAL(4, 2))])
    for record, error in (
        (Row("x", None), "column 'n' does not fit"),
        (Row(2**31, None), "column 'n' does not fit"),
        (Row(1, Decimal("123.45")), "column 'd' does not fit"),
        (Row(1), "the 2 fields of its type"),
    ):
        with (tmp_path / "f").open("wb") as stream:
            writer = ParquetBulkWriters.for_row_type(row_type).create(stream)
            writer.add_element(record)
            with pytest.raises(TypeMismatchError, match=error):
                writer.finish()
            writer.abort()


def test_splitting_can_be_switched_off(tmp_path: Path) -> None:
    format_ = ParquetColumnarRowInputFormat(FLAT_TYPE)
    builder = FileSource.for_bulk_file_format(format_, "/a")
    split: Any = builder.build().wrapped_source
    assert split.split_bytes == 64 << 20
    whole: Any = builder.set_file_enumerator(
        FileEnumeratorProvider.default_non_splittable_file_enumerator()
    ).build()
    assert whole.wrapped_source.split_bytes is None


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_records_have_their_declared_type_as_they_are_read(tmp_path: Path, kind: str) -> None:
    """So nothing looks at them again, and what would look would change nothing."""
    row_type = D.ROW([FLAT_TYPE.fields[i] for i in (0, 3, 4, 5, 6, 7, 11)])  # what all of them can hold
    types = row_type.type_info
    names = row_type.field_names()
    path = tmp_path / "t"
    if kind == "parquet":
        pq.write_table(pa.table({name: FLAT[name] for name in names}), path)
        format_: Any = ParquetColumnarRowInputFormat(row_type)
        source = FileSource.for_bulk_file_format(format_, str(path)).build()
    elif kind == "csv":
        path.write_text("true,1,1,0.1,0.1,a,2020-01-02\nfalse,5,7,1e30,-0.0,ü,9999-12-31\n")
        schema = CsvSchema.builder()
        for field in row_type.fields:
            schema = schema._add(field.name, field.data_type)
        format_ = CsvReaderFormat.for_schema(schema.build())
        source = FileSource.for_record_stream_format(format_, str(path)).build()
    else:
        path.write_text('{"b": true, "i": 1, "l": 1, "f": 0.1, "d": 1, "str": 5, "da": "2020-01-02"}\n{}\n')
        format_ = JsonReaderFormat.for_type(types)
        source = FileSource.for_record_stream_format(format_, str(path)).build()
    assert source.wrapped_source.create_reader().record_type == source.produced_type
    ((rows),) = check_source(source.wrapped_source, tmp_path)
    coerce = compile_coercion(types)
    assert coerce is not None
    assert repr(coerce(list(rows))) == repr(rows)


def test_timestamps_of_64_bits_are_instants(tmp_path: Path) -> None:
    options = Configuration()
    options.set_string("parquet.write.int64.timestamp", "true")
    row_type = D.ROW([D.FIELD("ts", D.TIMESTAMP())])
    with (tmp_path / "f").open("wb") as stream:
        writer = ParquetBulkWriters.for_row_type(row_type, options, utc_timestamp=True).create(stream)
        writer.add_element(Row(NOON))
        writer.finish()
    column = pq.read_table(tmp_path / "f")["ts"]
    assert column.type == pa.timestamp("us", "UTC")
    assert column[0].as_py() == NOON.replace(tzinfo=datetime.UTC)


INSTANTS_TYPE = D.ROW(
    [
        D.FIELD("at", D.TIMESTAMP_LTZ()),
        D.FIELD("local", D.TIMESTAMP()),
        D.FIELD("list", D.ARRAY(D.TIMESTAMP_LTZ())),
        D.FIELD("map", D.MAP(D.STRING(), D.TIMESTAMP_LTZ())),
        D.FIELD("row", D.ROW([D.FIELD("at", D.TIMESTAMP_LTZ()), D.FIELD("local", D.TIMESTAMP())])),
    ]
)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("utc", [True, False])
def test_instants_are_written_and_read_as_instants_whatever_the_zone(
    tmp_path: Path, kind: str, utc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the hour that a local clock has twice, and of before 1970."""
    monkeypatch.setenv("TZ", "America/New_York")
    twice = [Instant(1_604_206_800 + 3600 * hour, 123_456_000) for hour in range(3)]
    old = Instant(-1, 999_999_000)
    rows = [
        Row(instant, NOON, [instant, None, old], {"a": instant, "b": None}, Row(at=old, local=NOON))
        for instant in (*twice, old)
    ]
    rows.append(Row(None, None, None, None, Row(at=None, local=None)))
    path = tmp_path / "f"
    if kind == "parquet":
        writers = ParquetBulkWriters.for_row_type(INSTANTS_TYPE, utc_timestamp=utc)
        format_ = ParquetColumnarRowInputFormat(INSTANTS_TYPE, is_utc_timestamp=utc)
    else:
        writers = OrcBulkWriters.for_row_type(INSTANTS_TYPE)
        format_ = OrcColumnarRowInputFormat(INSTANTS_TYPE)
    with path.open("wb") as stream:
        writer = writers.create(stream)
        writer.add_elements(rows)
        writer.finish()
    table = pq.read_table(path) if kind == "parquet" else orc.ORCFile(path).read()
    instant = datetime.datetime.fromtimestamp(twice[1].seconds, datetime.UTC).replace(microsecond=123_456)
    assert table["at"].cast(pa.timestamp("us", "UTC"))[1].as_py() == instant
    source = FileSource.for_bulk_file_format(format_, str(path)).build().wrapped_source
    ((read),) = check_source(source, tmp_path)
    assert [list(row) for row in read] == [list(row) for row in rows]
    assert all(type(row["at"]) is Instant for row in read[:-1])


def test_fields_that_are_not_null_are_required_in_parquet(tmp_path: Path) -> None:
    row_type = D.ROW(
        [
            D.FIELD("a", D.INT().not_null()),
            D.FIELD("b", D.INT().not_null().nullable()),
            D.FIELD("r", D.ROW([D.FIELD("c", D.STRING(nullable=False))])),
        ]
    )
    with (tmp_path / "f").open("wb") as stream:
        writer = ParquetBulkWriters.for_row_type(row_type).create(stream)
        writer.add_elements([Row(1, None, Row("x")), Row(2, 3, None)])
        writer.finish()
    schema = pq.read_schema(tmp_path / "f")
    assert [schema.field(name).nullable for name in "abr"] == [False, True, True]
    assert not schema.field("r").type.field("c").nullable
    assert pq.read_table(tmp_path / "f").column("r").to_pylist() == [{"c": "x"}, None]
    with (tmp_path / "g").open("wb") as stream:
        writer = ParquetBulkWriters.for_row_type(row_type).create(stream)
        writer.add_element(Row(None, 1, None))
        with pytest.raises(TypeMismatchError, match="non-nullable"):
            writer.finish()
        writer.abort()
