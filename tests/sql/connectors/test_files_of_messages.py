"""Tables of files whose lines are messages; what CSV and JSON hold, as Flink 2.3 reads and writes it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.sql.connectors.test_filesystem import written_below
from tests.table.support import batch_tables, changes, files, rows, tables


def test_changes_in_files_are_a_changelog(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_text(
        '{"before":null,"after":{"id":1,"n":"a"},"op":"c"}\n'
        '{"before":{"id":1,"n":"a"},"after":{"id":1,"n":"b"},"op":"u"}\r\n'
        '{"before":{"id":1,"n":"b"},"after":null,"op":"d"}'
    )
    (tmp_path / "part-1").write_text("")
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (id INT, n STRING) {files(tmp_path, 'debezium-json')}")
        found = changes(t.execute_sql("SELECT * FROM f"))
        assert found == ["+I[1, a]", "-U[1, a]", "+U[1, b]", "-D[1, b]"]


def test_changes_are_written_to_files_and_read_again(tmp_path: Path) -> None:
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (n STRING, c BIGINT) {files(tmp_path, 'ogg-json')}")
        t.execute_sql(
            "INSERT INTO f SELECT n, COUNT(*) FROM (VALUES 'a', 'b', 'a') AS v(n) GROUP BY n"
        ).wait()
        assert changes(t.execute_sql("SELECT n, MAX(c) FROM f WHERE n = 'a' GROUP BY n"))[-1].endswith(
            "[a, 2]"
        )


def test_lines_are_values(tmp_path: Path) -> None:
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (s STRING) {files(tmp_path, 'raw')}")
        t.execute_sql("INSERT INTO f VALUES ('one'), ('two words')").wait()
        assert sorted(rows(t.execute_sql("SELECT * FROM f"))) == [("one",), ("two words",)]
    assert written_below(tmp_path) == {".": "one\ntwo words\n"}


def test_partitions_and_metadata_stand_beside_changes(tmp_path: Path) -> None:
    (tmp_path / "p=x").mkdir()
    (tmp_path / "p=x" / "part-0").write_text('{"database":"d","table":"t","type":"delete","data":{"id":1}}\n')
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE f (id INT, p STRING, `file.name` STRING NOT NULL METADATA) PARTITIONED BY (p) "
            + files(tmp_path, "maxwell-json")
        )
        assert changes(t.execute_sql("SELECT id, p, `file.name` FROM f")) == ["-D[1, x, part-0]"]


def test_csv_holds_bytes_rows_and_lists(tmp_path: Path) -> None:
    with batch_tables() as t:
        t.execute_sql(
            "CREATE TABLE f (k BYTES, l ARRAY<INT>, r ROW<x INT, y STRING>, j TIMESTAMP_LTZ(3)) "
            + files(tmp_path, "csv")
        )
        t.get_config().set("table.local-time-zone", "UTC")
        t.execute_sql(
            "INSERT INTO f SELECT CAST('abc' AS BYTES), ARRAY[1, 2], ROW(1, 'z,q'), "
            "CAST(TIMESTAMP '2020-01-02 10:11:12.5' AS TIMESTAMP_LTZ(3))"
        ).wait()
        assert written_below(tmp_path) == {".": 'YWJj,1;2,"1;z,q","2020-01-02 10:11:12.5Z"\n'}
        ((some, numbers, both),) = rows(t.execute_sql("SELECT k, l, r FROM f WHERE l[1] = 1"))
        assert (some, numbers, tuple(both)) == (b"abc", [1, 2], (1, "z,q"))


def test_blanks_around_fields_are_left_away_where_they_are_to_be(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_text(' 1 , x y \n2, " q " \n')
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (a INT, b STRING) {files(tmp_path, 'csv', csv__trim_spaces='true')}")
        assert rows(t.execute_sql("SELECT * FROM f")) == [(1, "x y"), (2, " q ")]


def test_decimals_are_written_as_jackson_writes_them(tmp_path: Path) -> None:
    values = (
        "CAST(0.0000001 AS DECIMAL(20, 10)), CAST(100 AS DECIMAL(10, 2)), CAST(-1.10 AS DECIMAL(5, 2)), 0.00"
    )
    columns = "(a DECIMAL(20, 10), b DECIMAL(10, 2), c DECIMAL(5, 2), d DECIMAL(3, 2))"
    plain = {"json__encode__decimal_as_plain_number": "true"}
    with batch_tables() as t:
        for name, options in (("csv", {}), ("json", {}), ("json", plain)):
            where = tmp_path / f"{name}{len(options)}"
            t.execute_sql("DROP TABLE IF EXISTS f")
            t.execute_sql(f"CREATE TABLE f {columns} {files(where, name, **options)}")
            t.execute_sql(f"INSERT INTO f SELECT {values}").wait()
        assert written_below(tmp_path / "csv0") == {".": "1E-7,1E+2,-1.1,0\n"}
        assert written_below(tmp_path / "json0") == {".": '{"a":1E-7,"b":1E+2,"c":-1.1,"d":0}\n'}
        assert written_below(tmp_path / "json1") == {
            ".": '{"a":0.0000001000,"b":100.00,"c":-1.10,"d":0.00}\n'
        }
        assert rows(t.execute_sql("SELECT b, c FROM f")) == [(Decimal("100.00"), Decimal("-1.10"))]


def test_a_field_that_json_cannot_read_is_null_where_errors_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_text('{"a":1,"b":"x"}\nno\n\n{"a":"zz","b":"k"}\n[1]\n')
    with tables() as t:
        t.execute_sql(
            f"CREATE TABLE f (a INT, b STRING) {files(tmp_path, 'json', json__ignore_parse_errors='true')}"
        )
        assert rows(t.execute_sql("SELECT * FROM f")) == [(1, "x"), (None, "k")]


def test_a_line_that_is_an_array_has_a_row_of_each_element(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_text(
        '{"a":0}\n[{"a":1,"b":"x"},{"a":2,"b":"y"}]\n[]\n[{"a":4},null,{"b":"z"}]\n  [ {"a":6} ] \n{"a":7}\n'
    )
    found = [(0, None), (1, "x"), (2, "y"), (4, None), (None, "z"), (6, None), (7, None)]
    with tables() as t:
        for ignore in ("false", "true"):
            name = f"f_{ignore}"
            options = files(tmp_path, "json", json__ignore_parse_errors=ignore)
            t.execute_sql(f"CREATE TABLE {name} (a INT, b STRING) {options}")
            assert rows(t.execute_sql(f"SELECT * FROM {name}")) == found
            assert rows(t.execute_sql(f"SELECT b FROM {name} WHERE a < 3")) == [(None,), ("x",), ("y",)]


def test_elements_that_json_cannot_read_are_left_out_or_fail(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_text('[{"a":1},5,{"a":"zz"},{"a":2}]\n[{"a":3},[{"a":4}]]\n[{"a":5}\n')
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (a INT) {files(tmp_path, 'json', json__ignore_parse_errors='true')}")
        assert rows(t.execute_sql("SELECT * FROM f")) == [(1,), (None,), (2,), (3,)]
        t.execute_sql(f"CREATE TABLE g (a INT) {files(tmp_path, 'json')}")
        with pytest.raises(Exception, match="not an object"):
            t.execute_sql("SELECT * FROM g").wait()


def test_the_last_of_repeated_keys_counts(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_text('{"a":1,"b":"x","a":2}\n{"b":"q","b":null,"a":9}\n{"m":{"k":1,"k":2}}\n')
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (a INT, b STRING, m MAP<STRING, INT>) {files(tmp_path, 'json')}")
        assert rows(t.execute_sql("SELECT * FROM f")) == [
            (2, "x", None),
            (9, None, None),
            (None, None, {"k": 2}),
        ]


def test_decimals_in_arrays_maps_and_rows_are_written_as_others(tmp_path: Path) -> None:
    columns = (
        "(l ARRAY<DECIMAL(10, 2)>, m MAP<STRING, DECIMAL(10, 8)>, "
        "r ROW<x DECIMAL(10, 3), y ARRAY<DECIMAL(20, 0)>>)"
    )
    values = (
        "ARRAY[CAST(1.50 AS DECIMAL(10, 2)), 0.00, 100, CAST(NULL AS DECIMAL(10, 2)), -0.10], "
        "MAP['k', CAST('0.00000001' AS DECIMAL(10, 8))], "
        "ROW(CAST(2.5 AS DECIMAL(10, 3)), ARRAY[CAST(10000000000 AS DECIMAL(20, 0)), 12000, 7])"
    )
    plain = {"json__encode__decimal_as_plain_number": "true"}
    with batch_tables() as t:
        for name, options in (("short", {}), ("plain", plain)):
            t.execute_sql(f"CREATE TABLE {name} {columns} {files(tmp_path / name, 'json', **options)}")
            t.execute_sql(f"INSERT INTO {name} SELECT {values}").wait()
    assert written_below(tmp_path / "short") == {
        ".": '{"l":[1.5,0,1E+2,null,-0.1],"m":{"k":1E-8},"r":{"x":2.5,"y":[1E+10,1.2E+4,7]}}\n'
    }
    assert written_below(tmp_path / "plain") == {
        ".": '{"l":[1.50,0.00,100.00,null,-0.10],"m":{"k":0.00000001},'
        '"r":{"x":2.500,"y":[10000000000,12000,7]}}\n'
    }
