from __future__ import annotations

import gzip
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import Types
from firesteel.connectors.base import BadRecord, ReadRange, Split
from firesteel.connectors.files.csv_source import CsvFileSource, CsvFormat
from firesteel.formats.csv_columns import Column
from firesteel.formats.csv_records import CsvDialect, CsvParseError
from firesteel.testing.connectors import check_source, chunks_of, read_split
from firesteel.testing.connectors._reading import BYTES, MANY

from ..support import discovered

FIVE = (
    Column("id", Types.INT()),
    Column("name", Types.STRING()),
    Column("score", Types.DOUBLE()),
    Column("flag", Types.BOOLEAN()),
    Column("tags", Types.LIST(Types.STRING())),
)
TWO = FIVE[:2]


def source_of(
    tmp_path: Path, text: str | bytes, columns: tuple[Column, ...], **options: Any
) -> CsvFileSource:
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    options.setdefault("as_rows", False)
    return CsvFileSource(str(path), CsvFormat(columns, **options))


def rows_of(tmp_path: Path, text: str | bytes, columns: tuple[Column, ...], **options: Any) -> list[Any]:
    return check_source(source_of(tmp_path, text, columns, **options), tmp_path)[0]


def bad_of(source: CsvFileSource, split: Split) -> list[BadRecord]:
    return [bad for chunk in chunks_of(source, ReadRange(split, None, MANY, BYTES)) for bad in chunk.bad]


def test_values_as_flink(tmp_path: Path) -> None:
    text = (
        'id,name,score,flag,tags\n1,ann,1.5,true,x;y\n2,"bob, jr",2,false,\n 3 , c c , -0.5 ,TRUE,z\n'
        '"6","q""uote",1e3,true,"a;b"\n7,"two\nlines",0, true,k;\n8,x,NaN,true,;\n9,x,1d,true, a ; b'
    )
    expected = [
        (1, "ann", 1.5, True, ["x", "y"]),
        (2, "bob, jr", 2.0, False, []),
        (3, " c c ", -0.5, True, ["z"]),
        (6, 'q"uote', 1000.0, True, ["a", "b"]),
        (7, "two\nlines", 0.0, True, ["k", ""]),
        (8, "x", float("nan"), True, ["", ""]),
        (9, "x", 1.0, True, [" a ", " b"]),
    ]
    assert repr(rows_of(tmp_path, text, FIVE, header="skip")) == repr(expected)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('1,\n4,""\n5,"a" \n6, "b"\n7,c"d\n', {}, ["", "", "a", ' "b"', 'c"d']),
        ('1,NULL\n2,\n3,"NULL"\n4,""\n', {"null_literal": "NULL"}, [None, "", None, ""]),
        ("  # c\n1,a\n#c\n2,#b\n# end\n", {"dialect": CsvDialect(comments=True)}, ["a", "#b"]),
        ('1,a\r2,b\r\n3,"x\r\ny"\n', {}, ["a", "b", "x\r\ny"]),
        ("1,a\\,b\n2,a\\nb\n", {"dialect": CsvDialect(escape="\\")}, ["a,b", "a\nb"]),
        ("1,'x\\,y'\n", {"dialect": CsvDialect(quote="'", escape="\\")}, ["x,y"]),
        ('1|"a|b"\n', {"dialect": CsvDialect(delimiter="|")}, ["a|b"]),
        ('1,"a\n', {"dialect": CsvDialect(quote=None)}, ['"a']),
        ("1,a,\n", {}, ["a"]),
        ("\ufeffid,name\n1,a\n", {"header": "check"}, ["a"]),
        ("id,name\n", {"header": "skip"}, []),
        ("", {"header": "skip"}, []),
        ('1,"a\n# no comment\nb"\n# c\n', {"dialect": CsvDialect(comments=True)}, ["a\n# no comment\nb"]),
    ],
)
def test_rules_of_jackson(tmp_path: Path, text: str, options: dict[str, Any], expected: list[Any]) -> None:
    assert [row[1] for row in rows_of(tmp_path, text, TWO, **options)] == expected


def test_one_column_keeps_blank_lines(tmp_path: Path) -> None:
    one = (Column("s", Types.STRING()),)
    assert rows_of(tmp_path, 'a\n\n""\nb\n\n', one) == [("a",), ("",), ("",), ("b",), ("",)]


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Types.BYTE(), "127", 127),
        (Types.INT(), "+5", 5),
        (Types.BOOLEAN(), "yes", False),
        (Types.FLOAT(), "1.1", 1.100000023841858),
        (Types.DOUBLE(), "0x1p3", 8.0),
        (Types.DOUBLE(), "Infinity", float("inf")),
        (Types.BIG_INT(), "9" * 30, int("9" * 30)),
        (Types.BIG_DEC(), "1.255", Decimal("1.255")),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "1; 2", [1, 2]),
        (Types.BASIC_ARRAY(Types.STRING()), "", []),
    ],
)
def test_types(tmp_path: Path, type_: Any, text: str, value: Any) -> None:
    assert rows_of(tmp_path, f"{text},\n", (Column("c", type_), TWO[1])) == [(value, "")]


def test_decimals_are_rounded_half_up(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "1.255\n", (Column("c", Types.BIG_DEC(), scale=2),)) == [(Decimal("1.26"),)]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (Types.INT(), "x"),
        (Types.INT(), ""),
        (Types.INT(), "1.5"),
        (Types.INT(), "1_0"),
        (Types.INT(), "99999999999"),
        (Types.BYTE(), "300"),
        (Types.DOUBLE(), ""),
        (Types.DOUBLE(), "inf"),
        (Types.DOUBLE(), "1_0"),
        (Types.SQL_DATE(), "2024-13-01"),
    ],
)
def test_bad_value_names_its_place(tmp_path: Path, type_: Any, text: str) -> None:
    good = "2024-01-01" if type_ == Types.SQL_DATE() else "1"
    source = source_of(
        tmp_path, f'n,c\n"two\nlines",{good}\nx,{text}\n', (TWO[1], Column("c", type_)), header="skip"
    )
    split = discovered(source, tmp_path)[0]
    [bad] = bad_of(source, split)
    assert f"t.csv, line 4: column 'c', value {text!r}" in repr(bad)
    assert bad.payload == f"x,{text}".encode()
    assert bad.place == {"path": str(tmp_path / "t.csv"), "line": 4}
    assert chunks_of(source, ReadRange(split, None, 1, BYTES))[0].values[0][0] == "two\nlines"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1,a\n\n2,b\n", 2, "1 fields where 2"),
        ("1,a\n2\n", 2, "1 fields where 2"),
        ("1,a,zz\n", 1, "3 fields where 2"),
        ('1,"abc"x\n', 1, "after a closing quote"),
        ('0,a\n1,"abc\n\n', 2, "closing quote is missing"),
    ],
)
def test_bad_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    source = source_of(tmp_path, text, TWO)
    bad = bad_of(source, discovered(source, tmp_path)[0])
    assert re.search(rf"line {line}: .*{reason}", repr(bad[0]))


@settings(max_examples=100, deadline=None)
@given(
    lines=st.lists(st.sampled_from(["1,a", "x,b", "3", '5,"f"g', '6,"h"', "#", '7,"i\nj"']), max_size=30),
    records=st.integers(1, 40),
    room=st.integers(1, 200),
)
def test_bad_lines_are_found_wherever_a_range_ends(
    tmp_path_factory: Any, lines: list[str], records: int, room: int
) -> None:
    """Every line is a record or a bad one, in its place, however the file is cut into ranges."""
    folder = tmp_path_factory.mktemp("bad")
    text = "".join(f"{line}\n" for line in lines)
    source = source_of(folder, text, TWO, dialect=CsvDialect(comments=True))
    starts = [1 + sum(line.count("\n") + 1 for line in lines[:i]) for i in range(len(lines))]
    good = {"1,a": (1, "a"), '6,"h"': (6, "h"), '7,"i\nj"': (7, "i\nj")}
    split = discovered(source, folder)[0]
    position, end = None, False
    values: list[Any] = []
    bad: list[Any] = []
    while not end:
        for chunk in chunks_of(source, ReadRange(split, position, records, room)):
            values += chunk.values
            bad += chunk.bad
            position, end = chunk.position, chunk.end
    assert values == [good[line] for line in lines if line in good]
    wrong = [(start, line) for start, line in zip(starts, lines, strict=True) if line not in (*good, "#")]
    assert [(b.place["line"], b.payload.decode()) for b in bad] == wrong


def test_errors_can_be_ignored(tmp_path: Path) -> None:
    text = '1,a\nx,b\n3\n4,d,e\n5,"f"g\n6,h\n'
    source = source_of(tmp_path, text, TWO, ignore_parse_errors=True)
    reader: Any = source.create_reader()
    split = discovered(source, tmp_path)[0]
    [chunk] = reader.read(ReadRange(split, None, 100, BYTES))
    reader.close()
    assert chunk.values == [(1, "a"), (None, "b"), (3, None), (6, "h")]
    assert (chunk.bad, chunk.ignored) == ([], 4)


def test_header_is_checked(tmp_path: Path) -> None:
    source = source_of(tmp_path, "name,id\n1,a\n", TWO, header="check")
    with pytest.raises(CsvParseError, match="the header is"):
        read_split(source, discovered(source, tmp_path)[0])


def test_rows_have_names(tmp_path: Path) -> None:
    row = rows_of(tmp_path, "1,a\n", TWO, as_rows=True)[0]
    assert row.as_dict() == {"id": 1, "name": "a"}


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b'1,"a\nb"\n2,c\n'))
    source = CsvFileSource(str(path), CsvFormat(TWO, as_rows=False))
    assert check_source(source, tmp_path) == [[(1, "a\nb"), (2, "c")]]


def test_large_file_with_fields_over_several_lines(tmp_path: Path) -> None:
    rows = [(i, f"text {i}\n" * (i % 4) + "é" * (i % 7)) for i in range(9000)]
    rows[100] = (100, '"\n' * 200_000)
    quoted = [text.replace('"', '""') for _, text in rows]
    text = "".join(
        f'{i},"{q}"\n' if i % 3 else f"{i},{q}\n" if "\n" not in q else f'{i},"{q}"\n'
        for i, q in enumerate(quoted)
    )
    source = source_of(tmp_path, text, TWO)
    split = discovered(source, tmp_path)[0]
    for limit in (500, 4096, 10**6):
        assert read_split(source, split, max_records=limit)[0] == rows
    assert read_split(source, split, max_bytes=50_000)[0] == rows


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-99, 99), st.text(st.sampled_from('a,"\n\r é#\\'), max_size=8)), max_size=8
    )
)
def test_any_text_comes_back(tmp_path_factory, records) -> None:  # type: ignore[no-untyped-def]
    tmp_path = tmp_path_factory.mktemp("c")
    text = "".join(f'{i},"{s.replace(chr(34), chr(34) * 2)}"\n' for i, s in records)
    assert rows_of(tmp_path, text, TWO) == records


@pytest.mark.parametrize(
    "bad",
    [
        {"columns": ()},
        {"columns": (TWO[0], TWO[0])},
        {"columns": (Column("m", Types.MAP(Types.STRING(), Types.INT())),)},
        {"header": "yes"},
        {"encoding": "none"},
    ],
)
def test_bad_formats(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        CsvFormat(**{"columns": TWO, **bad})


@pytest.mark.parametrize("bad", [{"delimiter": ",,"}, {"quote": ","}, {"escape": "\n"}, {"delimiter": ""}])
def test_bad_dialects(bad: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        CsvDialect(**bad)  # type: ignore[arg-type]
