"""Tables of files."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.orc as orc_file
import pyarrow.parquet as pq
import pytest

from firesteel.util.exceptions import TableException
from tests.table.support import batch_tables, files, kept, rows, tables

_DAY = dt.date(2020, 2, 3)
_NOON = dt.datetime(2020, 1, 1, 12, 0, 1, 120_000)


def written_below(path: Path) -> dict[str, str]:
    """Directory -> text, of the files that readers see."""
    found: dict[str, str] = {}
    for file in sorted(path.rglob("part-*")):
        directory = str(file.parent.relative_to(path))
        found[directory] = found.get(directory, "") + file.read_text()
    return {directory: "".join(sorted(text.splitlines(True))) for directory, text in found.items()}


@pytest.mark.row("S-SQL-07")
@pytest.mark.parametrize("name", ["csv", "json", "parquet", "orc"])
def test_rows_are_read_as_they_were_written(name: str, tmp_path: Path) -> None:
    nested = "" if name == "csv" else ", l ARRAY<INT>, r ROW<p INT, q STRING>"
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE f (a INT, b STRING, c DECIMAL(10, 2), d TIMESTAMP(3), e DOUBLE, g DATE, "
            f"h BOOLEAN{nested}) {files(tmp_path, name)}"
        )
        more = "" if name == "csv" else ", ARRAY[1, NULL], ROW(7, 'q')"
        t.execute_sql(
            f"INSERT INTO f SELECT a, b, c, d, e, g, h{more} FROM (VALUES "
            "(1, 'x,\"y', 1.50, TIMESTAMP '2020-01-01 12:00:01.120', 1e10, DATE '2020-02-03', TRUE),"
            "(2, 'z', -2.25, TIMESTAMP '2020-01-01 12:00:01.120', 0.1, DATE '2020-02-03', FALSE))"
            " AS v(a, b, c, d, e, g, h)"
        ).wait()
        first: tuple[Any, ...] = (1, 'x,"y', Decimal("1.50"), _NOON, 1e10, _DAY, True)
        second: tuple[Any, ...] = (2, "z", Decimal("-2.25"), _NOON, 0.1, _DAY, False)
        found = kept(t.execute_sql("SELECT * FROM f"))
        assert [row[:7] for row in found] == [first, second]
        if nested:
            assert [(row[7], tuple(row[8])) for row in found] == [([1, None], (7, "q"))] * 2
        assert rows(t.execute_sql("SELECT h, a FROM f WHERE a > 1")) == [(False, 2)]
        assert kept(t.execute_sql("SELECT COUNT(*) FROM f")) == [(2,)]


def test_text_is_written_as_flink_writes_it(tmp_path: Path) -> None:
    columns = "(a INT, b STRING, c DOUBLE, d TIMESTAMP(3), e BOOLEAN)"
    values = (
        "(1, 'short', 1e10, TIMESTAMP '2020-01-01 00:00:00', TRUE), "
        "(2, CAST(NULL AS STRING), 0.5, TIMESTAMP '2020-01-01 00:00:00.120', FALSE), "
        "(3, 'a text of more than twenty-four', 1.0, TIMESTAMP '2020-01-01 00:00:00', TRUE)"
    )
    with tables() as t:
        for name in ("csv", "json"):
            null = {"csv__null_literal": "NULL"} if name == "csv" else {}
            t.execute_sql(f"CREATE TABLE {name}s {columns} {files(tmp_path / name, name, **null)}")
            t.execute_sql(f"INSERT INTO {name}s VALUES {values}").wait()
    assert written_below(tmp_path)["csv"] == (
        '1,short,1.0E10,"2020-01-01 00:00:00",true\n'
        '2,NULL,0.5,"2020-01-01 00:00:00.12",false\n'
        '3,"a text of more than twenty-four",1.0,"2020-01-01 00:00:00",true\n'
    )
    assert written_below(tmp_path)["json"] == (
        '{"a":1,"b":"short","c":1.0E10,"d":"2020-01-01 00:00:00","e":true}\n'
        '{"a":2,"b":null,"c":0.5,"d":"2020-01-01 00:00:00.12","e":false}\n'
        '{"a":3,"b":"a text of more than twenty-four","c":1.0,"d":"2020-01-01 00:00:00","e":true}\n'
    )


def test_partitions_are_directories(tmp_path: Path) -> None:
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE f (n INT, day_ STRING, k INT) PARTITIONED BY (day_, k) WITH ("
            f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv', "
            "'sink.partition-commit.policy.kind' = 'success-file')"
        )
        t.execute_sql(
            "INSERT INTO f VALUES (1, 'a b/c', 1), (2, 'd', 2), (3, 'd', 2), (4, CAST(NULL AS STRING), 3)"
        ).wait()
        assert rows(t.execute_sql("SELECT k, n FROM f WHERE day_ = 'd' ORDER BY n LIMIT 5"))[-1] == (2, 3)
        assert kept(t.execute_sql("SELECT * FROM f")) == [
            (1, "a b/c", 1),
            (2, "d", 2),
            (3, "d", 2),
            (4, None, 3),
        ]
    assert written_below(tmp_path) == {
        "day_=a b%2Fc/k=1": "1\n",
        "day_=d/k=2": "2\n3\n",
        "day_=__DEFAULT_PARTITION__/k=3": "4\n",
    }
    assert (tmp_path / "day_=d" / "k=2" / "_SUCCESS").exists()


def test_overwriting_replaces_the_partition_that_is_written(tmp_path: Path) -> None:
    with batch_tables() as t:
        t.execute_sql(
            "CREATE TABLE f (n INT, k INT) PARTITIONED BY (k) WITH "
            f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
        )
        t.execute_sql("INSERT INTO f VALUES (1, 1), (2, 2)").wait()
        t.execute_sql("INSERT OVERWRITE f VALUES (3, 2)").wait()
        assert kept(t.execute_sql("SELECT * FROM f")) == [(1, 1), (3, 2)]
        t.execute_sql("INSERT OVERWRITE f PARTITION (k = 1) SELECT 5").wait()
        assert kept(t.execute_sql("SELECT * FROM f")) == [(3, 2), (5, 1)]


def test_streaming_does_not_overwrite(tmp_path: Path) -> None:
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (n INT) {files(tmp_path, 'csv')}")
        with pytest.raises(TableException, match="Streaming mode not support overwrite"):
            t.execute_sql("INSERT OVERWRITE f VALUES (1)")


def test_what_is_known_of_a_file_is_metadata(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1\n2\n")
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE f (n INT, p STRING METADATA FROM 'file.name', s BIGINT METADATA FROM 'file.size') "
            f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
        )
        assert rows(t.execute_sql("SELECT * FROM f")) == [(1, "x.csv", 4), (2, "x.csv", 4)]
        t.execute_sql(
            "CREATE TABLE g (n INT, p STRING METADATA FROM 'file.owner') "
            f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
        )
        with pytest.raises(
            TableException, match=r"Invalid metadata key 'file.owner'.*\n.*file.modification-time"
        ):
            t.execute_sql("SELECT * FROM g")


@pytest.mark.parametrize("name", ["csv", "json"])
def test_unusual_lines_are_read_like_usual_ones(name: str, tmp_path: Path) -> None:
    """A line that Arrow does not read makes its block go another way: the rows are the same."""
    count = 6000
    numbers = [random.Random(3).randrange(10**6) for _ in range(count)]
    texts = [f'quoted "{n}", line\nbreak' if i % 997 == 5 else f"t{n}" for i, n in enumerate(numbers)]
    if name == "csv":
        quoted = ['"' + s.replace('"', '""') + '"' if '"' in s else s for s in texts]
        # a number in blanks is one for Flink, and none for Arrow
        lines = [
            f"{n} ,{s}" if i == 4000 else f"{n},{s}"
            for i, (n, s) in enumerate(zip(numbers, quoted, strict=True))
        ]
    else:
        lines = [
            json.dumps({"n": str(n) if i == 4000 else n, "s": s, "more": [i]})
            for i, (n, s) in enumerate(zip(numbers, texts, strict=True))
        ]
    (tmp_path / f"x.{name}").write_text("\n".join(lines) + "\n")
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE f (n INT, s STRING) WITH "
            f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{name}')"
        )
        assert rows(t.execute_sql("SELECT * FROM f")) == list(zip(numbers, texts, strict=True))


def test_a_bad_line_fails_with_its_place_or_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,a\nnone,b\n3,c\n")
    with tables() as t:
        for table, more in (("f", ""), ("g", ", 'csv.ignore-parse-errors' = 'true'")):
            t.execute_sql(
                f"CREATE TABLE {table} (n INT, s STRING) WITH "
                f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv'{more})"
            )
        with pytest.raises(Exception, match=r"x\.csv(.|\n)*line.*2"):
            rows(t.execute_sql("SELECT * FROM f"))
        assert rows(t.execute_sql("SELECT * FROM g")) == [(1, "a"), (None, "b"), (3, "c")]


def test_parquet_files_have_the_columns_of_the_table(tmp_path: Path) -> None:
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE f (a BIGINT NOT NULL, b STRING) "
            + files(tmp_path, "parquet", parquet__compression="ZSTD")
        )
        t.execute_sql("INSERT INTO f VALUES (1, 'x')").wait()
    (file,) = [f for f in tmp_path.iterdir() if f.is_file()]
    schema = pq.read_schema(file)
    assert [(f.name, str(f.type), f.nullable) for f in schema] == [
        ("a", "int64", False),
        ("b", "string", True),
    ]
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"


def test_timestamps_in_parquet_files_are_instants_of_the_local_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So Flink writes and reads both types of timestamps. A time that the clock skips becomes a later one."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    with tables() as t:
        t.get_config().set_local_timezone("America/New_York")
        t.execute_sql(
            "CREATE TABLE f (n INT, a TIMESTAMP(3), b TIMESTAMP_LTZ(6), r ROW<x ARRAY<TIMESTAMP(3)>>) "
            + files(tmp_path, "parquet")
        )
        t.execute_sql(
            "INSERT INTO f SELECT n, x, TO_TIMESTAMP_LTZ(3600, 0), ROW(ARRAY[x]) FROM (VALUES "
            "(1, TIMESTAMP '2024-07-01 12:00:00.5'), (2, TIMESTAMP '2024-03-31 02:30:00'), "
            "(3, TIMESTAMP '9999-12-31 00:00:00')) AS v(n, x)"
        ).wait()
        query = "SELECT n, a, CAST(b AS TIMESTAMP(3)), r.x[1] FROM f"
        local = kept(t.execute_sql(query))
        utc = kept(t.execute_sql(f"{query} /*+ OPTIONS('parquet.utc-timezone' = 'true') */"))
    summer, skipped = dt.datetime(2024, 7, 1, 12, 0, 0, 500_000), dt.datetime(2024, 3, 31, 3, 30)
    last, one = dt.datetime(9999, 12, 31), dt.datetime(1969, 12, 31, 20)
    assert local == [(1, summer, one, summer), (2, skipped, one, skipped), (3, last, one, last)]
    hour = dt.timedelta(hours=1)
    assert [row[1] for row in utc] == [summer - 2 * hour, skipped - 2 * hour, last - hour]
    assert [row[2] for row in utc] == [one - hour] * 3
    (file,) = [f for f in tmp_path.iterdir() if f.is_file()]
    assert str(pq.ParquetFile(file).schema).count("int96") == 3


def test_timestamps_in_parquet_files_may_be_64_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    options = {
        "parquet__write__int64__timestamp": "true",
        "parquet__timestamp__time__unit": "millis",
        "parquet__utc_timezone": "true",
    }
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (a TIMESTAMP(6)) {files(tmp_path, 'parquet', **options)}")
        t.execute_sql("INSERT INTO f VALUES (TIMESTAMP '2024-07-01 12:00:00.123456')").wait()
        assert rows(t.execute_sql("SELECT * FROM f")) == [(dt.datetime(2024, 7, 1, 12, 0, 0, 123_000),)]
    (file,) = [f for f in tmp_path.iterdir() if f.is_file()]
    assert str(pq.read_schema(file).field("a").type) == "timestamp[ms]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'format' = 'csv'", "Missing required options are: path"),
        ("'path' = '/x'", "Missing required options are: format"),
        (
            "'path' = '/x', 'format' = 'cvs'",
            "Could not find any format factory for identifier 'cvs'(.|\n)*csv",
        ),
        ("'path' = '/x', 'format' = 'csv', 'csv.feld-delimiter' = ';'", "did you mean csv.field-delimiter"),
        ("'path' = '/x', 'format' = 'csv', 'csv.field-delimiter' = ';;'", "not one character"),
        ("'path' = '/x', 'format' = 'parquet', 'parquet.compression' = 'RAR'", "does not name a codec"),
        (
            "'path' = '/x', 'format' = 'parquet', 'parquet.timestamp.time.unit' = 'millis'",
            "parquet.write.int64.timestamp",
        ),
        (
            "'path' = '/x', 'format' = 'parquet', 'parquet.batch-size' = '7'",
            "'parquet.batch-size' is not supported(.|\n)*decided by the job",
        ),
        ("'path' = '/x', 'format' = 'csv', 'source.monitor-interval' = 'soon'", "source.monitor-interval"),
        ("'path' = '/x', 'format' = 'csv', 'auto-compaction' = 'true'", "'auto-compaction' is not supported"),
        ("'path' = '/x', 'format' = 'csv', 'source.path.regex-pattern' = '('", "not a regular expression"),
        ("'path' = '/x', 'format' = 'csv', 'scan.parallelism' = '0'", "it must be at least 1"),
        ("'path' = '/x', 'format' = 'orc', 'orc.bloom.filter.fpp' = '2'", "between 0 and 1"),
        ("'path' = '/x', 'format' = 'orc', 'orc.compress.size' = '8 kb'", "a multiple of 64 kb"),
        ("'path' = '/x', 'format' = 'csv', 'sink.partition-commit.policy.kind' = 'metastore'", None),
    ],
)
def test_wrong_options_are_refused_with_the_known_ones(options: str, message: str | None) -> None:
    with tables() as t:
        t.execute_sql(
            f"CREATE TABLE f (a INT, p INT) PARTITIONED BY (p) WITH ('connector' = 'filesystem', {options})"
        )
        statement = "SELECT * FROM f" if message is not None else "INSERT INTO f VALUES (1, 2)"
        with pytest.raises(Exception, match=message or "there is no policy metastore"):
            t.execute_sql(statement)


def test_a_pattern_chooses_the_files_that_are_read(tmp_path: Path) -> None:
    for name, value in (("2024/a.csv", 1), ("2024/b.txt", 2), ("2025/a.csv", 3)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    with tables() as t:
        pattern = {"source__path__regex_pattern": f"{tmp_path}/.*4/.*[.]csv"}
        t.execute_sql(f"CREATE TABLE f (a INT) {files(tmp_path, 'csv', **pattern)}")
        assert kept(t.execute_sql("SELECT a FROM f")) == [(1,)]


def test_how_files_are_written_inside(tmp_path: Path) -> None:
    values = ", ".join(f"({n}, 'x{n}')" for n in range(500))
    orc = {"orc__row__index__stride": "1000", "orc__compress__size": "128 kb"}
    orc["orc__bloom__filter__columns"] = "b"
    parquet = {"parquet__writer__version": "v2", "parquet__page__write_checksum__enabled": "false"}
    for name, given in (("orc", orc), ("parquet", parquet)):
        with tables() as t:
            t.execute_sql(f"CREATE TABLE f (a INT, b STRING) {files(tmp_path / name, name, **given)}")
            t.execute_sql(f"INSERT INTO f VALUES {values}").wait()
            assert rows(t.execute_sql("SELECT a FROM f WHERE b = 'x77'")) == [(77,)]
    (file,) = (tmp_path / "orc").rglob("part-*")
    found = orc_file.ORCFile(file)
    assert (found.row_index_stride, found.compression_size) == (1000, 131_072)
    (file,) = (tmp_path / "parquet").rglob("part-*")
    column = pq.ParquetFile(file).metadata.row_group(0).column(0)
    assert "DELTA" in str(column.encodings) or "RLE_DICTIONARY" in str(column.encodings)


def test_a_bad_line_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Broken by hand: ``_block_reader`` leaves out ``invalid_row_handler``."""
    (tmp_path / "f.csv").write_text("1,a\n2\n3,c,d\n")
    with tables() as t:
        t.execute_sql(
            f"CREATE TABLE f (n INT, s STRING) {files(tmp_path, 'csv', csv__ignore_parse_errors='true')}"
        )
        assert kept(t.execute_sql("SELECT * FROM f")) == [(1, "a"), (2, None)]
    assert "Traceback" not in capfd.readouterr().err
