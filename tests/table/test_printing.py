"""How wide the columns of a printed changelog are, and what is in them, as Flink 2.3 prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.table.support import files, tables

COLUMNS = (
    ("CAST(NULL AS BOOLEAN)", 6),
    ("CAST(12345678901.25 AS DOUBLE)", 12),
    ("TIMESTAMP '2020-01-01 00:00:00'", 19),
    ("TIMESTAMP '2020-01-01 00:00:00.123'", 23),
    ("CAST(1 AS DECIMAL(30, 1))", 32),
    ("CAST(1 AS DECIMAL(2, 1))", 6),
    ("CAST('x' AS CHAR(3))", 12),
    ("CAST(1 AS TINYINT)", 6),
    ("CAST(1.5 AS FLOAT)", 12),
    ("TIME '10:00:00'", 8),
    ("CAST('x' AS BYTES)", 12),
)


def test_columns_are_as_wide_as_in_flink(capsys: pytest.CaptureFixture[str]) -> None:
    with tables() as t:
        t.get_config().set("table.display.max-column-width", "12")
        chosen = ", ".join(f"{sql} AS c{i}" for i, (sql, _) in enumerate(COLUMNS))
        t.execute_sql(f"SELECT {chosen}").print()
    border, _, _, line, *_ = capsys.readouterr().out.split("\n")
    assert [len(part) - 2 for part in border.split("+")[2:-1]] == [width for _, width in COLUMNS]
    assert [part.strip() for part in line.split("|")[2:-1]] == [
        "<NULL>",
        "1.2345678...",
        "2020-01-01 00:00:00",
        "2020-01-01 00:00:00.123",
        "1.0",
        "1.0",
        "x",
        "1",
        "1.5",
        "10:00:00",
        "x'78'",
    ]


def test_bytes_inside_of_others_are_shown_in_hexadecimal_digits(capsys: pytest.CaptureFixture[str]) -> None:
    with tables() as t:
        t.execute_sql(
            "SELECT ARRAY[CAST('ab' AS BYTES)], MAP['k', CAST('c' AS BYTES)], ROW(CAST('d' AS BYTES))"
        ).print()
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("[x'6162']", "{k=x'63'}", "(x'64')"))


def test_an_insert_is_printed_when_its_job_has_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tables() as t:
        t.execute_sql(f"CREATE TABLE f (a INT) {files(tmp_path, 'csv')}")
        t.execute_sql("INSERT INTO f VALUES (7)").print()
        assert [path.read_text() for path in tmp_path.rglob("part-*")] == ["7\n"]
        assert [list(row) for row in t.execute_sql("INSERT INTO f VALUES (8)").collect()] == [[-1]]
        assert sorted(path.read_text() for path in tmp_path.rglob("part-*")) == ["7\n", "8\n"]
    assert capsys.readouterr().out == "-1\n"
